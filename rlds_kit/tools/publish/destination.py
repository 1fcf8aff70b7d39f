"""The interface of destinations of published datasets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Protocol

from rlds_kit.base.progress import Meter
from rlds_kit.remote.checksums import CHECKSUMS
from rlds_kit.storage.directory import DESCRIPTION, SHARD_PATTERN
from rlds_kit.storage.manifest import PATTERN as MANIFESTS
from rlds_kit.tools.publish.errors import Problem

CARD: Final = "README.md"
CROISSANT: Final = "croissant.json"
PICTURES: Final = "card/*.png"
LAYERS: Final = "layers/*"
OURS: Final = (SHARD_PATTERN, MANIFESTS, LAYERS, PICTURES, DESCRIPTION, CARD, CROISSANT, CHECKSUMS)
"""Names that a published dataset has; nothing else at a destination is ever removed."""


@dataclass(frozen=True, slots=True)
class Item:
    """A file that is published.

    Attributes:
      path: relative to the destination, with slashes.
      source: its current path.
      size: in bytes.
      sha256: of its content, in hexadecimal.
    """

    path: str
    source: Path
    size: int
    sha256: str


@dataclass(slots=True)
class Sent:
    """The result of copying a dataset to a destination.

    Attributes:
      written: paths of files that were missing, or had another content.
      unchanged: paths of files that already existed with the same content.
      removed: paths of files that are no longer part of the dataset.
      bytes: of the files that were written.
      revision: of the repository after the copy; empty for destinations without revisions.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    bytes: int = 0
    revision: str = ""


class Destination(Protocol):
    """A destination for a dataset.

    Attributes:
      url: for people.
      address: the argument with which `rlds_kit.open` reads it from there; empty if it cannot.
    """

    url: str
    address: str

    def listing(self) -> Mapping[str, int]:
        """Path and size of every file; empty if there are none."""
        ...

    def write(self, items: Sequence[Item], obsolete: Sequence[str], meter: Meter) -> Sent:
        """Makes the destination contain exactly `items`, besides files of other origin.

        Files that exist already are not written again, so that an interrupted copy continues. At any time, a
        destination with `checksums.txt` is complete.

        Args:
          items: `checksums.txt` is the last of them.
          obsolete: what to remove.
          meter: counts the bytes.

        Raises:
          PublishError: it could not be written, or the stored files differ from those that were written.
        """
        ...


def is_ours(path: str) -> bool:
    """Whether a published dataset may have a file of this name.

    >>> is_ours("card/returns.png"), is_ours("notes.txt")
    (True, False)
    """
    return any(fnmatchcase(path, pattern) for pattern in OURS)


def obsolete(there: Iterable[str], items: Sequence[Item]) -> list[str]:
    """The files of a dataset at a destination that the dataset no longer has."""
    unchanged = {item.path for item in items}
    return sorted(path for path in there if is_ours(path) and path not in unchanged)


def occupied(url: str, there: Iterable[str], own: Sequence[str]) -> list[Problem]:
    """Whether the destination has another dataset, or a page of another author.

    The names of shards and manifests are unique. So if a destination has some files of this dataset and no unknown
    ones, this dataset was published there before, perhaps incompletely.
    """
    known = {path for path in there if is_ours(path)}
    foreign = sorted(path for path in known if fnmatchcase(path, SHARD_PATTERN) and path not in own)
    if foreign:
        what = f"{foreign[0]}{f' and {len(foreign) - 1:,} more shards' if len(foreign) > 1 else ''} of another dataset"
    elif known and not known & set(own):
        what = f"{', '.join(sorted(known)[:3])}, and no shard of this dataset"
    else:
        return []
    return [Problem("destination", f"{url} has {what}", "choose another, or replace what is there with --yes")]
