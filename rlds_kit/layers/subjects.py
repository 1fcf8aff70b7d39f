"""Finds the episodes that can be annotated: those of a dataset, also while they are being recorded."""

import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.layers.annotation import Kind
from rlds_kit.layers.draft import Draft
from rlds_kit.storage.contents import ShardContents
from rlds_kit.storage.leaf import field_of
from rlds_kit.storage.snapshot import listed, read_shards

REFRESH_SECONDS: Final = 1.0
"""Seconds for which data of an episode that is being recorded are cached."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An episode that can be annotated.

    Attributes:
      digest: of its content; empty while it has no end.
      rows: number of steps; while it is being recorded, of those that are on disk.
      is_open: whether it is being recorded.
    """

    digest: bytes
    rows: int
    is_open: bool


class Subjects:
    """Finds episodes of a dataset, and refreshes it for unknown ones."""

    def __init__(self, dataset: Path, shards: dict[str, ShardContents]) -> None:
        self._dataset = dataset
        self._last_read = time.monotonic()
        self._take(shards)

    def checked(self, draft: Draft) -> tuple[uuid.UUID, range | None, bytes]:
        """Validates a draft; returns its episode, its steps, and the episode's content digest.

        Raises:
          KeyError: there is no such episode.
          IndexError: it has no such step, or the step has no action to amend.
          FormatError: the data differ from those of the draft.
        """
        assert draft.episode is not None  # noqa: S101  not called for retractions
        subject = self._find(draft)
        if draft.digest and subject.digest and draft.digest != subject.digest:
            raise FormatError(
                f"episode {draft.episode} has the content digest {draft.digest.hex()} where it was read, and "
                f"{subject.digest.hex()} in {self._dataset}: the data differ; open the dataset anew"
            )
        return draft.episode, _steps(draft, subject), subject.digest

    def _find(self, draft: Draft) -> Subject:
        found = self._known.get(draft.episode)
        beyond = found is not None and found.is_open and draft.steps is not None and draft.steps.stop > found.rows
        if found is None or (beyond and time.monotonic() - self._last_read > REFRESH_SECONDS):
            self._last_read = time.monotonic()
            self._take(read_shards(self._dataset, self._shards))
            found = self._known.get(draft.episode)
        if found is None:
            raise KeyError(
                f"{self._dataset}: there is no episode {draft.episode}. If it is being recorded, `flush` the recorder "
                "first; `rlds-kit info` shows what there is"
            )
        return found

    def _take(self, shards: dict[str, ShardContents]) -> None:
        self._shards = shards
        self._known: dict[uuid.UUID | None, Subject] = {
            uuid.UUID(bytes=entry.episode_id): Subject(
                entry.content_digest, entry.rows, not entry.end and shards[name].is_locked
            )
            for name, entry in listed(shards, include_open=True)
        }


def _steps(draft: Draft, subject: Subject) -> range | None:
    """The steps of a draft.

    For an episode that is being recorded, steps that are not on disk yet are accepted: the player may know them.
    """
    is_acted = draft.kind is Kind.FIELD and field_of(draft.field) in ACTED_FIELDS
    rows = max(subject.rows - 1, 0) if is_acted else subject.rows
    if draft.steps is None and is_acted:
        if subject.is_open or not rows:
            what = "is being recorded" if subject.is_open else "has no action"
            raise IndexError(f"{draft.field}: expected which steps it is of; episode {draft.episode} {what}")
        return range(rows)
    if draft.steps is not None and draft.steps.stop > rows and not subject.is_open:
        what = f"; there is no action on the last one, so no {draft.field}" if is_acted else ""
        about = draft.field or draft.kind.value
        raise IndexError(
            f"{about}: expected some of the steps 0 to {rows - 1} of episode {draft.episode}, got "
            f"{draft.steps.start} to {draft.steps.stop - 1}{what}"
        )
    return draft.steps
