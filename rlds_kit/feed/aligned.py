"""Arrays that TensorFlow takes as they are: it copies those that do not begin at a multiple of 64 bytes."""

import math
from typing import Any, Final

import numpy as np

ALIGNMENT: Final = 64
"""Bytes: of a cache line, and of the widest registers."""


def aligned_zeros(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array of zeros for the leaf of a path, which plays no part.

    >>> aligned_zeros("observation", (2, 3), np.dtype(np.float32)).ctypes.data % ALIGNMENT
    0
    """
    size = math.prod(shape) * dtype.itemsize
    room = np.zeros(size + ALIGNMENT - 1, np.uint8)
    begin = -room.__array_interface__["data"][0] % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)
