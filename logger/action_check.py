"""Warns once when an action is outside its space. It is recorded as it was: what the agent did is data."""

import warnings

from rlds_kit import spec as specs


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

    def __call__(self, action: object) -> None:
        """Warns, the first time, about an action that does not fit."""
        if not self.is_due:
            return
        found = specs.problems(self._spec, action, "action") or specs.out_of_bounds(self._spec, action, "action")
        if found:
            self.is_due = False
            described = "; ".join(map(str, found))
            warnings.warn(
                f"{described}. Actions are recorded as they are; this is said only once.", UserWarning, stacklevel=3
            )
