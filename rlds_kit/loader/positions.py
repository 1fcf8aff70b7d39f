"""Sorted numbers and their positions, found in tables instead of by sorting and searching."""

from typing import Final

import numpy as np

_BITS: Final = 5
"""The lowest bits of a number, which are its place in a page; the others are the number of the page."""
_WIDEST: Final = 256
"""Numbers that are further apart on average have no table: it would be too large."""
_LOOSEST: Final = 8
"""Nor do numbers for each of which the table would have more entries than these."""
_MOST: Final = 1 << 26
"""Nor more numbers than these: entries have 32 bits."""

_SPARSEST: Final = 16
"""Entries for each number, at most, of the table that says which numbers there are."""


def ascending(numbers: np.ndarray) -> np.ndarray:
    """The different numbers of an array, ascending: `np.unique`, ten times as fast if they are close together.

    Args:
      numbers: int64, of any shape.

    >>> ascending(np.array([[4, 2], [4, 7]])).tolist()
    [2, 4, 7]
    """
    flat = numbers.reshape(-1)
    first, after = (int(flat.min()), int(flat.max()) + 1) if len(flat) else (0, 0)
    if after - first > _SPARSEST * len(flat):
        return np.unique(flat)
    is_there = np.zeros(after - first, np.bool_)
    is_there[flat - first] = True
    found: np.ndarray = np.flatnonzero(is_there) + first
    return found


class Positions:
    """Positions of numbers in an array: a search of each takes ten times as long.

    The table has two levels: where each page of 32 numbers begins, if one of them is in the array; and the position of
    each number of these pages.

    Args:
      numbers: `[n]` int64, ascending and different.

    >>> Positions(np.array([10, 11, 12, 700])).of(np.array([[700, 11]])).tolist()
    [[3, 1]]
    """

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers, self._first = numbers, int(numbers[0]) if len(numbers) else 0
        self._pages: np.ndarray | None = None
        if not len(numbers) or len(numbers) > _MOST or int(numbers[-1]) - self._first >= _WIDEST * len(numbers):
            return
        relative = numbers - self._first
        page = relative >> _BITS
        used = page[np.flatnonzero(np.diff(page, prepend=-1))]
        if len(used) << _BITS > max(_LOOSEST * len(numbers), 1 << _BITS):
            return
        self._pages = np.zeros(int(page[-1]) + 1, np.int32)
        self._pages[used] = np.arange(0, len(used) << _BITS, 1 << _BITS)
        self._places = np.zeros(len(used) << _BITS, np.int32)
        self._places[self._slots(self._pages, relative)] = np.arange(len(numbers))

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """The positions of numbers, all of which are in the array; of any shape."""
        if self._pages is None:
            return np.searchsorted(self._numbers, numbers)
        found: np.ndarray = self._places[self._slots(self._pages, numbers - self._first)]
        return found

    @staticmethod
    def _slots(pages: np.ndarray, relative: np.ndarray) -> np.ndarray:
        found: np.ndarray = pages[relative >> _BITS] + (relative & ((1 << _BITS) - 1))
        return found
