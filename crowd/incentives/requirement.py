"""What a participant has to do for a task to be complete."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlds_kit.crowd.collectors.shipped import collector


@dataclass(frozen=True, slots=True)
class Requirement:
    """A collector whose value over the session has to reach a number.

    Attributes:
      collector: its name.
      at_least: above 0.

    Raises:
      ValueError: the number is not above 0.
    """

    collector: str
    at_least: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.at_least) and self.at_least > 0):
            raise ValueError(f"the requirement of {self.collector}: expected a number above 0, got {self.at_least!r}")

    def progress(self, values: Mapping[str, float]) -> float:
        """How much of it is done, from 0 to 1; a missing value is 0.

        >>> Requirement("score", 50).progress({"score": 40.0})
        0.8
        """
        value = values.get(self.collector, 0.0)
        return min(1.0, max(0.0, value / self.at_least)) if math.isfinite(value) else 0.0

    def text(self, values: Mapping[str, float]) -> str:
        """The state for people.

        >>> Requirement("score", 50).text({"score": 40.0})
        'Score: 40 (required: 50)'
        >>> Requirement("inside_out", 0.8).text({"inside_out": 0.756})
        'Aliens shot inside out, of all: 75 % (required: 80 %)'
        """
        counted = collector(self.collector)
        return (
            f"{counted.label}: {shown(values.get(self.collector, 0.0), is_fraction=counted.is_fraction)} "
            f"(required: {shown(self.at_least, is_fraction=counted.is_fraction)})"
        )


def completion(requirements: Sequence[Requirement], values: Mapping[str, float]) -> float:
    """How much of a task is done: the least of its requirements, from 0 to 1; 1 without any.

    >>> completion([Requirement("score", 50), Requirement("time_played", 300)], {"score": 90.0, "time_played": 75.0})
    0.25
    """
    return min((each.progress(values) for each in requirements), default=1.0)


def shown(value: float, *, is_fraction: bool = False) -> str:
    """A value for people, rounded down: 80 % is not shown before it is reached.

    >>> shown(0.7999, is_fraction=True), shown(12.0), shown(3.14159)
    ('79 %', '12', '3.1')
    """
    if is_fraction:
        return f"{math.floor(round(value * 100, 6))} %"
    return f"{math.floor(round(value * 10, 6)) / 10:g}"
