"""A dataset that is edited: its episodes, shard by shard, and its description."""

import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.layers.annotation import Annotation
from rlds_kit.layers.layer import AnnotatedEntry
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.storage import digest
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.manifest import require_all
from rlds_kit.storage.open_files import OpenFiles
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.finding import require_dataset, uuid_of


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """A shard of a source.

    Attributes:
      path: the file.
      header: its first record.
      amendments: specs of fields that were not declared.
      files: opens it.
      layers: of the dataset.
    """

    path: Path
    header: pb.ShardHeader
    amendments: tuple[pb.Spec, ...]
    files: OpenFiles
    layers: OpenLayers

    def file(self) -> ShardFile:
        """The open file."""
        return self.files.get(self.path.parent, self.path.name)[0]


@dataclass(frozen=True, slots=True, eq=False)
class SourceEpisode:
    """An episode of a source: its shard, and its index entry."""

    shard: Shard
    entry: EpisodeEntry

    @property
    def id(self) -> uuid.UUID:
        """Identifies the episode."""
        return uuid.UUID(bytes=self.entry.episode_id)

    def annotations(self) -> Iterator[Annotation]:
        """The annotations of the episode in all layers.

        Raises:
          FormatError: the episode has changed since it was annotated.
        """
        layers = self.shard.layers
        return (each for name in layers.names() for each in layers.get(name).annotations(AnnotatedEntry(self.entry)))


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A dataset as it was when the edit began.

    Attributes:
      path: the directory.
      episodes: those that have ended, and those whose writer no longer runs.
      left_out: those that are being recorded.
      description: the content of dataset.json.
      size: of the shards, in bytes.
    """

    path: Path
    episodes: tuple[SourceEpisode, ...]
    left_out: tuple[uuid.UUID | None, ...]
    description: dict[str, Any]  # JSON
    size: int

    @property
    def name(self) -> str:
        """The dataset's own name, or else that of its directory."""
        return str(self.description.get("name") or self.path.name)

    @property
    def digest(self) -> bytes:
        """Computes the digest of the dataset, as `rlds_kit.Dataset.content_digest` does."""
        return digest.combine(episode.entry.content_digest for episode in self.episodes)


def read_source(directory: str | os.PathLike[str]) -> Source:
    """Finds the episodes of a dataset.

    Raises:
      NotADatasetError: there is none.
      DamagedError: a shard or a layer is damaged, or a closed file is missing.
      FormatError: a shard is not one of ours, or of a newer major version.
    """
    path = require_dataset(directory).absolute()
    require_all(path)
    files, layers = OpenFiles(), OpenLayers(path)
    for name in layers.names():
        layers.get(name).require_whole()
    shards = directories.shards_in(path)
    found = [_episodes(shard, files, layers) for shard in shards]
    return Source(
        path=path,
        episodes=tuple(episode for episodes, _ in found for episode in episodes),
        left_out=tuple(each for _, left_out in found for each in left_out),
        description=directories.description(path),
        size=sum(shard.stat().st_size for shard in shards),
    )


def undamaged(file: ShardFile) -> ShardContents:
    """Reads the content of a shard.

    Raises:
      DamagedError: some of it is damaged.
    """
    found = contents(file)
    if found.skipped or (found.header is None and found.episodes):
        raise DamagedError(f"{file.path}: the shard is damaged; run `rlds-kit repair` first, then use its copy")
    return found


def _episodes(path: Path, files: OpenFiles, layers: OpenLayers) -> tuple[list[SourceEpisode], list[uuid.UUID | None]]:
    found = undamaged(files.get(path.parent, path.name)[0])
    if found.header is None:
        return [], []  # its writer died before the first record
    shard = Shard(path, found.header, found.amendments, files, layers)
    ended = [entry for entry in found.episodes if entry.end or not found.is_locked]
    going = [entry for entry in found.episodes if not entry.end and found.is_locked]
    return [SourceEpisode(shard, entry) for entry in ended], [uuid_of(entry.episode_id) for entry in going]


def shard_headers(sources: Sequence[Source]) -> Iterator[tuple[Source, pb.ShardHeader]]:
    """The header of each shard that has episodes, with its dataset."""
    for source in sources:
        for shard in dict.fromkeys(episode.shard for episode in source.episodes):
            yield source, shard.header
