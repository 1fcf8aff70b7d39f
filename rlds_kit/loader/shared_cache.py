"""A cache of columns in memory that forked processes share, without locks."""

import mmap
from typing import Final

import numpy as np
import xxhash

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.storage", "_cached")
"""Copies rows out of the cache; without the extension there is no cache."""

PAGE: Final = 16 << 10
"""Bytes that share a checksum, and so are copied together to read any of them."""
PICK: Final = np.dtype([("row", "<i8"), ("to", "<i8")])
"""A row of a column, and the row of an array that it goes to."""
COLUMN: Final = np.dtype([(name, "<i8") for name in ("key", "begin", "size", "filter", "total", "first_pick", "picks")])
"""A column in the cache: its number, place and bytes, its filter and all its rows, and which picks are of it."""

_ENTRY_BYTES: Final = 4096
"""The table has one entry for this many bytes of memory: columns are seldom smaller."""
_SHARE: Final = 4
"""A column may take this part of the memory: a larger one would evict too many others."""
_MASK: Final = (1 << 64) - 1


class SharedCache:
    """A cache of columns by number, bounded, and shared with processes that are forked later. A pickled copy is empty.

    Columns are written into a ring buffer, where new ones overwrite the oldest. There are no locks. A reader detects
    that a column was overwritten, or written by several processes or threads at once: every page has a checksum of its
    bytes and of the column that they belong to, which is compared with the copy. If it differs, the column counts as
    not cached.

    Args:
      limit: bytes of the ring; 0: nothing is cached.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        entries = max(1, limit // _ENTRY_BYTES)
        table = entries * 4 * 8
        # From the operating system page by page, when it is used; inherited by forked processes.
        memory = np.frombuffer(mmap.mmap(-1, 8 + table + limit), np.uint8)
        self._head = memory[:8].view(np.int64)
        self._table = memory[8 : 8 + table].view(np.int64).reshape(entries, 4)
        self.ring = memory[8 + table :]

    def __reduce__(self) -> tuple[type["SharedCache"], tuple[int]]:
        return SharedCache, (self._limit,)

    def admits(self, size: int) -> bool:
        """Whether `put` stores this many bytes."""
        return 0 < size + 8 * _pages(size) <= self._limit // _SHARE

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Finds columns.

        Args:
          keys: `[n]` int64, their numbers.

        Returns:
          `[n]` of COLUMN without rows and picks; and `[n]` bool, which of them were in the cache.
        """
        found = self._table[keys % len(self._table)]
        columns = np.zeros(len(keys), COLUMN)
        columns["key"] = keys
        for number, name in enumerate(("begin", "size", "filter"), 1):
            columns[name] = found[:, number]
        return columns, (found[:, 0] == keys + 1) & (self._head[0] - found[:, 1] <= self._limit)

    def take(self, columns: np.ndarray, picks: np.ndarray, out: np.ndarray, itemsize: int) -> np.ndarray:
        """Copies rows.

        Args:
          columns: `[n]` of COLUMN, which `find` found.
          picks: `[m]` of PICK; those of a column are together, in ascending order of rows.
          out: `[rows, bytes]` uint8, in C order.
          itemsize: bytes of an element of a row.

        Returns:
          `[n]` bool, which columns were still in the cache: the rows of the others are undefined.
        """
        if native is None or not len(columns) or not self._limit:
            return np.zeros(len(columns), np.bool_)
        sound = native.take(self.ring, self._head, columns, picks, out, out.shape[1], itemsize)
        return np.frombuffer(sound, np.bool_)

    def put(self, key: int, number: int, data: np.ndarray) -> None:
        """Stores a column, unless it is too large.

        Args:
          key: its number.
          number: of its filter: IDENTITY, XOR_RUNS, SPARSE_XOR or SHUFFLE.
          data: `[size]` uint8, what the filter has made of it.
        """
        size = len(data)
        if not self.admits(size):
            return
        checks = 8 * _pages(size)
        begin = int(self._head[0])
        left = self._limit - begin % self._limit
        if left < checks + size:
            begin += left
        self._head[0] = begin + checks + size  # first: readers of what is overwritten then see that it is gone
        at = begin % self._limit
        owner = key * 0x9E3779B97F4A7C15 + begin * 0xC2B2AE3D27D4EB4F + number * 0x165667B19E3779F9
        pages = [
            xxhash.xxh3_64_intdigest(data[page * PAGE : (page + 1) * PAGE].data) ^ ((owner + page) & _MASK)
            for page in range(_pages(size))
        ]
        self.ring[at : at + checks] = np.array(pages, np.uint64).view(np.uint8)
        self.ring[at + checks : at + checks + size] = data
        self._table[key % len(self._table)] = (key + 1, begin, size, number)


def _pages(size: int) -> int:
    return -(-size // PAGE)
