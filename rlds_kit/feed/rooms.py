"""Memory for large arrays that is used again when nobody needs them any more.

The system clears each page that it gives, which costs as much as copying a frame there.
"""

import contextlib
import mmap
import weakref
from typing import Final

import numpy as np

FREE_BYTES: Final = 256 << 20
"""So much memory stays when nobody uses it."""


class Rooms:
    """Memory for large arrays. Safe to use from several threads, and where the process forks.

    Args:
      limit: how many bytes stay when nobody uses them.
    """

    def __init__(self, limit: int = FREE_BYTES) -> None:
        self._limit = limit
        self._free: dict[int, list[mmap.mmap]] = {}
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
        return sum(size * len(rooms) for size, rooms in [*self._free.items()])

    def _take(self, size: int) -> mmap.mmap:
        try:
            return self._free[size].pop()  # no lock: another process may be forked while a thread holds it
        except (KeyError, IndexError):
            return _fresh(size)

    def _give(self, room: mmap.mmap) -> None:
        """Takes memory back, in place of sizes that nobody asked for lately."""
        del self._lent[id(room)]
        mine = self._free.pop(len(room), [])
        if len(room) * (len(mine) + 1) <= self._limit:
            mine.append(room)
            for size in [*self._free]:
                if self.free_bytes + len(room) * len(mine) <= self._limit:
                    break
                self._free.pop(size, None)
        self._free[len(room)] = mine


def _fresh(size: int) -> mmap.mmap:
    """Memory from the system, which begins at a page."""
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return mmap.mmap(-1, size)
    room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared, a fork would write into it
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel may be built without
            room.madvise(mmap.MADV_HUGEPAGE)
    return room
