"""A remote file that is read by position, or as a stream."""

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
"""Bytes that are fetched at once for one who reads from the beginning to the end."""
GROWTH: Final = 4
STEP: Final = 64 << 10
"""Who goes on at most so far behind what was fetched last is reading from the beginning to the end."""


class RemoteFile(io.RawIOBase):
    """An open file, as `Path.open("rb", buffering=0)` gives it for a local one."""

    def __init__(self, directory: RemoteDirectory, name: str) -> None:
        super().__init__()
        self._directory, self._name = directory, name
        self._size = directory.info(name).size
        self._position = self._fetched_end = 0
        self._window = FIRST_WINDOW

    def read_at(self, begin: int, size: int) -> bytes:
        """Up to `size` bytes at file position `begin`; fewer only at the end of the file. Safe in several threads.

        Raises:
          RemoteError: it cannot be read, or changed.
        """
        data = self._directory.held(self._name, begin, min(begin + size, self._size))
        if data is not None:
            return data
        # Guessed from what is read: threads that get in each other's way only make the guess worse.
        goes_on = 0 <= begin - self._fetched_end <= STEP
        self._window = min(self._window * GROWTH, LAST_WINDOW) if goes_on else FIRST_WINDOW
        self._fetched_end = min(begin + max(size, self._window), self._size)
        return self._directory.read(self._name, begin, max(self._fetched_end, begin))[:size]

    def sound(self, read: Callable[[], T], is_sound: Callable[[T], bool] = lambda _: True) -> T:
        """What `read` makes of the file's bytes; where these are damaged, of bytes that are fetched anew, once.

        Args:
          read: reads, and raises DamagedError, ChunkDamage or FormatError for damage that it finds.
          is_sound: finds damage that `read` does not.

        Raises:
          As `read`, the second time.
        """
        was_fresh = self._directory.is_fresh(self._name)
        try:
            found = read()
            if was_fresh or is_sound(found):
                return found
        except (DamagedError, ChunkDamage, FormatError):  # a flipped bit may look like another format
            if was_fresh:
                raise
        self._directory.freshen(self._name)
        return read()

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Brings ranges near, many at once."""
        self._directory.fetch(Want(self._name, begin, end) for begin, end in ranges)

    def fetch_all(self) -> None:
        """Brings the whole file near, if the caches can hold it, and shows how far that has come."""
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
        """Ranges of this file, to be fetched together with those of others."""
        return [Want(self._name, begin, end) for begin, end in ranges]

    @property
    def directory(self) -> RemoteDirectory:
        """Where the file is."""
        return self._directory

    def size(self) -> int:
        """Bytes in the file, when it was first looked at."""
        return self._size

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a position."""
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
