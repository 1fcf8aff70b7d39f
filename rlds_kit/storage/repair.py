"""Makes a good copy of a damaged dataset, and says exactly what was lost."""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from rlds_kit import spec as specs
from rlds_kit.errors import FormatError
from rlds_kit.spec.message import to_message
from rlds_kit.storage import block as blocks
from rlds_kit.storage import directory as directories
from rlds_kit.storage import repaired, salvage, value
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.column import FilterChoice
from rlds_kit.storage.copying import copy_description, new_directory
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.report import Meter, Progress, require_dataset, uuid_of
from rlds_kit.storage.salvage import Plan
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.storage.survey import Survey, SurveyedEpisode, survey

What: TypeAlias = Literal["episode", "steps", "field", "start", "end", "header", "description"]


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that the copy lacks.

    Attributes:
      what: "episode", "steps", "field", "start" (metadata, seed and options), "end", "header" (of the shard) or
        "description" (dataset.json).
      message: for people.
      shard: name of the file.
      episode: None when it concerns none in particular.
      first: the first step, as the original counts them; None when it concerns none in particular.
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


@dataclass(frozen=True, slots=True)
class Report:
    """What `repair` did.

    Attributes:
      source: of the original.
      destination: of the copy.
      losses: what the copy lacks; empty when everything could be saved.
      left_out: episodes that are being recorded; they are in no copy, and not lost.
      shards: files written.
      episodes: in the copy.
      steps: in the copy.
    """

    source: Path
    destination: Path
    losses: tuple[Loss, ...]
    left_out: tuple[uuid.UUID | None, ...]
    shards: int
    episodes: int
    steps: int


@dataclass(slots=True)
class _Work:
    """What is done so far."""

    destination: Path
    losses: list[Loss] = field(default_factory=list)
    left_out: list[uuid.UUID | None] = field(default_factory=list)
    headers: dict[str, pb.ShardHeader] = field(default_factory=dict)
    copied: set[bytes] = field(default_factory=set)
    steps: int = 0
    choose: FilterChoice = field(default_factory=FilterChoice)


def repair(
    source: str | os.PathLike[str], destination: str | os.PathLike[str], progress: Progress | None = None
) -> Report:
    """Copies everything of a dataset that is good; the original is not touched.

    Blocks that are intact are copied as they are. Every step of the copy equals the original's, or lacks fields that
    were damaged. Where steps are lost, the others are counted anew and `step_index` has their numbers in the original;
    an episode whose last steps or end are lost is INCOMPLETE.

    Args:
      source: of the dataset.
      destination: for the copy; must not exist, or be empty.
      progress: told of bytes.

    Raises:
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      OSError: a file cannot be read or written.

    >>> repair("data/pong", "data/pong-repaired").losses  # doctest: +SKIP
    ()
    """
    path = require_dataset(source)
    shards = directories.shards_in(path)
    sizes = [shard.stat().st_size for shard in shards]
    with new_directory(destination) as made:
        work, meter = _Work(made), Meter(progress, sum(sizes))
        for shard, size in zip(shards, sizes, strict=True):
            _repair_shard(work, path, ShardFile(shard), meter)
            meter.next_file(size)
        reason = copy_description(path, made, list(work.headers.values()))
        if reason is not None:
            work.losses.append(Loss("description", f"{reason}; a new one was made from the shards"))
    losses, left_out = tuple(work.losses), tuple(work.left_out)
    return Report(path, made, losses, left_out, len(work.headers), len(work.copied), work.steps)


def _repair_shard(work: _Work, source: Path, file: ShardFile, meter: Meter) -> None:
    found = survey(file, meter)
    plans = {episode.episode_id: plan for episode, plan in _plans(work, found, file) if plan.rows}
    if not plans:
        return
    header = _header(work, source, found)
    work.headers[found.name] = header
    writer = ShardWriter(work.destination / found.name, header)
    try:
        # Where something is lost an amendment may be, and rows get new fields: what there is says it anew.
        anew = SeenFields(header.spec) if found.damage or any(plan.is_changed for plan in plans.values()) else None
        for amendment in found.amendments if anew is None else ():
            writer.amend(amendment)
        for episode_id, plan in plans.items():
            _Copy(work, found, file, found.episodes[episode_id], plan).write(writer, anew)
    finally:
        writer.close()


def _plans(work: _Work, found: Survey, file: ShardFile) -> Iterator[tuple[SurveyedEpisode, Plan]]:
    """What to copy of which episode; notes what is lost as a whole."""
    indexed = {} if found.index is None else {entry.episode_id: entry for entry in found.index.episodes}
    for episode_id in {**found.episodes, **indexed}:
        episode = found.episodes.get(episode_id, SurveyedEpisode(episode_id))
        entry = indexed.get(episode_id, pb.EpisodeIndex())
        if episode.is_discarded or entry.ending == pb.DISCARDED:
            continue
        if found.is_locked and episode.end is None:
            work.left_out.append(uuid_of(episode_id))
            continue
        rows = episode.end.rows if episode.end is not None else entry.rows
        if episode_id in work.copied:
            message = "another shard has an episode of the same id, which was copied"
            work.losses.append(Loss("episode", message, found.name, uuid_of(episode_id)))
            continue
        plan = salvage.plan(file, episode, rows)
        if plan.rows:
            work.copied.add(episode_id)
        elif rows:
            message = f"all {rows} steps are lost"
            work.losses.append(Loss("episode", message, found.name, uuid_of(episode_id), 0, rows))
        yield episode, plan


