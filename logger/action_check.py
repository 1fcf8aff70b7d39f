"""Warns once when an action is outside its space. It is recorded as it was: what the agent did is data."""

import warnings
from typing import Final

import numpy as np

from rlds_kit import spec as specs

MEMORY: Final = 4096
"""How many different numbers are remembered to be fine."""


class ActionCheck:
    """Checks actions against a spec until one does not fit.

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
        """Whether nothing was found yet."""
        self._fine: set[tuple[type, object]] = set()

    def __call__(self, action: object) -> None:
        """Warns, the first time, about an action that does not fit."""
        if not self.is_due:
            return
        # Of a few discrete actions each is looked at once.
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
                f"{described}. Actions are recorded as they are; this is said only once.", UserWarning, stacklevel=3
            )
