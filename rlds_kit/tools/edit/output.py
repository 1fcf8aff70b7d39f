"""The shards of a new dataset: episodes are copied into them without decoding, and compared afterwards."""

from pathlib import Path

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.progress import Meter
from rlds_kit.layers.carry import Moved, Piece
from rlds_kit.storage import digest as digests
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.episode_blocks import content_digest
from rlds_kit.tools.upkeep.episode_copy import NewShards, copy_episode
from rlds_kit.tools.upkeep.source import Shard, SourceEpisode


class Output(NewShards):
    """Writes the shards of an edited dataset, and compares them with what they should contain.

    Args:
      directory: of the shards.
      meter: counts the bytes that were copied, and again those that were compared.

    Attributes:
      meter: as given.
      steps: written so far.
      cut: episodes that were written with other content than their sources'.
      digests: the content digest of each episode; empty for an INCOMPLETE one.
      moved: the copy of each episode of a source, by the id of the original.
    """

    def __init__(self, directory: Path, meter: Meter) -> None:
        super().__init__(directory)
        self.steps = self.cut = 0
        self.digests: list[bytes] = []
        self.moved: dict[bytes, Moved] = {}
        self.meter = meter
        self._directory = directory
        self._copied: dict[bytes, bytes] = {}
        self._changed: dict[bytes, bytes] = {}

    def shard_for(self, source: Shard) -> ShardWriter:
        """Returns the writer of a shard for an episode of a source's shard."""
        return self.writer(source.header, source.amendments)

    def copy(self, episode: SourceEpisode) -> None:
        """Copies an episode unchanged.

        Raises:
          DamagedError: the episode is damaged, or steps of it are missing.
        """
        entry, writer = episode.entry, self.shard_for(episode.shard)
        self._copied[entry.episode_id] = copy_episode(episode.shard.file(), entry, writer, self.meter)
        self.moved[entry.episode_id] = Moved(entry.content_digest, entry.episode_id, entry.content_digest)
        self._note(entry.rows, entry.content_digest)

    def changed(self, source: SourceEpisode, episode_id: bytes, piece: Piece, digest: bytes, *, has_end: bool) -> None:
        """Records that an episode was written with other content than its source's, so that `verify` decodes it."""
        stored = digest if has_end else b""
        self.moved[source.entry.episode_id] = Moved(source.entry.content_digest, episode_id, stored, (piece,))
        self._changed[episode_id] = digest
        self.cut += 1
        self._note(piece.end - piece.begin, stored)

    def _note(self, rows: int, digest: bytes) -> None:
        self.steps += rows
        self.digests.append(digest)

    def digest(self) -> bytes:
        """The content digest of the dataset."""
        return digests.combine(self.digests)

    def verify(self) -> int:
        """Reads the shards back and compares them with what was written; returns their bytes.

        Copied episodes are compared by the XXH3-128 of their bytes, changed ones by the digest of their values.

        Raises:
          DamagedError: they differ.
        """
        expected, found, size = self._copied | self._changed, dict[bytes, bytes](), 0
        for path in directories.shards_in(self._directory):
            file = ShardFile(path)
            size += file.size()
            shard = contents(file)
            if not shard.is_indexed:
                raise DamagedError(f"{path}: the shard that was just written has no index that can be trusted")
            found |= {entry.episode_id: self._read_back(file, entry) for entry in shard.episodes}
        if found != expected:
            raise DamagedError(
                f"{self._directory}: the new dataset is not what was meant, so it was removed; report this, please"
            )
        return size

    def _read_back(self, file: ShardFile, entry: EpisodeEntry) -> bytes:
        if entry.episode_id not in self._changed:
            return copy_episode(file, entry, None, self.meter)
        digest = content_digest(file, entry)
        self.meter.next_file(sum(len(file.record(position)) for position in entry.blocks.tolist()))
        return digest
