"""Reads the bytes of files by position, so that a reader never depends on a file's cursor."""

from __future__ import annotations

import os
from typing import BinaryIO, Protocol


class Source(Protocol):
    """A file that is read by position and may still grow."""

    def read(self, begin: int, size: int, /) -> bytes:
        """Return up to `size` bytes at file position `begin`; fewer only at the end of the file."""

    def size(self) -> int:
        """Return the present size of the file in bytes."""

    def reaches(self, position: int, /) -> bool:
        """Return whether the file has at least `position` bytes by now."""


class FileSource:
    """A seekable binary file object. Its size is read again only when it seems too small.

    >>> import io
    >>> FileSource(io.BytesIO(b"abcdef")).read(4, 10)
    b'ef'
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, os.SEEK_END)

    def read(self, begin: int, size: int, /) -> bytes:
        """Return up to `size` bytes at file position `begin`; fewer only at the end of the file."""
        self._file.seek(begin)
        raw = self._file.read(size)
        while 0 < len(raw) < size and (more := self._file.read(size - len(raw))):
            raw += more  # an unbuffered file may return less than there is
        return raw

    def size(self) -> int:
        """Return the present size of the file in bytes."""
        self._size = self._file.seek(0, os.SEEK_END)
        return self._size

    def reaches(self, position: int, /) -> bool:
        """Return whether the file has at least `position` bytes by now."""
        return position <= self._size or position <= self.size()
