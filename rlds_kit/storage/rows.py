"""Rows of equal size, which filters take and give back."""

from typing import TypeAlias

import numpy as np

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
"""`[rows, bytes of a row]`; a row is a value."""
Stored: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""What a filter makes of rows."""


def array_bytes(rows: Rows) -> int:
    """Bytes of the array that rows are a part of: with many, what is written first is in no cache when all is read."""
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    return rows.nbytes
