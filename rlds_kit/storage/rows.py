"""Rows of equal size: the input of filters."""

from typing import TypeAlias

import numpy as np

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
"""`[rows, bytes of a row]`; each row is a value."""
Stored: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""The output of a filter."""


def array_bytes(rows: Rows) -> int:
    """Bytes of the array that rows are a part of: with many, what is written first is in no cache when all is read."""
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    return rows.nbytes
