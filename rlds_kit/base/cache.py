"""A cache of converted datasets: each is converted once and reused.

The process that converts a dataset holds a lock, which the operating system releases if the process dies; other
processes wait and then use the result.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rlds_kit.base import lock
from rlds_kit.base.errors import RldsKitError

DIRECTORY: Final = "RLDS_KIT_CACHE"
"""Environment variable with the directory of the cache."""
DEFAULT: Final = "~/.cache/rlds_kit"


class CacheError(RldsKitError, OSError):
    """The cache cannot be written."""


def cache_directory() -> Path:
    """The directory of the cache: `RLDS_KIT_CACHE`, or ~/.cache/rlds_kit."""
    return Path(os.environ.get(DIRECTORY) or DEFAULT).expanduser().absolute()


def made_once(key: str, make: Callable[[Path], object]) -> Path:
    """Returns a directory of the cache, and creates it if it does not exist.

    Args:
      key: its name; must differ for different content.
      make: creates it at the path that it is called with, completely or not at all.

    Raises:
      CacheError: the cache cannot be written.
      Whatever `make` does.
    """
    root = cache_directory()
    target = root / key
    if target.is_dir():
        return target
    with lock.exclusive(_lock_file(root, key)):  # never removed: another process may be waiting for it
        if not target.is_dir():
            make(target)
    return target


def _lock_file(root: Path, key: str) -> Path:
    """The file to lock; creates it and its directory."""
    path = root / f".{key}.lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise CacheError(
            f"{root}: converted data cannot be stored there ({error}); set {DIRECTORY} to a directory that can be "
            "written"
        ) from error
    return path
