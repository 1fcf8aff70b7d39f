"""File systems without some features, and their errors."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def without_links(*, is_so: bool = True) -> Iterator[None]:
    """As exFAT does: there are no hard links."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    with mock.patch("os.link", refuse if is_so else os.link):
        yield


@contextmanager
def without_locks(error: int = errno.ENOLCK) -> Iterator[None]:
    """As NFS without its lock service does: flock fails."""

    def refuse(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    with mock.patch("fcntl.flock", refuse):
        yield
