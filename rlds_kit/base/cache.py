"""Datasets of ours that were made from others, each made once.

A process that makes one holds a lock on it, which the system drops if the process dies; others wait and then find the
dataset there.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rlds_kit.base import lock
from rlds_kit.base.errors import RldsKitError

DIRECTORY: Final = "RLDS_KIT_CACHE"
"""Environment variable that says where the cache is."""
DEFAULT: Final = "~/.cache/rlds_kit"
_WAIT_SECONDS: Final = 0.2


class CacheError(RldsKitError, OSError):
    """The cache cannot be written."""


def cache_directory() -> Path:
    """Where the cache is: as `RLDS_KIT_CACHE` says, or ~/.cache/rlds_kit."""
    return Path(os.environ.get(DIRECTORY) or DEFAULT).expanduser().absolute()


def made_once(key: str, make: Callable[[Path], object]) -> Path:
    """A directory of the cache, which is made if it is not there.

    Args:
      key: its name, another one for other content.
      make: makes it at the path that it is given, as a whole or not at all.

    Raises:
      CacheError: the cache cannot be written.
      Whatever `make` does.
    """
    root = cache_directory()
    target = root / key
    if target.is_dir():
        return target
    with _locked(_lock_file(root, key)):
        if not target.is_dir():
            make(target)
    return target


def _lock_file(root: Path, key: str) -> Path:
    """The file to lock; it is there, and so is its directory."""
    path = root / f".{key}.lock"
    try:
        root.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise CacheError(
            f"{root}: what is converted cannot be kept there ({error}); set {DIRECTORY} to a directory that can be "
            "written"
        ) from error
    return path


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits until nobody else holds the lock. Its file stays: somebody may be waiting for it."""
    with path.open("ab") as file:
        while True:
            try:
                lock.acquire(file.fileno())
                break
            except OSError:  # Windows does not wait
                time.sleep(_WAIT_SECONDS)
        yield
