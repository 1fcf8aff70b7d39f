"""A pool that reuses arrays for rows: newly allocated memory costs more than copying a frame into it.

Why `reusable_memory.py` has another pool: docs/decisions/0038-two-pools-of-memory.md.
"""

import math
from typing import Any, Final

import numpy as np

from rlds_kit.storage.mapped_memory import mapped_array

POOL_BYTES: Final = 32 << 20
MIN_BYTES: Final = 1 << 16
"""Smaller arrays are not pooled: the allocator reuses their memory itself."""


class ArrayPool:
    """Stores released arrays for reuse. Not thread-safe: callers hold a lock.

    Args:
      limit: maximum bytes that are stored.
      is_apart: whether arrays that are pooled are in memory apart from the heap; see `mapped_array`.
    """

    def __init__(self, limit: int = POOL_BYTES, *, is_apart: bool = False) -> None:
        self._free: dict[int, list[np.ndarray]] = {}
        self._space, self._is_apart = limit, is_apart

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An uninitialized array, reused if possible: of a free one of at most twice the size.

        >>> ArrayPool().take((2, 3), np.dtype(np.float32)).shape
        (2, 3)
        """
        size = math.prod(shape) * dtype.itemsize
        found = min((each for each, free in self._free.items() if free and size <= each <= 2 * size), default=None)
        if found is None and self._is_apart and size >= MIN_BYTES:
            return mapped_array(size).view(dtype).reshape(shape)
        if found is None:
            return np.empty(shape, dtype)
        self._space += found
        return self._free[found].pop()[:size].view(dtype).reshape(shape)

    def give(self, array: np.ndarray) -> None:
        """Returns an array from `take` to the pool, in place of sizes that were not returned lately.

        It must not be used any more.
        """
        whole = array if array.base is None else array.base
        size = whole.nbytes
        if size < MIN_BYTES:
            return
        mine = self._free.pop(size, [])
        for other, free in self._free.items():  # the size that was returned last comes last
            while free and self._space < size:
                free.pop()
                self._space += other
        if size <= self._space:
            self._space -= size
            mine.append(whole.reshape(-1).view(np.uint8))
        self._free[size] = mine
