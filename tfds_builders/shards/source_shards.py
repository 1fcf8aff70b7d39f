"""The shards of the source that a worker reads, opened by name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.storage.contents import ShardContents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.spec import EpisodeRef
from rlds_kit.tools.upkeep.source import undamaged

OPEN_SHARDS: Final = 64
"""The largest number of open shards: a shuffled order reads from many in turn."""


@dataclass(frozen=True, slots=True)
class SourceShard:
    """A shard of the source, and its episodes by id."""

    file: ShardFile
    header: pb.ShardHeader
    contents: ShardContents
    entries: dict[bytes, EpisodeEntry]


@dataclass(slots=True)
class SourceShards:
    """Opens shards of a dataset when they are first read, and caches the latest.

    Attributes:
      directory: of the dataset.
    """

    directory: Path
    _open: dict[str, SourceShard] = field(default_factory=dict)

    def shard(self, name: str) -> SourceShard:
        """A shard.

        Raises:
          DamagedError: it is damaged.
          FormatError: it is not a shard of rlds_kit.
          OSError: it cannot be read.
        """
        found = self._open.pop(name, None) or _opened(self.directory / name)
        self._open[name] = found
        if len(self._open) > OPEN_SHARDS:
            del self._open[next(iter(self._open))]
        return found

    def entry(self, ref: EpisodeRef) -> EpisodeEntry:
        """The index entry of an episode.

        Raises:
          BuildError: it is missing, or has changed since the build was planned.
        """
        shard = self.shard(ref.shard)
        entry = shard.entries.get(ref.id.bytes)
        if entry is None or (entry.rows, entry.content_digest) != (ref.steps, ref.content_digest):
            what = "is not there" if entry is None else f"has {entry.rows} steps, expected {ref.steps} of other content"
            raise BuildError(
                f"{shard.file.path}: episode {ref.id} {what}; the source has changed since the build was planned, so "
                "plan it again"
            )
        return entry


def _opened(path: Path) -> SourceShard:
    file = ShardFile(path)
    found = undamaged(file)
    if found.header is None:
        raise DamagedError(f"{path}: the shard has no header")
    return SourceShard(file, found.header, found, {entry.episode_id: entry for entry in found.episodes})
