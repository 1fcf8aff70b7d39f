"""Warns once if an action is outside its space. The action is recorded unchanged: what the agent did is data."""

import warnings
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.spec.batches import stacked

MEMORY: Final = 4096
"""Maximum number of valid values in the cache."""


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
        self._fine: set[tuple[type, object]] = set()

    def are_fine(self, actions: object) -> bool:
        """Whether all actions of a batch match; False also if that is unknown."""
        spec = stacked(self._spec)
        return not (specs.problems(spec, actions) or specs.out_of_bounds(spec, actions))

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
