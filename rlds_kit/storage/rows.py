"""Rows of equal size: the input of filters."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.storage.native import native

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
"""`[rows, bytes of a row]`; each row is a value."""
Stored: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""The output of a filter."""


_SMALL_ROW: Final = 256
"""Below this size one comparison of all bytes is faster than one for each row."""


class Part(NamedTuple):
    """Some of the rows of a column.

    Attributes:
      total: rows of the column.
      begin: the first one.
    """

    total: int
    begin: int = 0


def in_whole(undo: Callable[[Stored, Rows], None], stored: Stored, out: Rows, part: Part) -> None:
    """Decodes a part of the rows with a function that decodes all of them."""
    if part.begin == 0 and part.total == len(out):
        undo(stored, out)
        return
    rows = np.empty((part.total, out.shape[1]), np.uint8)
    undo(stored, rows)
    out[...] = rows[part.begin : part.begin + len(out)]


def are_equal(rows: Rows) -> bool:
    """Whether all rows are equal; there is at least one.

    >>> are_equal(np.array([[1, 2], [1, 2]], np.uint8)), are_equal(np.array([[1, 2], [1, 3]], np.uint8))
    (True, False)
    """
    if native is not None and rows.flags.c_contiguous and rows.size:
        return bool(native.are_equal(rows, len(rows)))
    return are_equal_twin(rows)


def are_equal_twin(rows: Rows) -> bool:
    """`are_equal` in NumPy."""
    if not np.array_equal(rows[0], rows[-1]):  # nearly always, unless all are equal
        return False
    if rows.shape[1] < _SMALL_ROW:
        return bool((rows[1:] == rows[:-1]).all())
    return all(np.array_equal(rows[0], row) for row in rows[1:-1])


def take_rows(rows: Rows, numbers: np.ndarray, out: Rows) -> None:
    """Copies some rows: past the cache, if the destination is larger than the cache.

    Args:
      rows: to copy from, in one piece.
      numbers: `[n]` integers, of the rows.
      out: `[n, bytes of a row]`, in one piece, which shares no memory with `rows`.

    Raises:
      TypeError: numbers are no integers.
      ValueError: there is no row of a number, or sizes differ.

    >>> out = np.empty((3, 2), np.uint8)
    >>> take_rows(np.array([[1, 2], [3, 4]], np.uint8), np.array([1, 0, 1]), out)
    >>> out.tolist()
    [[3, 4], [1, 2], [3, 4]]
    """
    if out.shape != (len(numbers), rows.shape[1]):
        raise ValueError(f"expected memory for {len(numbers)} rows of {rows.shape[1]} bytes, got {out.shape}")
    if native is not None and rows.size:
        native.take_rows(rows, numbers.astype(np.int64, "C", "safe", copy=False), out, rows.shape[1])
    elif len(numbers):
        take_rows_twin(rows, numbers, out)


def take_rows_twin(rows: Rows, numbers: np.ndarray, out: Rows) -> None:
    """`take_rows` in NumPy, for some numbers."""
    if numbers.min() < 0 or numbers.max() >= len(rows):
        raise ValueError(f"expected numbers of {len(rows)} rows, got {numbers.min()} to {numbers.max()}")
    np.take(rows, numbers, axis=0, out=out, mode="clip")  # "raise" would need a second copy


def array_bytes(rows: Rows) -> int:
    """Bytes of the whole array that rows are a part of; if it is large, its beginning has left the CPU cache."""
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    return rows.nbytes
