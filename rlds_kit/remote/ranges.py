"""Plans requests for ranges of a file: merges adjacent ranges, splits long ones, requests no byte twice."""

from collections.abc import Iterable
from typing import Final, NamedTuple

GAP: Final = 64 << 10
"""Largest gap between two ranges that are merged: about the bytes that arrive in the time of one request, with sixteen
in flight."""
LIMIT: Final = 4 << 20
"""Maximum bytes of one request; longer ranges are split, and their parts fetched concurrently."""


class Range(NamedTuple):
    """Bytes `[begin, end)` of a file."""

    begin: int
    end: int


def coalesced(wanted: Iterable[tuple[int, int]], gap: int = GAP, limit: int = LIMIT) -> list[Range]:
    """Merges and splits ranges for requests.

    Args:
      wanted: ranges in any order, overlapping or not; empty ones are ignored.
      gap: ranges with at most this many bytes between them are merged.
      limit: maximum bytes of one range.

    Returns:
      Disjoint ranges in order that contain every requested byte.

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
