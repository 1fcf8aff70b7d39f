"""Warns once if an action is outside its space. The action is recorded unchanged, because it is data."""

import functools
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.spec.batches import stacked
from rlds_kit.storage.array_form import example_of, is_alike, native

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
        self.again: Callable[[object], bool | None] = _is_new
        """Whether the actions of a batch are like earlier ones, and all match; if not, that is unknown."""
        self._fine: set[tuple[type, object]] = set()
        self._batch = stacked(spec)

    def are_fine(self, actions: object) -> bool:
        """Whether all actions of a batch match; False also if that is unknown."""
        spec = self._batch
        if type(actions) is np.ndarray and isinstance(spec, specs.Array) and actions.dtype == spec.dtype:
            self._learn(spec, actions)
        return not (specs.problems(spec, actions) or specs.out_of_bounds(spec, actions))

    def _learn(self, spec: specs.Array, actions: np.ndarray) -> None:
        """Notes that of batches like this one only the bounds must be checked."""
        if spec.dtype.kind in _PLAIN_KINDS and not specs.problems(spec, actions):
            form = example_of(actions), spec.lowest, spec.highest
            check = are_inside_in_python if are_inside(*form, actions) is None else are_inside
            self.again = functools.partial(check, *form)

    def __call__(self, action: object) -> None:
        """Warns about the first action that does not match."""
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
                f"{described}. Actions are recorded as they are. Reported only once.", UserWarning, stacklevel=3
            )


def _is_new(_actions: object) -> bool:
    return False


def are_inside_in_python(example: np.ndarray, low: np.ndarray | None, high: np.ndarray | None, values: object) -> bool:
    """Whether values are an array like an example, and all are within the bounds, which a NaN never is.

    >>> are_inside_in_python(np.array([0, 0]), np.array(0), np.array(2), np.array([0, 3]))
    False
    """
    if type(values) is not np.ndarray or not is_alike(values, example):
        return False
    return (low is None or np.count_nonzero(values >= low) == values.size) and (
        high is None or np.count_nonzero(values <= high) == values.size
    )


are_inside: Final[Callable[[np.ndarray, np.ndarray | None, np.ndarray | None, object], bool | None]] = getattr(
    native, "are_inside", are_inside_in_python
)
"""`are_inside_in_python`, in C; None for arrays that C leaves to NumPy."""
