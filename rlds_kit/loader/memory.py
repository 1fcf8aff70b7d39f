"""Memory for large arrays that is used again when nobody needs them any more.

The system clears each page that it gives, which costs as much as copying a frame there.
"""

import contextlib
import mmap
import weakref
from typing import Final

import numpy as np

FREE_BYTES: Final = 512 << 20
"""So much memory stays when nobody uses it."""
LARGEST: Final = 4
"""Times what is asked for, which memory that is used again may have."""


class ReusableMemory:
    """Memory for large arrays. Safe to use from several threads, and where the process forks.

    Args:
      limit: how many bytes stay that nobody uses. Threads that give memory back at the same time may exceed it, until
        the next does.
    """

    def __init__(self, limit: int = FREE_BYTES) -> None:
        self._limit = limit
        self._free: dict[int, list[mmap.mmap]] = {}  # by size; that of what came back last is the last
        self._lent: dict[int, int] = {}  # what was asked for, by something that no two have at the same time
        self._spare: dict[int, int] = {}  # what is larger than that, where it is

    def array(self, size: int) -> np.ndarray:
        """Memory with anything in it, `[size]` uint8; it comes back when no view of it is left."""
        # Few kinds of sizes, at most an eighth too large, so that what is given back fits others.
        step = 1 << max(0, size.bit_length() - 4)
        needed = -(-size // step) * step
        memory = self._take(needed)
        array = np.frombuffer(memory, np.uint8, size)
        self._lent[id(memory)] = needed
        if len(memory) > needed:
            self._spare[id(memory)] = len(memory) - needed
        weakref.finalize(array, self._give, memory).atexit = False
        return array

    @property
    def lent_bytes(self) -> int:
        """What was asked for and is in use now."""
        return sum([*self._lent.values()])

    @property
    def spare_bytes(self) -> int:
        """What nobody uses of memory that is lent: it is larger than what was asked for."""
        return sum([*self._spare.values()])

    @property
    def free_bytes(self) -> int:
        """What nobody uses now."""
        return sum(size * len(memories) for size, memories in self._free.copy().items())

    def _take(self, needed: int) -> mmap.mmap:
        """The smallest that fits: episodes differ in length, and so do their arrays."""
        fitting = (size for size in sorted(self._free) if needed <= size <= needed * LARGEST)
        for size in fitting:
            with contextlib.suppress(KeyError, IndexError):
                return self._free[size].pop()  # no lock: another process may be forked while a thread holds it
        return _fresh(needed)

    def _give(self, memory: mmap.mmap) -> None:
        """Takes memory back, in place of sizes that nobody gave back lately."""
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


def _fresh(size: int) -> mmap.mmap:
    """Memory from the system, which begins at a page."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared, a fork would write into it
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel may be built without
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
