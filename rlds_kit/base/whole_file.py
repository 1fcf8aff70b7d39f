"""Atomic and durable file writes: a file exists completely or not at all, also after a power failure.

A file that is renamed before its bytes are on disk may be empty after a power failure, and its name is lost unless the
directory is on disk, too. So all renames of new files and directories go through this module.
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
from rlds_kit.base.durable import fsync

TEMPORARY: Final = ".tmp"
"""Suffix of a file that is not complete yet, unless its writer uses another name."""


@contextlib.contextmanager
def whole_file(path: Path, temporary: Path | None = None, *, replace: bool = True) -> Iterator[Path]:
    """Yields a temporary path to write to; then syncs and renames it, or removes it after an error.

    Any number of processes may write the same file at once, unless they share a temporary one.

    Args:
      path: of the file.
      temporary: in the same directory; None: a hidden one that no other writer has.
      replace: whether to replace an existing file.

    Raises:
      FileExistsError: `path` exists, and is not to be replaced.
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
    """Writes a JSON file atomically."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content), "utf-8")


def give_name(temporary: Path, path: Path, *, replace: bool = True) -> None:
    """Syncs a finished file, renames it, and syncs the directory.

    Raises:
      FileExistsError: `path` exists, and is not to be replaced. If several processes use the same name at once, all but
        one get this error.
      OSError: the system refuses.
    """
    sync_file(temporary)
    if replace:
        temporary.replace(path)
    else:
        _link(temporary, path)
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Returns when the bytes of a file would survive a power failure."""
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)  # Windows needs write access
    try:
        fsync(descriptor, path)
    finally:
        os.close(descriptor)


def sync_tree(directory: Path) -> None:
    """Returns when a directory and everything below it would survive a power failure."""
    for folder, _, files in os.walk(directory, topdown=False):
        for name in files:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                sync_file(path)
        sync_directory(Path(folder))


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Creates a directory and its parents durably. Does nothing if it exists.

    Args:
      path: of the directory.
      mode: its permissions; parents get the default ones.

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
    """Adds a hard link under a name that must be free: atomic, so exactly one of several processes succeeds."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        if not path.samefile(temporary):  # else a network file system created the link, lost the reply, and retried
            raise
    except OSError:  # a file system without hard links
        _move(temporary, path)


def _move(temporary: Path, path: Path) -> None:
    """Renames a file to a name that must be free; on systems where renaming replaces files, under a lock."""
    if os.name == "nt":  # does not replace
        temporary.rename(path)
        return
    # The target itself is created empty and locked until it is replaced: a killed process leaves an empty file, which
    # counts as none. Without locks, the process that creates the file wins, and an empty file of a killed process must
    # be removed by hand.
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