def _header(work: _Work, source: Path, found: Survey) -> pb.ShardHeader:
    """The shard's header under a new id: from its index or a shard of the same writer if its own is lost."""
    header = pb.ShardHeader()
    header.CopyFrom(found.header or _lost_header(work, source, found))
    header.shard_id = uuid.uuid4().bytes
    return header


def _lost_header(work: _Work, source: Path, found: Survey) -> pb.ShardHeader:
    if found.index is not None:
        return found.index.header
    writer = found.name.rpartition("-")[0]
    for name, header in work.headers.items():
        if name.rpartition("-")[0] == writer:
            return header
    message = "spec, metadata and environment of the run are lost"
    work.losses.append(Loss("header", message, found.name))
    nothing = value.encode({})
    return pb.ShardHeader(spec=to_message(_described_spec(source)), metadata=nothing, environment=nothing)


def _described_spec(source: Path) -> specs.Spec:
    try:
        return specs.from_json(directories.description(source).get("spec", {}))
    except FormatError:
        return specs.Dict({})


class _Copy:
    """Copies one episode."""

    def __init__(self, work: _Work, found: Survey, file: ShardFile, episode: SurveyedEpisode, plan: Plan) -> None:
        self._work, self._found, self._file, self._episode, self._plan = work, found, file, episode, plan
        self._id = uuid_of(episode.episode_id)

    def write(self, writer: ShardWriter, anew: SeenFields | None) -> None:
        """Writes what the plan says. `anew` collects the fields of the shard where its own list may be incomplete."""
        episode, plan, end = self._episode, self._plan, self._episode.end
        tail_is_lost = end is not None and bool(plan.lost_steps) and plan.lost_steps[-1][1] == end.rows
        end_is_lost = tail_is_lost or (end is None and self._end_may_be_damaged())
        start = self._start(end if tail_is_lost else None, end_is_lost=end_is_lost)
        self._note_losses(end_is_lost=end_is_lost)
        writer.start(start)
        digest = EpisodeDigest()
        for piece in plan.pieces:
            record = salvage.record(
                self._file, piece, episode.episode_id, self._work.choose, add_step_index=plan.add_step_index
            )
            if anew is not None:
                columns = list(blocks.decode(record, self._file.place(piece.block.position))[1].values())
                digest.update(columns)
                amendment = anew.amendment(columns)
                if amendment is not None:
                    writer.amend(amendment)
            writer.encoded_block(episode.episode_id, piece.rows, record)
        if end is not None and not end_is_lost:
            writer.end(self._end(start, end, digest))
        self._work.steps += plan.rows

    def _start(self, lost_end: pb.EpisodeEnd | None, *, end_is_lost: bool) -> pb.EpisodeStart:
        start = pb.EpisodeStart()
        if self._episode.start is not None:
            start.CopyFrom(self._episode.start)
        else:
            empty, nothing = value.encode({}), value.encode(None)
            start.MergeFrom(pb.EpisodeStart(episode_id=self._episode.episode_id, metadata=empty, provenance=empty))
            start.MergeFrom(pb.EpisodeStart(seed=nothing, options=nothing))
        if lost_end is not None:  # no step is its last any more; what was said of the whole episode still holds
            start.metadata.CopyFrom(value.encode({**value.decode(start.metadata), **value.decode(lost_end.metadata)}))
        note = repaired.Repaired(
            (*repaired.marks(self._episode.start), *self._plan.undefined),
            tuple(self._plan.lost_steps),
            start=self._episode.start is None,
            end=end_is_lost,
        )
        if note != repaired.Repaired(repaired.marks(self._episode.start)):
            start.provenance.CopyFrom(repaired.mark(start.provenance, note))
        return start

    def _end(self, start: pb.EpisodeStart, end: pb.EpisodeEnd, digest: EpisodeDigest) -> pb.EpisodeEnd:
        if not self._plan.is_changed and self._episode.start is not None:
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
        latest = self._episode.blocks[-1].position
        return any(region.begin > latest for region in self._found.damage)

    def _note_losses(self, *, end_is_lost: bool) -> None:
        shard, losses = self._found.name, self._work.losses
        if self._episode.start is None:
            losses.append(Loss("start", "metadata, seed and options are lost", shard, self._id))
        for first, end in self._plan.lost_steps:
            losses.append(Loss("steps", f"lost: {_steps(first, end)}", shard, self._id, first, end))
        for path, first, end in self._plan.lost_fields:
            losses.append(Loss("field", f"lost: {path} of {_steps(first, end)}", shard, self._id, first, end, path))
        if end_is_lost:
            losses.append(Loss("end", self._end_message(), shard, self._id))

    def _end_message(self) -> str:
        if self._episode.end is None:
            return "how it ended may be lost, and metadata with it; it is INCOMPLETE now"
        ending = pb.Ending.Name(self._episode.end.ending)
        return f"its last steps are lost, so it no longer ends as {ending}; it is INCOMPLETE now"


def _steps(first: int, end: int) -> str:
    return f"step {first}" if end == first + 1 else f"steps {first} to {end - 1}"
