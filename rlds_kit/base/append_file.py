"""An append-only file: each append writes whole chunks or leaves the file unchanged."""

import errno
import os
from pathlib import Path

from rlds_kit.base import lock
from rlds_kit.base.durable import fsync


class FileGoneError(OSError):
    """A file was deleted, moved or replaced during writing, so its path does not lead to the written data."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOENT, "the file was deleted, moved or replaced while it was written", str(path))


class AppendFile:
    """Creates `path`, which must not exist, and locks it for as long as it is open, where that is possible.

    Attributes:
      path: as given.
      position: bytes written so far.

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
        self._has_links = os.fstat(self._file.fileno()).st_nlink > 0  # some file systems do not count them
        self._was_gone = False

    def append(self, data: bytes) -> None:
        """Appends all of `data`, or leaves the file unchanged.

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
        """Returns when all written data, and the file's entry in its directory, would survive a power failure.

        Raises:
          FileGoneError: the file is no longer at its path.
          OSError: the disk is full, or gone.
        """
        fsync(self._file.fileno(), self.path)
        self.require_there()
        if not self._directory_is_durable:
            sync_directory(self.path.parent)
            self._directory_is_durable = True

    def require_there(self) -> None:
        """Checks that the path still leads to this file; writing to a deleted file raises no error.

        Raises:
          FileGoneError: it is no longer at its path.
        """
        # The inode number is not compared: some network file systems change it. NFS may keep an unlinked file under
        # another name, so the link count alone is not sufficient.
        if not _is_there(self.path) or (self._has_links and not os.fstat(self._file.fileno()).st_nlink):
            self._was_gone = True
            raise FileGoneError(self.path)

    @property
    def is_gone(self) -> bool:
        """Whether the path no longer leads to this file; also works after it was closed."""
        return self._was_gone or not _is_there(self.path)

    def close(self) -> None:
        """Closes the file and releases the lock."""
        self._file.close()

    def _roll_back(self) -> None:
        # Best effort: readers skip an incomplete chunk at the end of a file, but a clean end is better.
        try:
            self._file.truncate(self.position)
            self._file.seek(self.position)
        except OSError:
            pass


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # unknown
        return True
    return True


def sync_directory(path: Path) -> None:
    """Makes the names in a directory durable; on Windows, where directories cannot be opened, the system does this."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fsync(descriptor, path)
    finally:
        os.close(descriptor)
