"""Makes files and directory entries durable; syncs inside some directories can be postponed and done together."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LATER: Final[list[Path]] = []


@contextlib.contextmanager
def synced_later(directory: Path) -> Iterator[None]:
    """A context in which nothing below a directory is synced, in any thread of this process.

    For the files of a result that is not used before it is complete: until `sync_tree` is called, a power failure may
    destroy them. This saves a wait for the disk for each file.

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
