"""Where the files of a registry are: a folder, or a URL."""

from pathlib import Path
from typing import Any, Protocol

import fsspec

from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.remote.address import is_url


class Store(Protocol):
    """Files by name; a name has at most one slash."""

    def names(self, folder: str) -> list[str]:
        """Of what is in a folder; none if it is not there."""

    def read(self, name: str) -> bytes:
        """The bytes of a file."""

    def write(self, name: str, content: bytes) -> None:
        """Writes a file, completely or not at all; it may be there with the same content."""

    def create(self, name: str, content: bytes) -> bool:
        """Writes a file that must be new; returns whether it was."""


def store_of(place: str) -> Store:
    """The files of a folder or a URL."""
    return _Remote(place) if is_url(place) else _Folder(Path(place))


class _Folder:
    """Files on this machine; any number of processes may write them at once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> list[str]:
        """Without those that are not complete."""
        path = self._root / folder
        return sorted(each.name for each in path.iterdir() if each.name[0] != ".") if path.is_dir() else []

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return (self._root / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """By a temporary file, which is renamed when it is on the disk."""
        path = self._root / name
        make_directory(path.parent)
        with whole_file(path) as temporary:
            temporary.write_bytes(content)

    def create(self, name: str, content: bytes) -> bool:
        """By a temporary file, whose name only one process can change to this one."""
        try:
            with whole_file(self._root / name, replace=False) as temporary:
                temporary.write_bytes(content)
        except FileExistsError:
            return False
        return True


class _Remote:
    """Files below a URL; an object store shows an object when all of it is there."""

    def __init__(self, url: str) -> None:
        self._files: Any
        self._files, self._root = fsspec.core.url_to_fs(url)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}".rstrip("/")

    def names(self, folder: str) -> list[str]:
        """As the store lists them now."""
        self._files.invalidate_cache()
        if not self._files.isdir(self._path(folder)):
            return []
        return sorted(each.rpartition("/")[2] for each in self._files.ls(self._path(folder), detail=False))

    def read(self, name: str) -> bytes:
        """The bytes of an object."""
        content: bytes = self._files.cat_file(self._path(name))
        return content

    def write(self, name: str, content: bytes) -> None:
        """In one request."""
        self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(self._path(name), content)

    def create(self, name: str, content: bytes) -> bool:
        """Looks, and then writes: two that push at the same time may choose the same number."""
        if self._files.exists(self._path(name)):
            return False
        self.write(name, content)
        return True
