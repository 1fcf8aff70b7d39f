"""One finding about a dataset, shared by `verify`, `repair` and `rechunk`."""

import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlds_kit.remote.path import as_path
from rlds_kit.storage import directory as directories

_UUID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, or a note.

    Attributes:
      rule: its kind, a short permanent name.
      message: for people.
      shard: name of the file; empty when it concerns the dataset.
      begin: first affected byte of the file; None if it concerns no particular bytes.
      end: one past the last.
      episode: None if it concerns no particular episode.
      step: the first affected one, counted from the episode's start.

    >>> print(Finding("column-damaged", "action does not match its checksum", "a.riegeli", 64, 512, step=3))
    a.riegeli, bytes 64 to 512, step 3: column-damaged: action does not match its checksum
    """

    rule: str
    message: str
    shard: str = ""
    begin: int | None = None
    end: int | None = None
    episode: uuid.UUID | None = None
    step: int | None = None

    @property
    def place(self) -> str:
        """The place, as far as it is known."""
        parts = (
            self.shard,
            f"bytes {self.begin} to {self.end}" if self.begin is not None else "",
            f"episode {self.episode}" if self.episode is not None else "",
            f"step {self.step}" if self.step is not None else "",
        )
        return ", ".join(part for part in parts if part)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.rule, self.message) if part)


def require_dataset(directory: str | os.PathLike[str]) -> Path:
    """The path of a dataset.

    Raises:
      NotADatasetError: there is none.
    """
    path = as_path(directory)
    directories.require_dataset(path)
    return path


def uuid_of(episode_id: bytes) -> uuid.UUID | None:
    """An episode's id in the usual text form of a UUID; None if it is no UUID."""
    return uuid.UUID(bytes=episode_id) if len(episode_id) == _UUID_BYTES else None
