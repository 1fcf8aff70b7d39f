"""Bonuses that grow with what a participant does."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass


class Formula(enum.Enum):
    """How a bonus follows from the number and the fraction of what was rightly done.

    The paper prints `p_max * max(1, n / 500) * min(0, 2 (f - 1/2))`, which is never above 0: `min` and `max` are
    swapped there, and its text has the full bonus at 200. Its published code differs once more.

    >>> Formula("sliding") is Formula.SLIDING
    True
    """

    SLIDING = "sliding"
    """As meant: `min(1, n / full_at) * max(0, 2 (f - 1/2))` of the most."""
    CODE_2022 = "code_2022"
    """Of the published code: `min(1, f, n / 200) * max(0, 2 (f - 1/2))`, with 1.50 at most there."""
    CODE_2022_STRICTER = "code_2022_stricter"
    """Of its stricter tasks: `min(1, f / 500) * max(0, 2 (f - 1/2))`, with 3.00 there: the fraction is in place of the
    number, so that 0.6 cent is the most. To reproduce their data only."""


@dataclass(frozen=True, slots=True)
class Bonus:
    """A bonus.

    Attributes:
      most_cents: of the full bonus.
      count: collector of how much was rightly done.
      fraction: collector of the fraction of it.
      formula: from these to a part of the most.
      full_at: number with which the bonus may be full.

    Raises:
      ValueError: a number is not above 0.

    >>> bonus = Bonus(200, "inside_out_count", "inside_out")
    >>> bonus.cents({"inside_out_count": 100.0, "inside_out": 0.75})
    50
    """

    most_cents: int
    count: str
    fraction: str
    formula: Formula = Formula.SLIDING
    full_at: float = 200

    def __post_init__(self) -> None:
        for name, number in (("most_cents", self.most_cents), ("full_at", self.full_at)):
            if not (math.isfinite(number) and number > 0):
                raise ValueError(f"the bonus, {name}: expected a number above 0, got {number!r}")

    def part(self, values: Mapping[str, float]) -> float:
        """The part of the most, from 0 to 1; missing values, and those that are not finite, are 0."""
        found = (values.get(name, 0.0) for name in (self.count, self.fraction))
        number, fraction = (each if math.isfinite(each) else 0.0 for each in found)
        quality = min(1.0, max(0.0, 2 * (fraction - 0.5)))
        if self.formula is Formula.CODE_2022:
            return max(0.0, min(1.0, fraction, number / 200)) * quality
        if self.formula is Formula.CODE_2022_STRICTER:
            return max(0.0, min(1.0, fraction / 500)) * quality
        return max(0.0, min(1.0, number / self.full_at)) * quality

    def cents(self, values: Mapping[str, float]) -> int:
        """The bonus in whole cents, rounded down."""
        return math.floor(round(self.most_cents * self.part(values), 6))
