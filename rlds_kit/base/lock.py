"""File locks that mark a shard as being written; the operating system releases them when the process ends."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Error numbers of file systems without locks: some network and FUSE mounts, NFS without its lock service."""
_WAIT_SECONDS: Final = 0.05

if sys.platform == "win32":
    import msvcrt

    _LOCK_BYTE: Final = 1 << 62
    """Far beyond any data, because Windows also denies reading of locked bytes."""

    def acquire(descriptor: int) -> bool:
        """Locks an open shard for its writer."""
        _at_lock_byte(descriptor, msvcrt.LK_NBLCK)
        return True

    def is_locked(path: Path, *, unknown: bool = False) -> bool:  # noqa: ARG001  Windows always knows
        """Whether some process, this one included, has the shard open for writing."""
        with path.open("r+b") as file:
            try:
                _at_lock_byte(file.fileno(), msvcrt.LK_NBLCK)
            except OSError:
                return True
            _at_lock_byte(file.fileno(), msvcrt.LK_UNLCK)
            return False

    def _at_lock_byte(descriptor: int, operation: int) -> None:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCK_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, operation, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)

else:
    import fcntl

    def acquire(descriptor: int) -> bool:
        """Locks an open shard for its writer; returns False if the file system has no locks."""
        # Blocking is safe: the file is new, so only a reader that tests the lock can hold it, for a moment.
        return _flock(descriptor, fcntl.LOCK_EX)

    def is_locked(path: Path, *, unknown: bool = False) -> bool:
        """Whether some process, this one included, has the shard open for writing.

        Args:
          path: of the shard.
          unknown: the result if the file system has no locks.
        """
        # flock, not lockf: a POSIX record lock would be lost when this very process closes a reader of the file.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return not _flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB) and unknown
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)

    def _flock(descriptor: int, operation: int) -> bool:
        try:
            fcntl.flock(descriptor, operation)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
        return True


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits until the lock of a file is free; makes the file if it is missing, and does not remove it."""
    with path.open("ab") as file:
        while True:
            try:
                acquire(file.fileno())
                break
            except OSError:  # Windows does not wait
                time.sleep(_WAIT_SECONDS)
        yield
