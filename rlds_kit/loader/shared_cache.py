"""A cache of bytes in memory that forked processes share, without locks."""

import mmap
from dataclasses import dataclass
from typing import Final

import numpy as np
import xxhash

PAGE: Final = 16 << 10
"""Bytes with a checksum of their own: as many are copied to read a few."""
_ENTRY_BYTES: Final = 4096
"""There is an entry for so many bytes of memory: columns are seldom smaller."""
_SHARE: Final = 4
"""An entry may take this part of the memory: a larger one would evict too many others."""
_MASK: Final = (1 << 64) - 1


class SharedCache:
    """A cache of bytes by number, bounded, and shared with processes that are forked later. A pickled copy is empty.

    Entries are written into a ring: the oldest make room. There are no locks. Processes and threads that write to the
    same place, and readers of what is being overwritten, are noticed: every page has a checksum of the bytes and of
    what they belong to, and it is compared with a copy. If it differs, there is no such entry.

    Args:
      limit: bytes of the ring; 0: nothing is cached.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        entries = max(1, limit // _ENTRY_BYTES)
        table = entries * 5 * 8
        # From the operating system page by page, when it is used; inherited by forked processes.
        memory = np.frombuffer(mmap.mmap(-1, 8 + table + limit), np.uint8)
        self._head = memory[:8].view(np.int64)
        self._table = memory[8 : 8 + table].view(np.int64).reshape(entries, 5)
        self.ring = memory[8 + table :]

    def __reduce__(self) -> tuple[type["SharedCache"], tuple[int]]:
        return SharedCache, (self._limit,)

    def admits(self, size: int) -> bool:
        """Whether `put` stores this many bytes."""
        return 0 < size + 8 * _pages(size) <= self._limit // _SHARE

    def get(self, key: int) -> "Entry | None":
        """The entry of a number; None if there is none, or not any more."""
        found, begin, size, number, checksum = self._table[key % len(self._table)].tolist()
        if found != key + 1 or checksum != _of_numbers(found, begin, size, number) or not self.has(begin):
            return None
        return Entry(self, key, begin, begin % self._limit, size, number)

    def has(self, begin: int) -> bool:
        """Whether what was written at this place of all that was ever written has not been overwritten."""
        return int(self._head[0]) - begin <= self._limit

    def put(self, key: int, number: int, data: np.ndarray) -> None:
        """Stores `[size]` uint8, and a number of the caller's below 256, unless that is too large."""
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
        pages = [_of_page(key, begin, page, data[page * PAGE : (page + 1) * PAGE]) for page in range(_pages(size))]
        self.ring[at : at + checks] = np.array(pages, np.uint64).view(np.uint8)
        self.ring[at + checks : at + checks + size] = data
        self._table[key % len(self._table)] = (key + 1, begin, size, number, _of_numbers(key + 1, begin, size, number))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that was there a moment ago.

    Attributes:
      cache: that has it.
      key: its number.
      begin: its place in all that was ever written.
      at: its place in the ring.
      size: of the bytes.
      number: the caller's.
    """

    cache: SharedCache
    key: int
    begin: int
    at: int
    size: int
    number: int

    def read(self, begin: int, end: int) -> np.ndarray | None:
        """A copy of bytes `[begin, end)`; None if they are not there any more."""
        first, last = begin // PAGE, _pages(end)
        data = self.at + 8 * _pages(self.size)
        checks = self.cache.ring[self.at + 8 * first : self.at + 8 * last].copy()
        copied = self.cache.ring[data + first * PAGE : data + min(last * PAGE, self.size)].copy()
        if not self.cache.has(self.begin) or len(checks) % 8:
            return None
        for page, checksum in enumerate(checks.view(np.uint64).tolist()):
            part = copied[page * PAGE : (page + 1) * PAGE]
            if _of_page(self.key, self.begin, first + page, part) != checksum:
                return None
        return copied[begin - first * PAGE : end - first * PAGE]


def _pages(size: int) -> int:
    return -(-size // PAGE)


def _of_page(key: int, begin: int, page: int, data: np.ndarray) -> int:
    """The checksum of a page of an entry: pages of other entries, and older ones, differ in it."""
    owner = (key * 0x9E3779B97F4A7C15 + begin * 0xC2B2AE3D27D4EB4F + page) & _MASK
    return xxhash.xxh3_64_intdigest(data) ^ owner


def _of_numbers(*numbers: int) -> int:
    """The checksum of a row of the table, as int64."""
    return xxhash.xxh3_64_intdigest(np.array(numbers, np.int64)) - (1 << 63)
