"""A map from ranges of a file to a value for each: its bytes, or their position."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from rlds_kit.remote.ranges import Range

T = TypeVar("T")


class Piece(NamedTuple, Generic[T]):
    """A range and its value."""

    begin: int
    end: int
    value: T


class RangeMap(Generic[T]):
    """A set of ranges of which none contains another, so that their begins and their ends are in the same order."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []
        self._values: list[T] = []

    def __len__(self) -> int:
        return len(self._begins)

    def __iter__(self) -> Iterator[Piece[T]]:
        return map(Piece, self._begins, self._ends, self._values)

    def add(self, begin: int, end: int, value: T) -> list[Piece[T]]:
        """Adds a range, unless another one contains it; returns the dropped ranges: those inside it, or itself."""
        before = bisect_right(self._begins, begin)
        if begin >= end or (before and self._ends[before - 1] >= end):
            return [Piece(begin, end, value)]
        first = bisect_left(self._begins, begin)
        last = max(first, bisect_right(self._ends, end))
        gone = [Piece(self._begins[at], self._ends[at], self._values[at]) for at in range(first, last)]
        self._begins[first:last], self._ends[first:last], self._values[first:last] = [begin], [end], [value]
        return gone

    def remove(self, begin: int) -> Piece[T] | None:
        """Removes the range that begins at a position."""
        at = bisect_left(self._begins, begin)
        if at == len(self._begins) or self._begins[at] != begin:
            return None
        return Piece(self._begins.pop(at), self._ends.pop(at), self._values.pop(at))

    def pieces(self, begin: int, end: int) -> list[Piece[T]]:
        """The ranges that intersect `[begin, end)`, in order."""
        first = bisect_right(self._ends, begin)
        last = bisect_left(self._begins, end)
        return [Piece(self._begins[at], self._ends[at], self._values[at]) for at in range(first, last)]

    def missing(self, begin: int, end: int) -> list[Range]:
        """The parts of `[begin, end)` that are in no range."""
        found, at = [], begin
        for piece in self.pieces(begin, end):
            if piece.begin > at:
                found.append(Range(at, piece.begin))
            at = max(at, piece.end)
        return found + ([Range(at, end)] if at < end else [])


def joined(found: RangeMap[bytes], begin: int, end: int) -> bytes | None:
    """The bytes `[begin, end)`; None if some are missing."""
    parts, at = [], begin
    for piece in found.pieces(begin, end):
        if piece.begin > at:
            return None
        if piece.end > at:
            parts.append(piece.value[at - piece.begin : end - piece.begin])
            at = min(piece.end, end)
    if at < end:
        return None
    return parts[0] if len(parts) == 1 else b"".join(parts)
