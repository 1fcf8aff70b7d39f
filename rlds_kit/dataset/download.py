"""Downloads a dataset byte for byte: from the Hugging Face Hub, or from any URL."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.progress import Progress
from rlds_kit.dataset.hub import PATTERNS, check
from rlds_kit.dataset.location import HUB, directory_of
from rlds_kit.remote.address import is_url
from rlds_kit.remote.checksums import CHECKSUMS
from rlds_kit.storage.directory import is_dataset
from rlds_kit.storage.whole_directory import new_directory

_READ_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The result of `download`.

    Attributes:
      source: the location of the original.
      destination: the directory.
      files: number of files, without checksums.
      bytes: of all files.
      checked: whether SHA-256 checksums were verified; datasets that `rlds-kit publish` wrote have them.
    """

    source: str
    destination: Path
    files: int
    bytes: int
    checked: bool


def download(
    location: str | os.PathLike[str], destination: str | os.PathLike[str], *, progress: Progress | None = None
) -> Downloaded:
    """Copies the shards, layers and description of a dataset; cards and pictures are left out.

    Args:
      location: as for `rlds_kit.open`: "hf://org/name@revision", a URL, or a directory.
      destination: must not exist, or be an empty directory; it appears when everything is complete and verified.
      progress: a callback with the bytes done and the total.

    Raises:
      NotADatasetError: there is no dataset.
      DatasetExistsError: the destination exists.
      DamagedError: a file does not match its checksum.
      RemoteError: it cannot be read.
      MissingExtraError: the library that reads such locations is not installed.

    >>> download("hf://me/pong", "data/pong")  # doctest: +SKIP
    """
    text = os.fspath(location) if isinstance(location, os.PathLike) else location
    needs_no_cache = is_url(text) and not text.startswith(HUB)  # every byte is read only once
    source = directory_of(location, cache_bytes=0 if needs_no_cache else None)
    if not is_dataset(source):
        raise NotADatasetError(f"{source}: expected a dataset, but there is no shard and no dataset.json; check it")
    found = {path.relative_to(source).as_posix() for pattern in PATTERNS for path in source.glob(pattern)}
    names = sorted(found - {CHECKSUMS})
    total = sum((source / name).stat().st_size for name in names)
    checksums = _checksums(source)
    with new_directory(destination) as made:
        done = 0
        for name in names:
            for size in _copied(source / name, made / name):
                done += size
                if progress is not None:
                    progress(done, total)
        if checksums is not None:
            (made / CHECKSUMS).write_bytes(checksums)
            check(made, made / CHECKSUMS)
    return Downloaded(text, Path(destination), len(names), total, checksums is not None)


def _checksums(source: Path) -> bytes | None:
    """The content of the file of checksums, which a web server does not list; None if there is none."""
    try:
        with (source / CHECKSUMS).open("rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _copied(source: Path, destination: Path) -> Iterator[int]:
    """Copies a file; yields the sizes of its parts. `new_directory` makes all of them durable."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, destination.open("xb") as written:
        while data := read.read(_READ_BYTES):
            written.write(data)
            yield len(data)
