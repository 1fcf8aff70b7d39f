"""An allocator for large arrays that reuses memory when arrays are released.

The operating system clears each new page, which costs as much as copying a frame into it. How this differs from
`array_pool.py` beside this file: docs/decisions/0038-two-pools-of-memory.md.
"""

import contextlib
import math
import mmap
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.storage.mapped_memory import map_memory

FREE_BYTES: Final = 512 << 20
"""Maximum bytes of unused memory that is cached for reuse."""
LARGEST: Final = 4
"""Reused memory may be this many times larger than the request."""
LARGE_BYTES: Final = 1 << 16
"""Arrays from so many bytes on are in reused memory, if nothing else is chosen; smaller ones are allocated by NumPy."""


class ReusableMemory:
    """Memory for large arrays. Safe to use from several threads, and where the process forks.

    Args:
      limit: maximum unused bytes. Threads that release memory at the same time may exceed it until the next release.
      large: from how many bytes on `empty` uses reused memory.
    """

    def __init__(self, limit: int = FREE_BYTES, large: int = LARGE_BYTES) -> None:
        self._limit, self._large = limit, large
        self._free: dict[int, list[mmap.mmap]] = {}  # free memory by size; the most recently released size is last
        self._lent: dict[int, int] = {}  # requested bytes, by a unique key
        self._spare: dict[int, int] = {}  # surplus bytes of memory that is larger than requested

    def array(self, size: int) -> np.ndarray:
        """Uninitialized memory, `[size]` uint8; it is released when there are no more views of it.

        Raises:
          MemoryError: there is no memory.
        """
        # Rounded sizes, at most an eighth too large, so that released memory fits other requests.
        step = 1 << max(0, size.bit_length() - 4)
        needed = -(-size // step) * step
        try:
            memory = self._take(needed)
        except (OSError, OverflowError):  # the mappings of a process are limited; without memory NumPy raises an error
            self._free.clear()
            return np.empty(size, np.uint8)
        array = np.frombuffer(memory, np.uint8, size)
        self._lent[id(memory)] = needed
        if len(memory) > needed:
            self._spare[id(memory)] = len(memory) - needed
        weakref.finalize(array, self._give, memory).atexit = False
        return array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An uninitialized array; a small one is allocated by NumPy."""
        size = math.prod(shape) * dtype.itemsize
        return np.empty(shape, dtype) if size < self._large else self.array(size).view(dtype).reshape(shape)

    def concatenate(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """As `np.concatenate`, into an array as of `empty`.

        >>> ReusableMemory().concatenate([np.arange(2), np.arange(1)])
        array([0, 1, 0])
        """
        first = arrays[0]
        # NumPy chooses a type if there are several, or of swapped bytes; memory of objects is not reused.
        if any(each.dtype != first.dtype for each in arrays) or not first.dtype.isnative or first.dtype.hasobject:
            return np.concatenate(arrays)
        return np.concatenate(arrays, out=self.empty((sum(map(len, arrays)), *first.shape[1:]), first.dtype))

    @property
    def lent_bytes(self) -> int:
        """Requested bytes that are in use."""
        return sum([*self._lent.values()])

    @property
    def spare_bytes(self) -> int:
        """Unused bytes in memory that is larger than requested."""
        return sum([*self._spare.values()])

    @property
    def free_bytes(self) -> int:
        """Memory that is not in use."""
        return sum(size * len(memories) for size, memories in self._free.copy().items())

    def _take(self, needed: int) -> mmap.mmap:
        """The smallest that fits: episodes differ in length, and so do their arrays."""
        fitting = (size for size in sorted(self._free) if needed <= size <= needed * LARGEST)
        for size in fitting:
            with contextlib.suppress(KeyError, IndexError):
                return self._free[size].pop()  # no lock, because a fork may copy it while it is locked
        return map_memory(needed)

    def _give(self, memory: mmap.mmap) -> None:
        """Takes memory back, in place of sizes that were not given back lately."""
        del self._lent[id(memory)]
        self._spare.pop(id(memory), None)
        mine = self._free.pop(len(memory), [])
        mine.append(memory)
        self._free[len(memory)] = mine
        over = self.free_bytes + self.spare_bytes - self._limit
        for size in [*self._free]:
            if over <= 0:
                break
            memories = self._free.get(size, [])
            count = min(len(memories), -(-over // size))
            del memories[:count]
            over -= count * size


field_memory: Final = ReusableMemory(FREE_BYTES // 2, 1 << 20)
"""For fields of episodes. Smaller arrays are left to NumPy: a program may keep many, and the number of mappings of a
process is limited."""
