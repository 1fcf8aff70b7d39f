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


class Rooms:
    """Memory for large arrays. Safe to use from several threads, and where the process forks.

    Args:
      limit: how many bytes stay when nobody uses them.
    """

    def __init__(self, limit: int = FREE_BYTES) -> None:
        self._limit = limit
        self._free: list[mmap.mmap] = []  # what came back last is the last, and the likeliest to be in a cache
        self._lent: dict[int, int] = {}  # bytes, by something that no two have at the same time

    def array(self, size: int) -> np.ndarray:
        """Memory with anything in it, `[size]` uint8; it comes back when no view of it is left."""
        # Few kinds of sizes, at most an eighth too large, so that what is given back fits others.
        step = 1 << max(0, size.bit_length() - 4)
        room = self._take(-(-size // step) * step)
        array = np.frombuffer(room, np.uint8, size)
        self._lent[id(room)] = len(room)
        weakref.finalize(array, self._give, room).atexit = False
        return array

    @property
    def lent_bytes(self) -> int:
        """What is in use now."""
        return sum([*self._lent.values()])

    @property
    def free_bytes(self) -> int:
        """What nobody uses now."""
        return sum(map(len, [*self._free]))

    def _take(self, size: int) -> mmap.mmap:
        """The smallest that fits, of those that came back last: episodes differ in length, and so do their arrays."""
        while fitting := [room for room in reversed([*self._free]) if size <= len(room) <= size * LARGEST]:
            room = min(fitting, key=len)
            with contextlib.suppress(ValueError):  # no lock: another process may be forked while a thread holds it
                self._free.remove(room)
                return room
        return _fresh(size)

    def _give(self, room: mmap.mmap) -> None:
        """Takes memory back, in place of what nobody asked for lately."""
        del self._lent[id(room)]
        if len(room) > self._limit:
            return
        self._free.append(room)
        while self.free_bytes > self._limit:
            with contextlib.suppress(IndexError):  # another thread was faster
                self._free.pop(0)


def _fresh(size: int) -> mmap.mmap:
    """Memory from the system, which begins at a page."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared, a fork would write into it
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel may be built without
            room.madvise(mmap.MADV_HUGEPAGE)
    return room
