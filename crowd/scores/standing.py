"""Where a participant stands among all: total, best, rank, percentile and histogram of one collector."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BINS: Final = 10


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a participant stands.

    Attributes:
      total: of their episodes.
      best: of their episodes.
      rank: 1 is the highest total; equal totals have the same rank, and the next one counts all of them.
      of: how many people there are, they too.
      percentile: how many per cent of the others are below, of equal ones half; 100 where there are no others.
      histogram: how many people have a total in each of 10 equal parts from the lowest to the highest.
      bin: number of the part in which they are, from 0.
    """

    total: float
    best: float
    rank: int
    of: int
    percentile: float
    histogram: tuple[int, ...]
    bin: int


def standing(episodes: Sequence[float], others: Sequence[float]) -> Standing:
    """Where a participant stands.

    Args:
      episodes: values of their episodes, at least one.
      others: totals of all other people.

    Raises:
      ValueError: there is no episode, or a value is not finite.

    >>> found = standing([3.0, 4.0], [1.0, 7.0, 9.0])
    >>> found.total, found.best, found.rank, found.percentile
    (7.0, 4.0, 2, 50.0)
    """
    if not episodes or not all(map(math.isfinite, (*episodes, *others))):
        raise ValueError(f"expected at least one episode, and finite values, got {[*episodes]} and {[*others]}")
    total = math.fsum(episodes)
    above, equal = sum(each > total for each in others), sum(each == total for each in others)
    below = len(others) - above - equal
    percentile = 100 * (below + equal / 2) / len(others) if others else 100.0
    everyone = (*others, total)
    return Standing(
        total,
        max(episodes),
        above + 1,
        len(everyone),
        percentile,
        histogram(everyone),
        _bin(total, min(everyone), max(everyone)),
    )


def histogram(values: Sequence[float], bins: int = BINS) -> tuple[int, ...]:
    """How many values are in each of equal parts from the lowest to the highest, which is in the last.

    >>> histogram([0.0, 1.0, 5.0, 10.0])
    (1, 1, 0, 0, 0, 1, 0, 0, 0, 1)
    >>> histogram([])
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    """
    counts = [0] * bins
    low, high = min(values, default=0.0), max(values, default=0.0)
    for value in values:
        counts[_bin(value, low, high, bins)] += 1
    return tuple(counts)


def _bin(value: float, low: float, high: float, bins: int = BINS) -> int:
    return min(bins - 1, int((value - low) / (high - low) * bins)) if high > low else 0
