"""Directories that appear under their name when they are complete, and not before, also where a process is killed.

A directory is made in `.<name>.partial-...` beside its place, and renamed. Whoever makes it holds a lock in there,
which the system drops when the process dies, however it dies; the next one to make the same directory removes what it
left.
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
"""A file in a directory that is being made; it is locked for as long as somebody does so."""


@contextlib.contextmanager
def new_directory(destination: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory to fill; it gets its own name when everything in it is done. If filling it fails, nothing is left.

    Args:
      destination: must not exist, or be an empty directory.

    Raises:
      DatasetExistsError: something is there, or has come meanwhile.
      NotLocalError: it is a URL.
      OSError: it cannot be made.

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
    """Makes sure that nothing is at a path, or an empty directory.

    Raises:
      DatasetExistsError: something is.
    """
    if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        raise DatasetExistsError(f"{path}: expected a directory that does not exist or is empty; give another path")


def put(made: Path, path: Path) -> None:
    """Makes a finished directory and everything in it durable, and gives it its name, durably.

    Raises:
      DatasetExistsError: something has come there meanwhile.
      OSError: it cannot be renamed.
    """
    sync_tree(made)
    require_free(path)
    if path.exists():
        path.rmdir()  # not every system renames over a directory
    made.rename(path)
    sync_directory(path.parent)


def partial_of(path: Path, word: str) -> Path:
    """Where the directory of a path is made.

    >>> partial_of(Path("data/copy"), "7f").as_posix()
    'data/.copy.partial-7f'
    """
    return path.with_name(f".{path.name}.partial-{word}")


def partials(path: Path) -> list[Path]:
    """The directories in which the one of a path was, or is being made."""
    return list(path.parent.glob(f".{glob.escape(path.name)}.partial-*"))


@contextlib.contextmanager
def under_way(directory: Path) -> Iterator[None]:
    """While it lasts, a directory is not taken for an abandoned one."""
    with (directory / LOCK).open("ab") as file:
        lock.acquire(file.fileno())
        yield


def is_under_way(directory: Path) -> bool:
    """Whether a process, this one included, is at work in a directory, or may be: not every file system can tell."""
    return (directory / LOCK).is_file() and lock.is_held(directory / LOCK, unknown=True)


def remove_abandoned(directories: Iterable[Path]) -> None:
    """Removes those of some directories whose makers are dead."""
    for left in directories:
        if (left / LOCK).is_file() and not is_under_way(left):
            shutil.rmtree(left, ignore_errors=True)
