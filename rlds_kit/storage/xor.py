"""The filter XOR: rows as differences from the previous row, zeros where nothing changed."""

from typing import Final

import numpy as np

from rlds_kit.storage.rows import Rows

_NARROW: Final = 256
"""Bytes of a row up to which `ufunc.accumulate`, which iterates column by column, is faster than a loop over rows."""


def xor(rows: Rows) -> Rows:
    """Each row XOR the previous row; the first is unchanged.

    >>> xor(np.array([[1, 2], [1, 3]], np.uint8)).tolist()
    [[1, 2], [0, 1]]
    """
    filtered = np.empty_like(rows)
    filtered[:1] = rows[:1]
    np.bitwise_xor(rows[1:], rows[:-1], out=filtered[1:])
    return filtered


def unxor(rows: Rows, out: Rows) -> None:
    """The inverse of `xor`."""
    if rows.shape[1] <= _NARROW:
        np.bitwise_xor.accumulate(rows, axis=0, out=out)
        return
    out[:1] = rows[:1]
    for index in range(1, len(rows)):
        np.bitwise_xor(rows[index], out[index - 1], out=out[index])
