"""Writes one shard: records in order, and on close the index and the footer of ArrayRecord."""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.append_file import AppendFile
from rlds_kit.riegeli import array_record, chunk, simple, varint
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.writer import RecordWriter
from rlds_kit.storage import block
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.manifest import ClosedFile, digest_of

MAX_CHUNKS: Final = 1 << 18
"""Maximum chunks of a shard: its index and footer are in memory until it is closed, and when it is opened. Three
episodes of one block each have nine chunks."""
_EPISODES, _INDEX, _BYTES = pb.ShardIndex.EPISODES_FIELD_NUMBER, pb.Record.INDEX_FIELD_NUMBER, 2


class ShardWriter:
    """Writes one shard from its header to its footer. Not thread-safe.

    Attributes:
      path: the file.
      open_episodes: number of episodes that have not ended.
      rows: number of written rows of all episodes.
    """

    def __init__(self, path: Path, header: pb.ShardHeader) -> None:
        self.path = path
        self.open_episodes: set[bytes] = set()
        self.rows = 0
        self._header = header
        self._open: dict[bytes, tuple[int, pb.EpisodeIndex]] = {}
        # Serialized, in the order of starts: objects of protobuf would take a hundred times the memory.
        self._index: list[bytes] = []
        self._shown_episodes = self._shown_steps = 0
        self._amendments: dict[bytes, pb.Spec] = {}
        self._chunks, self._sizes = array("Q"), array("Q")
        self._file = AppendFile(path)
        signature = chunk.ChunkHeader.describe(b"", chunk_type=chunk.SIGNATURE)
        try:
            self._file.append(chunk.frame_chunk(0, signature, b""))
            self._write(pb.Record(version=block.MAJOR_VERSION, shard=header).SerializeToString())
        except BaseException:
            self._file.close()  # no caller has a reference yet, and it holds a lock
            raise

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._file.position

    @property
    def episodes(self) -> int:
        """Episodes started so far."""
        return len(self._index)

    def is_full(self, max_bytes: int) -> bool:
        """Whether the shard gets no new episodes: it has this size, or the maximum number of chunks."""
        return self.size >= max_bytes or len(self._chunks) >= MAX_CHUNKS

    def start(self, start: pb.EpisodeStart) -> None:
        """Writes the start of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, start=start).SerializeToString())
        entry = pb.EpisodeIndex(episode_id=start.episode_id, start=position)
        self._open[start.episode_id] = len(self._index), entry
        self._index.append(b"")
        self.open_episodes.add(start.episode_id)

    def amend(self, spec: pb.Spec) -> None:
        """Writes the spec of new fields, each only once: readers treat a repeated one as a copied chunk."""
        name = spec.SerializeToString(deterministic=True)
        if name in self._amendments:
            return
        self._amendments[name] = spec
        amendment = pb.SpecAmendment(spec=spec)
        self._write(pb.Record(version=block.MAJOR_VERSION, amendment=amendment).SerializeToString())

    def block(self, episode_id: bytes, rows: range, columns: Sequence[Column], choose: FilterChoice) -> int:
        """Writes the next rows of an open episode; returns the number of bytes."""
        record = block.encode(episode_id, rows, columns, choose)
        self.encoded_block(episode_id, rows, record)
        return len(record)

    def encoded_block(self, episode_id: bytes, rows: range, record: bytes) -> None:
        """Writes an encoded block."""
        position = self._write(record)
        _, entry = self._open[episode_id]
        entry.block.append(position)  # absolute positions until the index is written
        entry.first_row.append(rows.start)
        entry.end_row.append(rows.stop)
        entry.rows = rows.stop
        self.rows += rows.stop - rows.start  # len() is limited to the size of an index, rows in a file are not

    def end(self, end: pb.EpisodeEnd) -> None:
        """Writes the end of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, end=end).SerializeToString())
        number, entry = self._open.pop(end.episode_id)
        entry.end, entry.rows, entry.ending = position, end.rows, end.ending
        entry.content_digest = end.content_digest
        self.open_episodes.discard(end.episode_id)
        self._finish(number, entry)

    def sync(self) -> None:
        """Returns when all written data are durable.

        Raises:
          FileGoneError: the file is no longer at its path.
          OSError: the disk is full, or gone.
        """
        self._file.sync()

    @property
    def is_gone(self) -> bool:
        """Whether the path no longer leads to this file."""
        return self._file.is_gone

    def require_there(self) -> None:
        """Checks that the path still leads to this file. Errors as in `sync`."""
        self._file.require_there()

    def close(self) -> ClosedFile:
        """Writes index and footer, syncs them, and closes the file in any case; returns its entry for the manifest."""
        try:
            digest = digest_of(self._write_index())
            self._write_footer()
            self._file.sync()
        finally:
            self._file.close()
        return ClosedFile(self.path.name, self.size, digest, self._shown_episodes, self._shown_steps)

    def abandon(self) -> None:
        """Closes the file without index and footer, as if the process had been killed."""
        self._file.close()

    def _write(self, record: bytes) -> int:
        position = self._file.position
        data = simple.encode([record], Codec.NONE, bytes)
        header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=len(record))
        self._file.append(chunk.frame_chunk(position, header, data))
        self._chunks.append(position)
        self._sizes.append(len(record))
        return position

    def _finish(self, number: int, entry: pb.EpisodeIndex) -> None:
        """Adds an episode that gets no more blocks to the index."""
        positions = list(entry.block)
        entry.block[:] = [position - before for position, before in zip(positions, [0, *positions], strict=False)]
        self._index[number] = entry.SerializeToString()
        if entry.rows and entry.ending != pb.DISCARDED:
            self._shown_episodes += 1
            self._shown_steps += entry.rows

    def _write_index(self) -> bytes:
        for number, entry in self._open.values():
            self._finish(number, entry)
        self._open.clear()
        # Serialized parts of a message can be concatenated: the result is the same as for one object.
        shard = pb.ShardIndex(shard_id=self._header.shard_id, data_end=self._file.position).SerializeToString()
        rest = pb.ShardIndex(header=self._header, amendments=self._amendments.values()).SerializeToString()
        index = b"".join([shard, *(_field(_EPISODES, entry) for entry in self._index), rest])
        record = pb.Record(version=block.MAJOR_VERSION).SerializeToString() + _field(_INDEX, index)
        self._write(record)
        return record

    def _write_footer(self) -> None:
        position = self._file.position
        sink = _Collected()
        with RecordWriter(sink, "uncompressed", position=position) as writer:
            chunks = [(position, size, 1) for position, size in zip(self._chunks, self._sizes, strict=True)]
            array_record.write_footer(writer, chunks, "group_size:1,uncompressed")
        self._file.append(b"".join(sink.pieces))


class _Collected:
    """A file in memory, so that the footer is one write and never partial."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Does nothing."""


def _field(number: int, data: bytes) -> bytes:
    """Encodes a field of a protobuf message that contains a message, or bytes."""
    return varint.encode(number << 3 | _BYTES) + varint.encode(len(data)) + data
