"""Which ranges of a file to ask for: neighbours together, none too long, no byte twice."""

from collections.abc import Iterable
from typing import Final, NamedTuple

GAP: Final = 64 << 10
"""Bytes between two ranges that are fetched rather than asked around: about what comes in the time that a request
takes, where sixteen are under way."""
LIMIT: Final = 4 << 20
"""Bytes of one request; longer ranges are cut, and their parts fetched at once."""


class Range(NamedTuple):
    """Bytes `[begin, end)` of a file."""

    begin: int
    end: int


def coalesced(wanted: Iterable[tuple[int, int]], gap: int = GAP, limit: int = LIMIT) -> list[Range]:
    """The ranges to ask for.

    Args:
      wanted: ranges in any order, overlapping or not; empty ones count for nothing.
      gap: ranges with at most so many bytes between them are asked for together.
      limit: the most bytes of one range.

    Returns:
      Ranges in order, with no byte in common, that have every byte that is wanted.

    >>> coalesced([(10, 20), (0, 5), (100, 130)], gap=5, limit=25)
    [Range(begin=0, end=20), Range(begin=100, end=125), Range(begin=125, end=130)]
    """
    found: list[Range] = []
    begin = end = -1
    for first, last in sorted(each for each in wanted if each[0] < each[1]):
        if end < 0:
            begin, end = first, last
        elif first - end <= gap:
            end = max(end, last)
        else:
            found += _cut(begin, end, limit)
            begin, end = first, last
    return found + (_cut(begin, end, limit) if end >= 0 else [])


def _cut(begin: int, end: int, limit: int) -> list[Range]:
    return [Range(first, min(first + limit, end)) for first in range(begin, end, limit)]
