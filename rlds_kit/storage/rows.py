"""Rows of equal size: the input of filters."""

from typing import TypeAlias

import numpy as np

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
"""`[rows, bytes of a row]`; each row is a value."""
Stored: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
"""The output of a filter."""


def room_of(rows: Rows) -> int:
    """Bytes of the array to which rows belong: if it is large, its beginning leaves the cache before it is read."""
    while isinstance(rows.base, np.ndarray):
        rows = rows.base
    return rows.nbytes
