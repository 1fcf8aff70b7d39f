"""The shards that a worker reads from: the few it needs, opened by name."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.spec import EpisodeRef

OPEN_SHARDS: Final = 64
"""More are not open at once: a shuffled order may go back and forth between many."""


@dataclass(frozen=True, slots=True)
class SourceShard:
    """A shard of the source, and its episodes by id."""

    file: ShardFile
    header: pb.ShardHeader
    contents: ShardContents
    entries: dict[bytes, EpisodeEntry]


@dataclass(slots=True)
class Sources:
    """Opens shards of a dataset when they are asked for, and keeps the latest of them.

    Attributes:
      directory: of the dataset.
    """

    directory: Path
    _open: dict[str, SourceShard] = field(default_factory=dict)

    def shard(self, name: str) -> SourceShard:
        """A shard.

        Raises:
          BuildError: some of it is damaged.
          FormatError: it is no shard of ours.
          OSError: it cannot be read.
        """
        found = self._open.pop(name, None) or _opened(self.directory / name)
        self._open[name] = found
        if len(self._open) > OPEN_SHARDS:
            del self._open[next(iter(self._open))]
        return found

    def entry(self, ref: EpisodeRef) -> EpisodeEntry:
        """Where an episode lies in its shard.

        Raises:
          BuildError: it is not there, or not as it was when the build was planned.
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
    found = contents(file)
    if found.skipped or found.header is None:
        raise BuildError(f"{path}: the shard is damaged; run `rlds-kit repair` and build from its copy")
    return SourceShard(file, found.header, found, {entry.episode_id: entry for entry in found.episodes})
