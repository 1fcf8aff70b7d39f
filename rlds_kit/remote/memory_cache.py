"""A memory cache of recently fetched bytes of remote files, for reads that follow a prefetch."""

import threading
from collections import deque
from typing import Final

from rlds_kit.remote.range_map import Piece, RangeMap, joined
from rlds_kit.remote.ranges import Range

MEMORY_CACHE_BYTES: Final = 128 << 20


class MemoryCache:
    """Ranges of files, bounded in bytes and thread-safe; the oldest are evicted first."""

    def __init__(self, limit: int = MEMORY_CACHE_BYTES) -> None:
        self._limit, self._bytes = limit, 0
        self._lock = threading.Lock()
        self._files: dict[str, RangeMap[bytes]] = {}
        self._order: deque[tuple[str, int]] = deque()

    def add(self, name: str, begin: int, data: bytes) -> None:
        """Adds bytes of a file."""
        with self._lock:
            file = self._files.setdefault(name, RangeMap())
            gone = file.add(begin, begin + len(data), data)
            self._bytes += len(data) - sum(len(piece.value) for piece in gone)
            self._order.append((name, begin))
            while self._bytes > self._limit:
                first_name, first = self._order.popleft()
                piece = self._files[first_name].remove(first)
                self._bytes -= 0 if piece is None else len(piece.value)

    def drop(self, name: str) -> None:
        """Removes all bytes of a file."""
        with self._lock:
            gone = self._files.pop(name, RangeMap())
            self._bytes -= sum(len(piece.value) for piece in gone)
            self._order = deque(each for each in self._order if each[0] != name)

    def get(self, name: str, begin: int, end: int) -> bytes | None:
        """Bytes of a file; None if some of them are not cached."""
        with self._lock:
            file = self._files.get(name)
            return None if file is None else joined(file, begin, end)

    def pieces(self, name: str, begin: int, end: int) -> list[Piece[bytes]]:
        """The cached parts of a range."""
        with self._lock:
            file = self._files.get(name)
            return [] if file is None else file.pieces(begin, end)

    def missing(self, name: str, begin: int, end: int) -> list[Range]:
        """The parts of a range that are not cached."""
        with self._lock:
            file = self._files.get(name)
            return [Range(begin, end)] if file is None else file.missing(begin, end)
