"""A pool that reuses arrays for rows: newly allocated memory costs more than copying a frame into it.

Why `loader/memory.py` has another pool: docs/decisions/0038-two-pools-of-memory.md.
"""

import math
from typing import Any, Final

import numpy as np

POOL_BYTES: Final = 32 << 20
MIN_BYTES: Final = 1 << 16
"""Smaller arrays are not pooled: the allocator reuses their memory itself."""


class ArrayPool:
    """Stores released arrays for reuse. Not thread-safe: callers hold a lock."""

    def __init__(self, limit: int = POOL_BYTES) -> None:
        self._free: dict[int, list[np.ndarray]] = {}
        self._space = limit

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An uninitialized array, reused if possible.

        >>> ArrayPool().take((2, 3), np.dtype(np.float32)).shape
        (2, 3)
        """
        size = math.prod(shape) * dtype.itemsize
        free = self._free.get(size)
        if not free:
            return np.empty(shape, dtype)
        self._space += size
        return free.pop().view(dtype).reshape(shape)

    def give(self, array: np.ndarray) -> None:
        """Returns an array from `take` to the pool; it must not be used any more."""
        if MIN_BYTES <= array.nbytes <= self._space:
            self._space -= array.nbytes
            self._free.setdefault(array.nbytes, []).append(array.reshape(-1).view(np.uint8))
