"""Memory for rows that is used again: memory fresh from the system costs more than copying a frame into it."""

import math
from typing import Any, Final

import numpy as np

POOL_BYTES: Final = 32 << 20
MIN_BYTES: Final = 1 << 16
"""Smaller arrays are left to the allocator, which does not return them to the system."""


class ArrayPool:
    """Keeps arrays that nobody needs any more. The caller sees to it that only one thread uses it at a time."""

    def __init__(self, limit: int = POOL_BYTES) -> None:
        self._free: dict[int, list[np.ndarray]] = {}
        self._room = limit

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array with anything in it.

        >>> ArrayPool().take((2, 3), np.dtype(np.float32)).shape
        (2, 3)
        """
        size = math.prod(shape) * dtype.itemsize
        free = self._free.get(size)
        if not free:
            return np.empty(shape, dtype)
        self._room += size
        return free.pop().view(dtype).reshape(shape)

    def give(self, array: np.ndarray) -> None:
        """Takes back an array that came from `take`; nothing may use it any more."""
        if MIN_BYTES <= array.nbytes <= self._room:
            self._room -= array.nbytes
            self._free.setdefault(array.nbytes, []).append(array.reshape(-1).view(np.uint8))
