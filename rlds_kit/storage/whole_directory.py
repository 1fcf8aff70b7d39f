"""Atomic creation of directories: a directory appears under its name when it is complete, even if processes are killed.

A directory is built in `.<name>.partial-...` beside its destination, and then renamed. Its process holds a lock in
there, which the operating system releases when the process ends; the next process that builds the same directory
removes the remains.
"""

import contextlib
import glob
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rlds_kit.base import lock
from rlds_kit.base.append_file import sync_directory
from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.whole_file import make_directory, sync_tree
from rlds_kit.remote.address import require_local

LOCK: Final = ".lock"
"""The lock file in a directory that is being built."""


@contextlib.contextmanager
def new_directory(destination: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a directory to fill, and then renames it to `destination`; after an error it is removed.

    Args:
      destination: must not exist, or be an empty directory.

    Raises:
      DatasetExistsError: the destination exists, or was created meanwhile.
      NotLocalError: it is a URL.
      OSError: it cannot be created.

    >>> with new_directory("data/copy") as directory:  # doctest: +SKIP
    ...     (directory / "dataset.json").write_text("{}")
    """
    require_local(destination)
    path = Path(destination).absolute()
    require_free(path)
    make_directory(path.parent)
    remove_abandoned(partials(path))
    partial = partial_of(path, uuid.uuid4().hex)
    made = partial / path.name
    made.mkdir(parents=True)
    try:
        with under_way(partial):
            yield made
            put(made, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def require_free(path: Path) -> None:
    """Checks that a path does not exist, or is an empty directory.

    Raises:
      DatasetExistsError: it exists and is not empty.
    """
    if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        raise DatasetExistsError(f"{path}: expected a directory that does not exist or is empty; give another path")


def put(made: Path, path: Path) -> None:
    """Syncs a finished directory and everything in it, and renames it durably.

    Raises:
      DatasetExistsError: the destination was created meanwhile.
      OSError: it cannot be renamed.
    """
    sync_tree(made)
    require_free(path)
    if path.exists():
        path.rmdir()  # not every system renames over a directory
    made.rename(path)
    sync_directory(path.parent)


def partial_of(path: Path, word: str) -> Path:
    """The path in which a directory is built.

    >>> partial_of(Path("data/copy"), "7f").as_posix()
    'data/.copy.partial-7f'
    """
    return path.with_name(f".{path.name}.partial-{word}")


def partials(path: Path) -> list[Path]:
    """All directories in which a path was or is being built."""
    return list(path.parent.glob(f".{glob.escape(path.name)}.partial-*"))


@contextlib.contextmanager
def under_way(directory: Path) -> Iterator[None]:
    """A context in which a directory is locked, so that it does not count as abandoned."""
    with (directory / LOCK).open("ab") as file:
        lock.acquire(file.fileno())
        yield


def is_under_way(directory: Path) -> bool:
    """Whether a process, this one included, works in a directory; True if the file system has no locks."""
    return (directory / LOCK).is_file() and lock.is_locked(directory / LOCK, unknown=True)


def remove_abandoned(directories: Iterable[Path]) -> None:
    """Removes directories that no process works in any more."""
    for left in directories:
        if (left / LOCK).is_file() and not is_under_way(left):
            shutil.rmtree(left, ignore_errors=True)
