"""Opens regular files only: opening a pipe may block, and a device may have no end."""

import os
import stat
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError
from rlds_kit.remote.path import RemotePath

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)


def open_regular(path: Path) -> int:
    """Opens a local file for reading, and returns its descriptor. Never blocks.

    Raises:
      FormatError: it is a pipe, a device or a directory, or a link to one.
      OSError: it cannot be opened.
    """
    descriptor = os.open(path, _FLAGS)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
    raise FormatError(f"{path}: expected a file, got {kind}; remove it, or put the file there")


def read_regular(path: Path) -> bytes:
    """The bytes of a local or remote file. Errors as in `open_regular`."""
    if isinstance(path, RemotePath):
        return path.read_bytes()
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read()
