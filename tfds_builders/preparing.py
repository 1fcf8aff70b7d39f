"""Lets only one process at a time prepare a dataset, and removes the files of killed ones."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.base import lock

_RETRY_SECONDS = 0.2


@contextlib.contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Locks a directory that is prepared: waits for the lock, which other processes on this machine then wait for.

    TFDS writes beside the directory, into a folder called "incomplete.<letters>_<name>", and renames it when it is
    complete. A process that is killed leaves such a folder; the process with the lock may delete it.

    Args:
      directory: that is prepared; it need not exist.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    # Not deleted afterwards: a waiting process has it open, and a third one would lock another file.
    with (directory.parent / f".{directory.name}.lock").open("ab") as file:
        is_alone = _wait(file.fileno())
        if is_alone and not directory.exists():
            for left in directory.parent.glob(f"incomplete.*_{directory.name}"):
                shutil.rmtree(left)
        yield


def _wait(descriptor: int) -> bool:
    """Waits for the lock; returns False if the file system has none."""
    while True:
        try:
            return lock.acquire(descriptor)
        except OSError:  # Windows does not wait
            time.sleep(_RETRY_SECONDS)
