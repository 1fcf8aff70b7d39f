"""Parses the address of a destination."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from rlds_kit.tools.publish import hub
from rlds_kit.tools.publish.destination import Destination
from rlds_kit.tools.publish.errors import PublishError
from rlds_kit.tools.publish.filesystem import FileSystem
from rlds_kit.tools.publish.folder import Folder

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
