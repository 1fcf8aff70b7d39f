"""A new file that only grows, whole chunk by whole chunk."""

import os
from pathlib import Path

from rlds_kit.storage import lock


class AppendFile:
    """Creates `path`, which must not exist, and locks it for as long as it is open.

    Raises:
      FileExistsError: `path` exists.
      OSError: it cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self._file = path.open("xb", buffering=0)
        lock.acquire(self._file.fileno())
        self._directory_is_durable = False

    def append(self, data: bytes) -> None:
        """Writes all of `data`, or leaves the file as it was.

        Raises:
          OSError: the disk is full, or gone.
        """
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
        except BaseException:
            self._roll_back()
            raise
        self.position += len(data)

    def sync(self) -> None:
        """Returns when everything written, and the file's entry in its directory, would survive a power cut."""
        os.fsync(self._file.fileno())
        if not self._directory_is_durable:
            sync_directory(self.path.parent)
            self._directory_is_durable = True

    def close(self) -> None:
        """Closes the file and drops the lock."""
        self._file.close()

    def _roll_back(self) -> None:
        # Best effort: a reader skips a torn chunk at the end of a file, but a clean end is better.
        try:
            self._file.truncate(self.position)
            self._file.seek(self.position)
        except OSError:
            pass


def sync_directory(path: Path) -> None:
    """Makes the names in a directory durable; where directories cannot be opened (Windows) the system does it."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
