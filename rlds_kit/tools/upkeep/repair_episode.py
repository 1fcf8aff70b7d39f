"""Copies one episode according to a plan, and lists its losses."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.storage import block as blocks
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.storage.sightings import SightedEpisode
from rlds_kit.tools.upkeep import repaired, salvage
from rlds_kit.tools.upkeep.finding import uuid_of
from rlds_kit.tools.upkeep.repaired import Repaired, Span
from rlds_kit.tools.upkeep.salvage import Plan
from rlds_kit.tools.upkeep.survey import Survey

What: TypeAlias = Literal[
    "episode", "steps", "field", "start", "end", "header", "record", "description", "layer", "file"
]


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss: data that the copy lacks.

    Attributes:
      what: "episode", "steps", "field", "start" (metadata, seed and options), "end", "header" (of the shard), "record"
        (one that this version does not know), "description" (dataset.json), "layer" or "file" (a closed file is missing
        or has changed).
      message: for people.
      shard: name of the file.
      episode: None if it concerns no particular episode.
      first: the first step, as numbered in the original; None if it concerns no particular step.
      end: one past the last.
      path: of the field.
    """

    what: What
    message: str
    shard: str = ""
    episode: uuid.UUID | None = None
    first: int | None = None
    end: int | None = None
    path: str = ""

    def __str__(self) -> str:
        parts = (self.shard, f"episode {self.episode}" if self.episode else "", self.message)
        return ": ".join(part for part in parts if part)


class EpisodeCopy:
    """Copies one episode.

    Args:
      found: the content of its shard.
      file: the shard.
      episode: its records in the shard.
      plan: which parts to copy.
      declared: names of the fields that every step should have.
    """

    def __init__(
        self, found: Survey, file: ShardFile, episode: SightedEpisode, plan: Plan, declared: Iterable[str]
    ) -> None:
        self._found, self._file, self._episode, self._plan = found, file, episode, plan
        self._declared = tuple(declared)
        self._id = uuid_of(episode.episode_id)
        end = episode.end
        self._tail_is_lost = end is not None and bool(plan.lost_steps) and plan.lost_steps[-1][1] == end.rows
        self._end_is_lost = self._tail_is_lost or (end is None and self._end_may_be_damaged())

    @property
    def is_changed(self) -> bool:
        """Whether the content of the copy differs from the original, so that it needs a new digest."""
        end = self._episode.end
        rows_differ = end is not None and end.rows != self._plan.rows
        return self._plan.is_changed or self._episode.start is None or rows_differ

    def write(self, writer: ShardWriter, seen: SeenFields | None, choose: FilterChoice) -> None:
        """Writes the planned parts.

        Args:
          writer: of the copy.
          seen: collects the fields of the shard, whose own list may be incomplete; required if `is_changed`.
          choose: chooses the filters, and remembers earlier choices.
        """
        start, digest, episode_id = self._start(), EpisodeDigest(), self._episode.episode_id
        writer.start(start)
        for piece in self._plan.pieces:
            add = self._plan.add_step_index
            record = salvage.record(self._file, piece, episode_id, choose, add_step_index=add)
            if seen is not None:
                columns = list(blocks.decode(record, self._file.place(piece.block.position))[1].values())
                digest.update(columns)
                amendment = seen.amendment(columns)
                if amendment is not None:
                    writer.amend(amendment)
            writer.encoded_block(episode_id, piece.rows, record)
        if self._episode.end is not None and not self._end_is_lost:
            writer.end(self._end(start, self._episode.end, digest))

    def _start(self) -> pb.EpisodeStart:
        start = pb.EpisodeStart()
        if self._episode.start is not None:
            start.CopyFrom(self._episode.start)
        else:
            start.episode_id = self._episode.episode_id
            for message, content in ((start.metadata, {}), (start.seed, None), (start.options, None)):
                message.CopyFrom(value.encode(content))
        if self._tail_is_lost and self._episode.end is not None:
            # Its last step is lost, but the metadata of the whole episode is still right.
            both = {**value.decode(start.metadata), **value.decode(self._episode.end.metadata)}
            start.metadata.CopyFrom(value.encode(both))
        before = repaired.marks(self._episode.start)
        if self._episode.start is None:
            # It may contain the losses of an earlier repair.
            before = Repaired(tuple(Span(name, 0, self._latest_row()) for name in self._declared))
        note = Repaired(
            (*self._plan.moved(before.undefined), *self._plan.undefined),
            start=before.start or self._episode.start is None,
            end=before.end or self._end_is_lost,
        )
        if note != Repaired() or not start.provenance.WhichOneof("kind"):
            start.provenance.CopyFrom(repaired.mark(start.provenance, note))
        return start

    def _latest_row(self) -> int:
        return max((block.header.end_row for block in self._episode.blocks), default=0)

    def _end(self, start: pb.EpisodeStart, end: pb.EpisodeEnd, digest: EpisodeDigest) -> pb.EpisodeEnd:
        if not self.is_changed:
            return end
        changed = pb.EpisodeEnd()
        changed.CopyFrom(end)
        changed.rows = self._plan.rows
        changed.content_digest = digest.digest(start, changed)
        return changed

    def _end_may_be_damaged(self) -> bool:
        index = self._found.index
        if index is not None:
            return any(entry.episode_id == self._episode.episode_id and entry.end for entry in index.episodes)
        latest = max((block.position for block in self._episode.blocks), default=0)
        return any(region.begin > latest for region in self._found.damage)

    def losses(self) -> Iterator[Loss]:
        """The data that the copy lacks."""
        shard = self._found.name
        if self._episode.start is None:
            yield Loss("start", "lost: metadata, seed and options", shard, self._id)
        for first, end in self._plan.lost_steps:
            yield Loss("steps", f"lost: {_steps(first, end)}", shard, self._id, first, end)
        for path, first, end in self._plan.lost_fields:
            yield Loss("field", f"lost: {path} of {_steps(first, end)}", shard, self._id, first, end, path)
        if self._end_is_lost:
            yield Loss("end", self._end_message(), shard, self._id)

    def _end_message(self) -> str:
        if self._episode.end is None:
            return "lost, or perhaps lost: how it ended, and metadata with it; it is INCOMPLETE now"
        ending = pb.Ending.Name(self._episode.end.ending)
        return f"its last steps are lost, so it no longer ends as {ending}; it is INCOMPLETE now"


def _steps(first: int, end: int) -> str:
    return f"step {first}" if end == first + 1 else f"steps {first} to {end - 1}"
