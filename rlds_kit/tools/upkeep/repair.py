"""Makes a valid copy of a damaged dataset, and lists exactly which data were lost."""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage import directory as directories
from rlds_kit.storage import manifest
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.storage.sightings import SightedEpisode
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.upkeep import salvage
from rlds_kit.tools.upkeep.closing import note_closed
from rlds_kit.tools.upkeep.description_copy import copy_description
from rlds_kit.tools.upkeep.finding import require_dataset, uuid_of
from rlds_kit.tools.upkeep.repair_episode import EpisodeCopy, Loss
from rlds_kit.tools.upkeep.repair_layers import repair_layers
from rlds_kit.tools.upkeep.salvage import Plan
from rlds_kit.tools.upkeep.survey import Survey, survey


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """The result of `repair`.

    Attributes:
      source: path of the original.
      destination: path of the copy.
      losses: data that the copy lacks; empty if everything could be saved.
      left_out: episodes that are being recorded; they are not in the copy, but not lost.
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
    """The state of a repair."""

    destination: Path
    losses: list[Loss] = field(default_factory=list)
    left_out: list[uuid.UUID | None] = field(default_factory=list)
    headers: dict[str, pb.ShardHeader] = field(default_factory=dict)
    copied: set[bytes] = field(default_factory=set)
    plans: dict[bytes, tuple[bytes, Plan]] = field(default_factory=dict)
    steps: int = 0
    choose: FilterChoice = field(default_factory=FilterChoice)


def repair(
    source: str | os.PathLike[str], destination: str | os.PathLike[str], progress: Progress | None = None
) -> RepairReport:
    """Copies all intact data of a dataset; the original is not changed.

    Intact blocks are copied unchanged. Every step of the copy equals that of the original, or lacks fields that were
    damaged. Where steps are lost, the others are renumbered and `step_index` has their numbers in the original;
    an episode whose last steps or end are lost is INCOMPLETE.

    If a digest does not match although all checksums do, the writer was faulty, and nothing is damaged. The digest is
    copied unchanged, because the right one is unknown.

    Args:
      source: of the dataset.
      destination: for the copy; must not exist, or be empty.
      progress: gets the bytes done.

    Raises:
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      OSError: a file cannot be read or written.

    >>> repair("data/pong", "data/pong-repaired").losses  # doctest: +SKIP
    ()
    """
    path = require_dataset(source)
    lost = manifest.losses(path, manifest.read_manifests(path))
    shards = directories.shards_in(path)
    sizes = [shard.stat().st_size for shard in shards]
    with new_directory(destination) as made:
        work, meter = _Work(made), Meter(progress, sum(sizes))
        work.losses += [Loss("file", each.message, each.path) for each in lost]
        for shard, size in zip(shards, sizes, strict=True):
            _repair_shard(work, path, ShardFile(shard), meter)
            meter.next_file(size)
        reason = copy_description(path, made, list(work.headers.values()))
        if reason is not None:
            work.losses.append(Loss("description", f"{reason}; a new one was made from the shards"))
        work.losses += repair_layers(path, made, work.plans)
        note_closed(made)
    losses, left_out = tuple(work.losses), tuple(work.left_out)
    return RepairReport(
        source=path,
        destination=Path(destination),
        losses=losses,
        left_out=left_out,
        shards=len(work.headers),
        episodes=len(work.copied),
        steps=work.steps,
    )


def _repair_shard(work: _Work, source: Path, file: ShardFile, meter: Meter) -> None:
    found = survey(file, meter)
    for finding in found.findings:
        if finding.rule == "record":  # intact, but unknown to this version: a newer one may read it
            message = f"left out, bytes {finding.begin} to {finding.end}: {finding.message}"
            work.losses.append(Loss("record", message, found.name))
    plans = {episode.episode_id: plan for episode, plan in _plans(work, found, file) if plan.rows}
    work.plans |= {key: (_digest(found.episodes[key]), plan) for key, plan in plans.items()}
    work.steps += sum(plan.rows for plan in plans.values())
    if not plans:
        return
    header = _header(work, source, found)
    work.headers[found.name] = header
    writer = ShardWriter(work.destination / found.name, header)
    try:
        # A lost record may be an amendment, and rows get new fields: so amendments are computed from the columns.
        declared = header.spec.dict.key
        copies = [EpisodeCopy(found, file, found.episodes[key], plan, declared) for key, plan in plans.items()]
        seen = SeenFields(header.spec) if found.damage or any(copy.is_changed for copy in copies) else None
        for amendment in found.amendments if seen is None else ():
            writer.amend(amendment)
        for copy in copies:
            copy.write(writer, seen, work.choose)
            work.losses += copy.losses()
    finally:
        writer.close()


def _digest(episode: SightedEpisode) -> bytes:
    return b"" if episode.end is None else episode.end.content_digest


def _plans(work: _Work, found: Survey, file: ShardFile) -> Iterator[tuple[SightedEpisode, Plan]]:
    """Plans which parts of each episode to copy; records episodes that are lost completely."""
    indexed = {} if found.index is None else {entry.episode_id: entry for entry in found.index.episodes}
    for episode_id in {**found.episodes, **indexed}:
        episode = found.episodes.get(episode_id, SightedEpisode(episode_id))
        entry = indexed.get(episode_id)
        if episode.is_discarded or (entry is not None and entry.ending == pb.DISCARDED):
            continue
        if found.is_locked and episode.end is None:
            work.left_out.append(uuid_of(episode_id))
            continue
        listed = episode.end or entry
        rows = 0 if listed is None else listed.rows
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
