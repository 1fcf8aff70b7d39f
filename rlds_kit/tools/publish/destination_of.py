"""Parses the address of a destination."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from rlds_kit.base.append_file import sync_directory
from rlds_kit.base.progress import Meter
from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.tools.publish import hub
from rlds_kit.tools.publish.checksums import BUFFER, Advance, sha256_of
from rlds_kit.tools.publish.copying import copy
from rlds_kit.tools.publish.destination import Destination, Item, Sent
from rlds_kit.tools.publish.errors import PublishError
from rlds_kit.tools.publish.filesystem import FileSystem

_FILE: Final = "file://"


def destination_of(text: str) -> Destination:
    """The destination that a path or URL names: a folder, `hf://org/name`, or any URL that fsspec knows.

    Raises:
      PublishError: it names none, or a library for it is not installed.

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
    return found if found.local is None else Folder(found.local)  # by whatever name: "local://" is one


def require_apart(directory: Path, destination: Destination) -> None:
    """Refuses a folder that is the dataset's own, in it, or around it.

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
    """A folder, which need not exist. A file is copied beside its place, made durable, and renamed.

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
        """Copies a file; a copy that was broken off is replaced by the next one."""
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
