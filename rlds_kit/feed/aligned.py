"""Arrays that TensorFlow takes as they are: it copies those that do not begin at a multiple of 64 bytes.

Large ones are in memory that is used again when nobody needs the array any more: the system clears each page that it
gives, which costs as much as copying a frame there.
"""

import contextlib
import math
import mmap
import weakref
from typing import Any, Final

import numpy as np

ALIGNMENT: Final = 64
"""Bytes: of a cache line, and of the widest registers."""
LARGE_BYTES: Final = 1 << 16
"""Smaller arrays are left to NumPy."""
FREE_BYTES: Final = 256 << 20
"""So much memory stays when nobody uses it."""
LENT_BYTES: Final = 128 << 20
"""As long as less is in use, parts of arrays may be handed out in place of copies of them.

Threads look before they take memory, so a bit more may be.
"""


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


_rooms = Rooms()


def is_little_lent() -> bool:
    """Whether what keeps a part of an array may keep all of it: less than `LENT_BYTES` of large arrays are in use.

    >>> is_little_lent()
    True
    """
    return _rooms.lent_bytes < LENT_BYTES


def aligned(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with anything in it for the leaf of a path, which plays no part.

    >>> aligned("observation", (2, 3), np.dtype(np.float32)).ctypes.data % ALIGNMENT
    0
    """
    size = math.prod(shape) * dtype.itemsize
    if size >= LARGE_BYTES:
        return _rooms.array(size).view(dtype).reshape(shape)
    room = np.empty(size + ALIGNMENT - 1, np.uint8)
    begin = -room.__array_interface__["data"][0] % ALIGNMENT
    return room[begin : begin + size].view(dtype).reshape(shape)
