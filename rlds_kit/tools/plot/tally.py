"""Counts numbers that are too many to store, in cells that grow with their range.

    A cell of exponent k contains the numbers in [i * 2**k, (i + 1) * 2**k) for some integer i. Two neighbours of one
    exponent
are exactly one cell of the next. So the counts stay exact however coarse the cells become, the range need not be known
in advance, numbers are read once, and tallies of several datasets have edges in common.
"""

import math
from typing import Final

import numpy as np

CELLS: Final = 1024
"""A tally has no more cells than this; they become wider instead."""
HUGE: Final = 1e100
"""Numbers this far from zero count as infinite: no axis can show them beside others."""
TINY: Final = 1e-200
"""Numbers nearer to zero than this count as zero."""

_FINEST: Final = -1000
_MANTISSA_BITS: Final = 52
_PENDING: Final = 8192


class Tally:
    """Counts numbers by their value.

    Attributes:
      outliers: numbers that are NaN, infinite or extremely large; they are in no cell.
      low: the least number; infinity without any.
      high: the greatest one.
      is_whole: whether all of them are whole numbers.
      exponent: of the cells.

    >>> tally = Tally()
    >>> tally.add(np.array([0.0, 2.0, 2.0, np.nan]))
    >>> tally.cells(), tally.outliers
    ((array([0., 2.]), array([1, 2])), 1)
    """

    def __init__(self) -> None:
        self.outliers = 0
        self.low, self.high = math.inf, -math.inf
        self.is_whole = True
        self.exponent = _FINEST
        self._first = 0
        self._counts = np.zeros(CELLS, np.int64)
        self._pending: list[np.ndarray] = []
        self._waiting = 0

    def add(self, numbers: np.ndarray) -> None:
        """Counts numbers: an array of any shape and real dtype, taken as float64."""
        self._pending.append(numbers.astype(np.float64).ravel())
        self._waiting += numbers.size
        if self._waiting >= _PENDING:  # counting a small array takes as long as counting a large one
            self._count()

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower edges of the cells that are not empty, ascending float64, and the numbers in each, int64."""
        self._count()
        filled = np.flatnonzero(self._counts)
        return np.ldexp((filled + self._first).astype(np.float64), self.exponent), self._counts[filled]

    def _count(self) -> None:
        if not self._pending:
            return
        numbers = np.concatenate(self._pending)
        self._pending, self._waiting = [], 0
        placed = numbers[np.abs(numbers) < HUGE]
        self.outliers += len(numbers) - len(placed)
        placed[np.abs(placed) < TINY] = 0
        if len(placed):
            self._make_room(float(placed.min()), float(placed.max()))
            self.is_whole = self.is_whole and bool(np.array_equal(placed, np.floor(placed)))
            self._counts += np.bincount(self._cells_of(placed) - self._first, minlength=CELLS)

    def _cells_of(self, numbers: np.ndarray) -> np.ndarray:
        cells: np.ndarray = np.floor(np.ldexp(numbers, -self.exponent)).astype(np.int64)
        return cells

    def _make_room(self, low: float, high: float) -> None:
        """Moves and widens the cells so that they also cover the range from `low` to `high`."""
        if self.low <= low and high <= self.high:
            return
        low, high = min(low, self.low), max(high, self.high)
        # The edges of cells must differ in float64.
        exponent = max(
            self.exponent, math.frexp(max(abs(low), abs(high)))[1] - _MANTISSA_BITS if low or high else _FINEST
        )
        while _cell(high, exponent) - _cell(low, exponent) >= CELLS:
            exponent += 1
        filled = np.flatnonzero(self._counts)
        counts = np.zeros(CELLS, np.int64)
        if len(filled):
            moved = ((filled + self._first) >> min(exponent - self.exponent, 63)) - _cell(low, exponent)
            np.add.at(counts, moved, self._counts[filled])
        self.low, self.high, self.exponent = low, high, exponent
        self._first, self._counts = _cell(low, exponent), counts


def _cell(number: float, exponent: int) -> int:
    return math.floor(math.ldexp(number, -exponent))
