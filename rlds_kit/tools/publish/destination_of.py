"""Parses the address of a destination."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from rlds_kit.base.append_file import sync_directory
from rlds_kit.base.progress import Meter
from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.tools.publish import hub
from rlds_kit.tools.publish.checksums import BUFFER, Advance, sha256_of
from rlds_kit.tools.publish.copying import copy
from rlds_kit.tools.publish.destination import Destination, Item, Sent
from rlds_kit.tools.publish.errors import PublishError

_FILE: Final = "file://"


def destination_of(text: str) -> Destination:
    """The destination at a path or URL: a folder, `hf://org/name`, or any URL that fsspec supports.

    Raises:
      PublishError: it is no valid destination, or a library for it is not installed.

    >>> destination_of("copies/pong").url
    'copies/pong'
    """
    if not text:
        raise PublishError("expected a folder, hf://org/name or a URL to publish to, got nothing")
    if text.startswith(hub.SCHEME):
        return hub.Hub(text)
    if text.startswith(_FILE):
        return Folder(Path(unquote(urlsplit(text).path)))
    if "://" not in text and "::" not in text:
        return Folder(Path(text))
    found = FileSystem(text)
    return found if found.local is None else Folder(found.local)  # under any of its schemes: "local://" is one


def require_apart(directory: Path, destination: Destination) -> None:
    """Raises an error for a folder that is the dataset's own, inside it, or contains it.

    Raises:
      PublishError: it is.
    """
    if not isinstance(destination, Folder):
        return
    source, target = directory.resolve(), destination.path.resolve()
    if target == source or source in target.parents:
        raise PublishError(f"{destination.url} is in the dataset itself, {directory}; give a folder outside of it")
    if target in source.parents:
        raise PublishError(f"{destination.url} is around the dataset, {directory}; give a folder of its own")
    if target.exists() and not target.is_dir():
        raise PublishError(f"{destination.url} is a file; give a folder, which need not exist")


class Folder:
    """A folder, which need not exist. A file is copied under a temporary name, synced, and renamed.

    Args:
      path: of the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.url, self.address = str(path), ""  # without the path on this machine

    def listing(self) -> Mapping[str, int]:
        """Path and size of every file."""
        files = (path for path in self.path.rglob("*") if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.stat().st_size for path in files}

    def write(self, items: Sequence[Item], obsolete: Sequence[str], meter: Meter) -> Sent:
        """Copies what is missing."""
        return copy(self, items, obsolete, meter)

    def put(self, item: Item, advance: Advance) -> None:
        """Copies a file; an interrupted copy is replaced by the next one."""
        target = self.path / item.path
        make_directory(target.parent)
        with (
            whole_file(target, target.with_name(f".{target.name}.partial")) as partial,
            item.source.open("rb") as source,
            partial.open("wb") as file,
        ):
            while block := source.read(BUFFER):
                file.write(block)
                advance(file.tell())

    def digest(self, path: str) -> str:
        """The SHA-256 of a file."""
        with (self.path / path).open("rb") as file:
            return sha256_of(file)

    def remove(self, path: str) -> None:
        """Removes a file."""
        (self.path / path).unlink()
        sync_directory((self.path / path).parent)


class FileSystem:
    """A folder of a file system of fsspec.

    Object stores show an object when it is complete. On file systems that show growing files, only `checksums.txt`
    marks a dataset as complete. Digests are computed from files that are read back, which requires a download.

    Args:
      url: in the form of fsspec.

    Raises:
      PublishError: fsspec does not support the scheme, or the library for it is not installed.
    """

    def __init__(self, url: str) -> None:
        import fsspec

        self.url, self.address = url.rstrip("/"), ""
        try:
            system, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise PublishError(f"{url}: {error}; give a folder, hf://org/name, or what fsspec knows") from error
        self._system: Any = system  # fsspec has no types
        self._root = str(root).rstrip("/")

    @property
    def local(self) -> Path | None:
        """The local folder, if the file system is that of this machine."""
        from fsspec.implementations.local import LocalFileSystem

        return Path(self._root or "/") if isinstance(self._system, LocalFileSystem) else None

    def listing(self) -> Mapping[str, int]:
        """Path and size of every file."""
        self._system.invalidate_cache()
        with self._explained():
            found = self._system.find(self._root, detail=True)
        # Names are returned without the beginning of the root, or with a slash instead.
        root = self._root.strip("/")
        return {path.strip("/").removeprefix(root).strip("/"): int(entry["size"]) for path, entry in found.items()}

    def write(self, items: Sequence[Item], obsolete: Sequence[str], meter: Meter) -> Sent:
        """Copies what is missing."""
        return copy(self, items, obsolete, meter)

    def put(self, item: Item, advance: Advance) -> None:
        """Copies a file."""
        path = self._path(item.path)
        with self._explained():
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            with item.source.open("rb") as source, self._system.open(path, "wb") as file:
                while block := source.read(BUFFER):
                    file.write(block)
                    advance(source.tell())

    def digest(self, path: str) -> str:
        """The SHA-256 of a file, read back."""
        with self._explained(), self._system.open(self._path(path), "rb") as file:
            return sha256_of(file)

    def remove(self, path: str) -> None:
        """Removes a file."""
        with self._explained():
            self._system.rm_file(self._path(path))

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Converts errors of a store to a PublishError, which names the store and explains how to continue."""
        try:
            yield
        except NotImplementedError as error:
            raise PublishError(f"{self.url}: fsspec cannot write to such a place; choose another") from error
        except Exception as error:  # every store raises its own errors
            raise PublishError(f"{self.url}: {error}; fix it, and run the same command again to continue") from error
