"""The common part of `merge`, `filter`, `split` and `delete`: copies whole episodes into a new dataset."""

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.layers.carry import carry
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.closing import note_closed
from rlds_kit.tools.upkeep.episode_blocks import content_digest
from rlds_kit.tools.upkeep.lineage import describe
from rlds_kit.tools.upkeep.source import Source, SourceEpisode


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an edit: what the new dataset contains, and what was left out.

    Attributes:
      destination: the new dataset.
      episodes: in it.
      steps: in it.
      bytes: of its shards.
      digest: its content digest, in hexadecimal.
      duplicates: episodes that several sources had; the new dataset has them once.
      removed: episodes of the sources that are not in it.
      cut: episodes that are shorter in it, and therefore have another id.
      left_out: episodes that are being recorded; they are not in it.
      annotations: of its layers, including retracted ones and retractions.
      annotations_left_out: of steps that were removed from its episodes, or of the returns of episodes that it has only
        in part.
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


def new_dataset(
    destination: str | os.PathLike[str],
    sources: Sequence[Source],
    episodes: Sequence[SourceEpisode],
    made: Mapping[str, Any],
    progress: Progress | None,
) -> Report:
    """Makes a dataset of whole episodes, atomically.

    Args:
      destination: must not exist, or be an empty directory.
      sources: of the episodes.
      episodes: in their order, each id once.
      made: the lineage.
      progress: gets the bytes done; they are read twice.

    Raises:
      DatasetExistsError: something is at `destination`.
      SpecError: the sources contradict each other.
      DamagedError: a source is damaged, or the copy differs from it.
      OSError: something cannot be read or written.
    """
    spec, meter = one_spec(sources), Meter(progress, 2 * sum(source.size for source in sources))
    with new_directory(destination) as directory:
        output = Output(directory, meter)
        with output:
            for episode in episodes:
                output.copy(episode)
        report = finished(directory, output, sources, spec, made)
    return replace(report, destination=Path(destination))


def finished(
    directory: Path, output: Output, sources: Sequence[Source], spec: specs.Dict, made: Mapping[str, Any]
) -> Report:
    """Compares the written data with the intended content, copies layers, and writes dataset.json.

    Raises:
      DamagedError: they differ.
      FormatError: an episode has changed since it was annotated.
      OSError: something cannot be read or written.
    """
    size = output.verify()
    carried = carry([source.path for source in sources], directory, output.moved)
    describe(directory, sources, spec, made)
    note_closed(directory)
    return Report(
        destination=directory,
        episodes=len(output.digests),
        steps=output.steps,
        bytes=size,
        digest=output.digest().hex(),
        left_out=tuple(each for source in sources for each in source.left_out),
        annotations=carried.annotations,
        annotations_left_out=carried.left_out,
    )


def unique(sources: Iterable[Source]) -> tuple[list[SourceEpisode], int]:
    """The episodes of all sources, each id once, in their order; and the number of duplicates.

    Raises:
      FormatError: two episodes of one id have different content.
      DamagedError: a duplicate episode without a stored digest is damaged.
    """
    found: dict[bytes, SourceEpisode] = {}
    duplicates = 0
    for episode in (episode for source in sources for episode in source.episodes):
        first = found.setdefault(episode.entry.episode_id, episode)
        if first is not episode:
            _require_same(first, episode)
            duplicates += 1
    return list(found.values()), duplicates


def _require_same(first: SourceEpisode, second: SourceEpisode) -> None:
    one, other = _content(first), _content(second)
    if one != other:
        raise FormatError(
            f"episode {first.id} is in {first.shard.path} and in {second.shard.path}, with the content digests "
            f"{one.hex()} and {other.hex()}; expected one id to mean one content: `rlds-kit delete` the wrong one first"
        )


def _content(episode: SourceEpisode) -> bytes:
    """The content digest; an INCOMPLETE episode has none stored, so it is read."""
    if episode.entry.content_digest:
        return episode.entry.content_digest
    return content_digest(episode.shard.file(), episode.entry)
