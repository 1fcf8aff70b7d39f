"""A remote file that can be read by position, or as a stream."""

import io
import os
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from rlds_kit.base.errors import FormatError
from rlds_kit.remote.directory import GROUP_BYTES, RemoteDirectory, Want
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.recovery import ChunkDamage

T = TypeVar("T")

FIRST_WINDOW: Final = 4 << 10
LAST_WINDOW: Final = 8 << 20
"""Bytes that are prefetched for a sequential reader."""
GROWTH: Final = 4
STEP: Final = 64 << 10
"""A read that begins at most this many bytes after the last fetched one counts as sequential."""


class RemoteFile(io.RawIOBase):
    """An open remote file, like the result of `Path.open("rb", buffering=0)` for a local one."""

    def __init__(self, directory: RemoteDirectory, name: str) -> None:
        super().__init__()
        self._directory, self._name = directory, name
        self._size = directory.info(name).size
        self._position = self._fetched_end = 0
        self._window = FIRST_WINDOW

    def read_at(self, begin: int, size: int) -> bytes:
        """Reads up to `size` bytes at file position `begin`; fewer only at the end of the file. Thread-safe.

        Raises:
          RemoteError: it cannot be read, or changed.
        """
        data = self._directory.in_memory(self._name, begin, min(begin + size, self._size))
        if data is not None:
            return data
        # A heuristic without a lock: a race between threads only makes the prediction worse.
        goes_on = 0 <= begin - self._fetched_end <= STEP
        self._window = min(self._window * GROWTH, LAST_WINDOW) if goes_on else FIRST_WINDOW
        self._fetched_end = min(begin + max(size, self._window), self._size)
        return self._directory.read(self._name, begin, max(self._fetched_end, begin))[:size]

    def sound(self, read: Callable[[], T], is_sound: Callable[[T], bool] = lambda _: True) -> T:
        """Calls `read` and returns its result; if the bytes are damaged, drops the cache and calls it again, once.

        Args:
          read: reads, and raises DamagedError, ChunkDamage or FormatError for damage that it finds.
          is_sound: detects damage that `read` does not.

        Raises:
          As `read`, the second time.
        """
        was_fresh = self._directory.is_fresh(self._name)
        try:
            found = read()
            if was_fresh or is_sound(found):
                return found
        except (DamagedError, ChunkDamage, FormatError):  # a flipped bit may cause an unknown format
            if was_fresh:
                raise
        self._directory.freshen(self._name)
        return read()

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Prefetches ranges, many concurrently."""
        self._directory.fetch(Want(self._name, begin, end) for begin, end in ranges)

    def fetch_all(self) -> None:
        """Prefetches the whole file, if the caches can store it, and shows a progress bar."""
        from rlds_kit.base.progress import progress_bar

        if self._size > self._directory.cache_limit:
            return
        with progress_bar(f"fetching {self._name}, which was not closed", hidden=False) as progress:
            for begin in range(0, self._size, GROUP_BYTES):
                end = min(begin + GROUP_BYTES, self._size)
                self.fetch([(begin, end)])
                if progress is not None:
                    progress(end, self._size)

    def wants(self, ranges: Iterable[tuple[int, int]]) -> list[Want]:
        """Requests for ranges of this file, to be combined with those of other files."""
        return [Want(self._name, begin, end) for begin, end in ranges]

    @property
    def directory(self) -> RemoteDirectory:
        """The directory of the file."""
        return self._directory

    def size(self) -> int:
        """Bytes in the file, at the first access."""
        return self._size

    def readable(self) -> bool:
        """Returns True."""
        return True

    def seekable(self) -> bool:
        """Returns True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Sets the position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        """The position."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Reads into a buffer."""
        view = memoryview(buffer).cast("B")
        data = self.read_at(self._position, len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)
