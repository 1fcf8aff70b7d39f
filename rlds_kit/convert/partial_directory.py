"""A directory that appears under its name when it is complete; what killed processes left of it is cleared away."""

import contextlib
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rlds_kit.errors import DatasetExistsError
from rlds_kit.storage import lock
from rlds_kit.storage.append_file import sync_directory

_LOCK: Final = ".lock"


@contextlib.contextmanager
def partial_directory(destination: Path) -> Iterator[Path]:
    """A path to make a directory at, which is renamed to `destination` at the end, or removed on an error.

    A process that is killed leaves a directory `.<name>.partial-...` beside the destination, which the next call for
    the same destination removes. One that another process is filling stays.

    Raises:
      DatasetExistsError: something is at `destination`, from the begin or at the end.
      OSError: a directory cannot be made or renamed.
    """
    _require_free(destination)
    destination.parent.mkdir(parents=True, exist_ok=True)
    _clear(destination)
    outer = destination.parent / f".{destination.name}.partial-{uuid.uuid4().hex}"
    outer.mkdir()
    made = outer / destination.name
    try:
        with (outer / _LOCK).open("ab") as file:
            lock.acquire(file.fileno())
            yield made
        _require_free(destination)
        made.rename(destination)
    finally:
        shutil.rmtree(outer, ignore_errors=True)
    sync_directory(destination.parent)


def _require_free(destination: Path) -> None:
    if destination.is_dir() and not any(destination.iterdir()):
        destination.rmdir()
    if destination.exists():
        raise DatasetExistsError(f"{destination}: expected a path where nothing is; give another one")


def _clear(destination: Path) -> None:
    for left in destination.parent.glob(f".{destination.name}.partial-*"):
        held = left / _LOCK
        if held.is_file() and not lock.is_held(held):
            shutil.rmtree(left)
