"""Files that are there whole or not at all, and names that survive a power cut.

A file that is renamed before its bytes are on disk may be empty after a power cut, and its name is lost unless the
directory is on disk, too. So whatever gets its name by a rename gets it here.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rlds_kit.base import lock
from rlds_kit.base.append_file import sync_directory

TEMPORARY: Final = ".tmp"
"""At the end of the name of a file that is not whole yet, unless its writer has another name for it."""


@contextlib.contextmanager
def whole_file(path: Path, temporary: Path | None = None, *, replace: bool = True) -> Iterator[Path]:
    """Gives a temporary path to write to; makes it durable and gives it its name, or leaves nothing.

    Any number of processes may write the same file at once, unless they share a temporary one.

    Args:
      path: of the file.
      temporary: in the same directory; None: a hidden one that no other writer has.
      replace: whether a file that is there is replaced.

    Raises:
      FileExistsError: something is at `path`, and it is not to be replaced.
      OSError: the file cannot be written.

    >>> with whole_file(Path("data/notes.txt")) as temporary:  # doctest: +SKIP
    ...     temporary.write_text("whole")
    """
    temporary = temporary or path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        yield temporary
        give_name(temporary, path, replace=replace)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:  # JSON
    """Writes a file of JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content), "utf-8")


def give_name(temporary: Path, path: Path, *, replace: bool = True) -> None:
    """Makes a file that nobody writes any more durable, then gives it its name, durably.

    Raises:
      FileExistsError: something is at `path`, and it is not to be replaced. Of any number of processes that give a file
        the same name at once, all but one get it.
      OSError: the system refuses.
    """
    sync_file(temporary)
    if replace:
        temporary.replace(path)
    else:
        _link(temporary, path)
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Returns when the bytes of a file would survive a power cut."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows syncs what it may write
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(directory: Path) -> None:
    """Returns when a directory and everything below it would survive a power cut."""
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                sync_file(path)
        sync_directory(Path(folder))


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Makes a directory and those above it, durably. Does nothing where it is there.

    Args:
      path: of the directory.
      mode: who may use it; those above it are made as the system has them.

    Raises:
      OSError: it cannot be made.
    """
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(mode, parents=True, exist_ok=True)
    for each in missing:
        sync_directory(each.parent)
    if not missing:  # another process may have made it just now
        with contextlib.suppress(OSError):
            sync_directory(path.parent)


def _link(temporary: Path, path: Path) -> None:
    """Gives a file a second name, which must be free: one step of the system, so that one of many succeeds."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        if not path.samefile(temporary):  # else a network disk did it, lost its answer, and tried again
            raise
    except OSError:  # a file system without hard links
        _move(temporary, path)


def _move(temporary: Path, path: Path) -> None:
    """Renames a file to a name that must be free; where renaming replaces what is there, under a lock."""
    if os.name == "nt":  # does not replace
        temporary.rename(path)
        return
    # The file itself is locked, empty until it is replaced: a killed process leaves an empty file, which is taken for
    # none. Where there are no locks either, whoever creates it has it, and one that a killed process left has to go.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor, is_new = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:
        descriptor, is_new = os.open(path, flags), False
    try:
        is_mine = lock.acquire(descriptor) or is_new
        found = path.stat()
        if not is_mine or found.st_size or not os.path.samestat(found, os.fstat(descriptor)):
            raise FileExistsError(f"{path} is there already")
        try:
            temporary.replace(path)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    finally:
        os.close(descriptor)
