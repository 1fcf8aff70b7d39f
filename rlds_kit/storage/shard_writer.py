"""Writes one shard: records as they come, and on close the index and the footer of ArrayRecord."""

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
"""A shard with so many takes no new episode: its index and footer are in memory until it is closed, and when it is
opened. Three episodes of one block each take nine."""
_EPISODES, _INDEX, _BYTES = pb.ShardIndex.EPISODES_FIELD_NUMBER, pb.Record.INDEX_FIELD_NUMBER, 2


class ShardWriter:
    """One shard from its header to its footer. Not safe to share between threads.

    Attributes:
      path: the file.
      open_episodes: started and not ended.
      rows: written so far, of all episodes.
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
            self._file.close()  # nobody else knows of it yet, and it holds a lock
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
        """Whether the shard takes no new episode: it has so many bytes, or as many chunks as a shard may have."""
        return self.size >= max_bytes or len(self._chunks) >= MAX_CHUNKS

    def start(self, start: pb.EpisodeStart) -> None:
        """Writes the start of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, start=start).SerializeToString())
        entry = pb.EpisodeIndex(episode_id=start.episode_id, start=position)
        self._open[start.episode_id] = len(self._index), entry
        self._index.append(b"")
        self.open_episodes.add(start.episode_id)

    def amend(self, spec: pb.Spec) -> None:
        """Writes what fields have appeared since, once: readers take a second one for a chunk that was copied there."""
        name = spec.SerializeToString(deterministic=True)
        if name in self._amendments:
            return
        self._amendments[name] = spec
        amendment = pb.SpecAmendment(spec=spec)
        self._write(pb.Record(version=block.MAJOR_VERSION, amendment=amendment).SerializeToString())

    def block(self, episode_id: bytes, rows: range, columns: Sequence[Column], choose: FilterChoice) -> int:
        """Writes the next rows of an open episode; says in how many bytes."""
        record = block.encode(episode_id, rows, columns, choose)
        self.encoded_block(episode_id, rows, record)
        return len(record)

    def encoded_block(self, episode_id: bytes, rows: range, record: bytes) -> None:
        """Writes the record of a block as it is."""
        position = self._write(record)
        _, entry = self._open[episode_id]
        entry.block.append(position)  # absolute until the index is written
        entry.first_row.append(rows.start)
        entry.end_row.append(rows.stop)
        entry.rows = rows.stop
        self.rows += rows.stop - rows.start  # len() has a limit that numbers of a file do not have

    def end(self, end: pb.EpisodeEnd) -> None:
        """Writes the end of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, end=end).SerializeToString())
        number, entry = self._open.pop(end.episode_id)
        entry.end, entry.rows, entry.ending = position, end.rows, end.ending
        entry.content_digest = end.content_digest
        self.open_episodes.discard(end.episode_id)
        self._finish(number, entry)

    def sync(self) -> None:
        """Returns when everything written is durable.

        Raises:
          FileGoneError: the file is no longer at its path.
          OSError: the disk is full, or gone.
        """
        self._file.sync()

    @property
    def is_gone(self) -> bool:
        """Whether nobody will find what was written."""
        return self._file.is_gone

    def require_there(self) -> None:
        """Makes sure that what was durable still can be found. Errors are those of `sync`."""
        self._file.require_there()

    def close(self) -> ClosedFile:
        """Writes index and footer, makes them durable, and closes the file whatever happens; says what was closed."""
        try:
            digest = digest_of(self._write_index())
            self._write_footer()
            self._file.sync()
        finally:
            self._file.close()
        return ClosedFile(self.path.name, self.size, digest, self._shown_episodes, self._shown_steps)

    def abandon(self) -> None:
        """Closes the file as it is, as if the process had died."""
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
        """Takes what the index says of an episode that gets no more blocks."""
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
        # The parts of a message may be joined: this is what protobuf would write of one object.
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
    """A file in memory, so that the footer is one write and there is no half of it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""


def _field(number: int, data: bytes) -> bytes:
    """A field of a message of protobuf that holds a message, or bytes."""
    return varint.encode(number << 3 | _BYTES) + varint.encode(len(data)) + data
