"""Datasets of ours that were made from others, each made once: a directory that appears when it is complete.

A process that makes one holds a lock on it, which the system drops if the process dies; others wait and then find the
dataset there. What a killed process left is removed by the next one that makes the same dataset.
"""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rlds_kit.storage import lock
from rlds_kit.storage.append_file import sync_directory

DIRECTORY: Final = "RLDS_KIT_CACHE"
"""Environment variable that says where the cache is."""
DEFAULT: Final = "~/.cache/rlds_kit"
_WAIT_SECONDS: Final = 0.2


def cache_directory() -> Path:
    """Where the cache is: as `RLDS_KIT_CACHE` says, or ~/.cache/rlds_kit."""
    return Path(os.environ.get(DIRECTORY) or DEFAULT).expanduser().absolute()


def made_once(key: str, make: Callable[[Path], None]) -> Path:
    """A directory of the cache, which is made if it is not there.

    Args:
      key: its name, another one for other content.
      make: makes it at the path that it is given, which does not exist.

    Raises:
      Whatever `make` does; then nothing is kept.
    """
    root = cache_directory()
    target = root / key
    if target.is_dir():
        return target
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f".{key}.lock"):
        if not target.is_dir():
            _make(root, key, make)
    return target


def _make(root: Path, key: str, make: Callable[[Path], None]) -> None:
    for left in root.glob(f".{key}.partial-*"):
        shutil.rmtree(left)
    partial = root / f".{key}.partial-{uuid.uuid4().hex}"
    try:
        make(partial)
        partial.rename(root / key)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_directory(root)


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
