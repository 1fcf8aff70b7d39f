"""Warns once if an action is outside its space. The action is recorded unchanged, because it is data."""

import functools
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.spec.batches import stacked
from rlds_kit.storage.array_form import example_of
from rlds_kit.storage.bounds import Bounds, copy_inside, copy_inside_in_python

MEMORY: Final = 4096
"""Maximum number of valid values in the cache."""


_PLAIN_KINDS: Final = frozenset("biuf")
"""Of dtypes whose values are compared without a warning."""


class ActionCheck:
    """Checks actions against a spec until one does not match.

    Args:
      spec: of an action.

    >>> check = ActionCheck(specs.Array((), "int64", minimum=0, maximum=1))
    >>> check(1)
    >>> check.is_due
    True
    """

    def __init__(self, spec: specs.Spec) -> None:
        self._spec = spec
        self.is_due = True
        """Whether no invalid action was found yet."""
        self.copy_of: Callable[[object], np.ndarray | None] = _none_of
        """A copy of the actions of a batch that is like earlier ones, if all match; else None."""
        self.bounds: Bounds | None = None
        """Of batches like earlier ones, in which nothing else must be checked; None: there were none."""
        self._fine: set[tuple[type, object]] = set()
        self._batch = stacked(spec)

    def are_fine(self, actions: object) -> bool:
        """Whether all actions of a batch match; False also if that is unknown."""
        spec = self._batch
        are_fine = not (specs.problems(spec, actions) or specs.out_of_bounds(spec, actions))
        if are_fine and type(actions) is np.ndarray and isinstance(spec, specs.Array) and actions.dtype == spec.dtype:
            self._learn(spec, actions)
        return are_fine

    def _learn(self, spec: specs.Array, actions: np.ndarray) -> None:
        """Notes that of batches like this one only the bounds must be checked."""
        bounds = Bounds(example_of(actions), spec.lowest, spec.highest)
        if spec.dtype.kind in _PLAIN_KINDS and copy_inside_in_python(bounds, actions) is not None:
            is_left = copy_inside(bounds, actions) is None
            self.bounds = bounds
            self.copy_of = functools.partial(copy_inside_in_python if is_left else copy_inside, bounds)

    def __call__(self, action: object, *, stacklevel: int = 3) -> None:
        """Warns about the first action that does not match; `stacklevel` as for `warnings.warn`."""
        if not self.is_due:
            return
        # Each of a few discrete actions is checked only once.
        is_number = isinstance(action, int | np.integer)
        if is_number and (type(action), action) in self._fine:
            return
        found = specs.problems(self._spec, action, "action") or specs.out_of_bounds(self._spec, action, "action")
        if is_number and not found and len(self._fine) < MEMORY:
            self._fine.add((type(action), action))
        if found:
            self.is_due = False
            described = "; ".join(map(str, found))
            warnings.warn(
                f"{described}. Actions are recorded as they are. Reported only once.",
                UserWarning,
                stacklevel=stacklevel,
            )


def _none_of(_actions: object) -> None:
    """In place of `ActionCheck.copy_of` before there were actions."""
