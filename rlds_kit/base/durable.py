"""Makes files and names in directories durable; what is below some directories is synced later, all of it at once."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LATER: Final[list[Path]] = []


@contextlib.contextmanager
def synced_later(directory: Path) -> Iterator[None]:
    """A context in which nothing below a directory is synced, in any thread of this process.

    For files that a power failure may take, until `sync_tree` is called: a part of a result that does not count before
    all of it is there. Each sync is a wait for the disk.

    Args:
      directory: absolute.
    """
    _LATER.append(directory)
    try:
        yield
    finally:
        _LATER.remove(directory)


def fsync(descriptor: int, path: Path) -> None:
    """Returns when an open file or directory would survive a power failure, unless it is to be synced later."""
    if not any(path.is_relative_to(each) for each in tuple(_LATER)):
        os.fsync(descriptor)
