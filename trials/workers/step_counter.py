"""What counts steps beside an environment while it is played."""

from collections.abc import Mapping
from typing import Any, Protocol


class StepCounter(Protocol):
    """Counts in the process of an environment, to which it is pickled. It raises nothing, and changes no value."""

    def begin(self, observed: Mapping[str, Any]) -> None:
        """An episode begins; `observed` are the fields of its first row."""

    def count(self, acted: Mapping[str, Any], observed: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
        """Counts a step.

        Args:
          acted: fields of the action, and what is recorded of those who acted.
          observed: fields of the row after it.

        Returns:
          By seat, what is counted so far, by name.
        """
