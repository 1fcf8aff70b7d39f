"""The report of an edit."""

import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an edit: what the new dataset contains, and what was left out.

    Attributes:
      destination: the new dataset.
      episodes: in it.
      steps: in it.
      bytes: of its shards.
      digest: its content digest, in hexadecimal.
      duplicates: episodes that several sources had, and that it has once.
      removed: episodes of the sources that it does not have.
      cut: episodes that are shorter in it and so have another id.
      left_out: episodes that are being recorded; they are not in it.
      annotations: of its layers, those that were retracted and retractions included.
      annotations_left_out: of its episodes, but of steps that it does not have, or of the return of episodes that it
        has parts of.
    """

    destination: Path
    episodes: int
    steps: int
    bytes: int
    digest: str
    duplicates: int = 0
    removed: int = 0
    cut: int = 0
    left_out: tuple[uuid.UUID | None, ...] = ()
    annotations: int = 0
    annotations_left_out: int = 0
