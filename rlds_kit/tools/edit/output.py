"""The shards of a new dataset: episodes are copied into them as they lie, and compared afterwards."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.progress import Meter
from rlds_kit.layers.carry import Moved, Piece
from rlds_kit.storage import block
from rlds_kit.storage import digest as digests
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import contents
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.recorder import MAX_SHARD_BYTES
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.episode_blocks import headers_of
from rlds_kit.tools.upkeep.source import Shard, SourceEpisode

_OF_A_RUN: Final = ("spec", "metadata", "environment")


class Output:
    """Writes shards, one after the other, each with the episodes of runs that say the same of themselves.

    Args:
      directory: for the shards.
      meter: told of the bytes that were copied, and again of those that were compared.

    Attributes:
      meter: as given.
      steps: written so far.
      cut: episodes that were written with other content than their sources'.
      digests: the content digest of each episode; empty for an INCOMPLETE one.
      moved: by the id of each episode of a source, what became of it.
    """

    def __init__(self, directory: Path, meter: Meter) -> None:
        self.steps = self.cut = 0
        self.digests: list[bytes] = []
        self.moved: dict[bytes, Moved] = {}
        self.meter = meter
        self._directory = directory
        self._names = directories.shard_paths(directory)
        self._writer: ShardWriter | None = None
        self._latest: Shard | None = None
        self._header = pb.ShardHeader()
        self._copied: dict[bytes, bytes] = {}
        self._changed: dict[bytes, bytes] = {}

    def shard_for(self, source: Shard) -> ShardWriter:
        """A shard that has room and knows every field that the episodes of `source` may have."""
        has_room = self._writer is not None and not self._writer.is_full(MAX_SHARD_BYTES)
        if self._writer is not None and has_room and source is self._latest:
            return self._writer
        self._latest = source
        differs = any(getattr(self._header, name) != getattr(source.header, name) for name in _OF_A_RUN)
        if self._writer is None or not has_room or differs:
            self.close()
            self._header = pb.ShardHeader()
            self._header.CopyFrom(source.header)
            self._header.shard_id = uuid.uuid4().bytes
            self._writer = ShardWriter(next(self._names), self._header)
        for amendment in source.amendments:
            self._writer.amend(amendment)
        return self._writer

    def copy(self, episode: SourceEpisode) -> None:
        """Writes an episode as it is: no column is decoded.

        Raises:
          DamagedError: the episode is damaged, or steps of it are missing.
        """
        file, entry = episode.shard.file(), episode.entry
        writer, start, end = self.shard_for(episode.shard), start_of(file, entry), end_of(file, entry)
        records = xxhash.xxh3_128()
        writer.start(start)
        for position, _, header in headers_of(file, entry):
            record = file.record(position)
            writer.encoded_block(entry.episode_id, range(header.first_row, header.end_row), record)
            records.update(record)
            self.meter.next_file(len(record))
        if end is not None:
            writer.end(end)
        self._copied[entry.episode_id] = _with_ends(records, start, end)
        self.moved[entry.episode_id] = Moved(entry.content_digest, entry.episode_id, entry.content_digest)
        self._note(entry.rows, entry.content_digest)

    def changed(self, source: SourceEpisode, episode_id: bytes, piece: Piece, digest: bytes, *, has_end: bool) -> None:
        """Notes an episode that was written with other content than its source's, to be read back in full."""
        stored = digest if has_end else b""
        self.moved[source.entry.episode_id] = Moved(source.entry.content_digest, episode_id, stored, (piece,))
        self._changed[episode_id] = digest
        self.cut += 1
        self._note(piece.end - piece.begin, stored)

    def _note(self, rows: int, digest: bytes) -> None:
        self.steps += rows
        self.digests.append(digest)

    def close(self) -> None:
        """Closes the last shard."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is not None and self._writer is not None:
            self._writer.abandon()
        else:
            self.close()

    def digest(self) -> bytes:
        """The content digest of the dataset."""
        return digests.combine(self.digests)

    def verify(self) -> int:
        """Reads what was written and compares it with what was meant; returns its bytes.

        Of a copied episode every byte is compared with its source's, by XXH3-128. Of a changed one every value is
        decoded, for its content digest.

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
            found |= dict(self._read_back(file, shard.episodes))
        if found != expected:
            raise DamagedError(
                f"{self._directory}: the new dataset is not what was meant, so it was removed; report this, please"
            )
        return size

    def _read_back(self, file: ShardFile, entries: tuple[EpisodeEntry, ...]) -> Iterator[tuple[bytes, bytes]]:
        for entry in entries:
            if entry.episode_id in self._changed:
                yield entry.episode_id, self._content(file, entry)
            else:
                yield entry.episode_id, self._bytes(file, entry)

    def _content(self, file: ShardFile, entry: EpisodeEntry) -> bytes:
        digest = EpisodeDigest()
        for position, _, __ in headers_of(file, entry):
            record = file.record(position)
            digest.update(block.decode(record, file.place(position))[1].values())
            self.meter.next_file(len(record))
        return digest.digest(start_of(file, entry), end_of(file, entry))

    def _bytes(self, file: ShardFile, entry: EpisodeEntry) -> bytes:
        records = xxhash.xxh3_128()
        for position, _, __ in headers_of(file, entry):
            record = file.record(position)
            records.update(record)
            self.meter.next_file(len(record))
        return _with_ends(records, start_of(file, entry), end_of(file, entry))


def _with_ends(records: xxhash.xxh3_128, start: pb.EpisodeStart, end: pb.EpisodeEnd | None) -> bytes:
    records.update(start.SerializeToString(deterministic=True))
    if end is not None:
        records.update(end.SerializeToString(deterministic=True))
    return records.digest()
