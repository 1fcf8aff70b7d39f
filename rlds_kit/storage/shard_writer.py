"""Writes one shard: records as they come, and on close the index and the footer of ArrayRecord."""

from collections.abc import Sequence
from pathlib import Path

from rlds_kit.riegeli import array_record, chunk, simple
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.writer import RecordWriter
from rlds_kit.storage import block
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.append_file import AppendFile
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice


class ShardWriter:
    """One shard from its header to its footer. Not safe to share between threads.

    Attributes:
      path: the file.
      open_episodes: started and not ended.
    """

    def __init__(self, path: Path, header: pb.ShardHeader) -> None:
        self.path = path
        self.open_episodes: set[bytes] = set()
        self._header = header
        self._index: dict[bytes, pb.EpisodeIndex] = {}
        self._amendments: list[pb.Spec] = []
        self._chunks: list[tuple[int, int, int]] = []
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

    def start(self, start: pb.EpisodeStart) -> None:
        """Writes the start of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, start=start).SerializeToString())
        self._index[start.episode_id] = pb.EpisodeIndex(episode_id=start.episode_id, start=position)
        self.open_episodes.add(start.episode_id)

    def amend(self, spec: pb.Spec) -> None:
        """Writes what fields have appeared since."""
        self._amendments.append(spec)
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
        entry = self._index[episode_id]
        entry.block.append(position)  # absolute until the index is written
        entry.first_row.append(rows.start)
        entry.end_row.append(rows.stop)
        entry.rows = rows.stop

    def end(self, end: pb.EpisodeEnd) -> None:
        """Writes the end of an episode."""
        position = self._write(pb.Record(version=block.MAJOR_VERSION, end=end).SerializeToString())
        entry = self._index[end.episode_id]
        entry.end, entry.rows, entry.ending = position, end.rows, end.ending
        entry.content_digest = end.content_digest
        self.open_episodes.discard(end.episode_id)

    def sync(self) -> None:
        """Returns when everything written is durable."""
        self._file.sync()

    def close(self) -> None:
        """Writes index and footer, makes them durable, and closes the file whatever happens."""
        try:
            self._write_index()
            self._write_footer()
            self._file.sync()
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Closes the file as it is, as if the process had died."""
        self._file.close()

    def _write(self, record: bytes) -> int:
        position = self._file.position
        data = simple.encode([record], Codec.NONE, bytes)
        header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=len(record))
        self._file.append(chunk.frame_chunk(position, header, data))
        self._chunks.append((position, len(record), 1))
        return position

    def _write_index(self) -> None:
        index = pb.ShardIndex(
            shard_id=self._header.shard_id,
            data_end=self._file.position,
            episodes=[_with_differences(entry) for entry in self._index.values()],
            header=self._header,
            amendments=self._amendments,
        )
        self._write(pb.Record(version=block.MAJOR_VERSION, index=index).SerializeToString())

    def _write_footer(self) -> None:
        position = self._file.position
        sink = _Collected()
        with RecordWriter(sink, "uncompressed", position=position) as writer:
            array_record.write_footer(writer, self._chunks, "group_size:1,uncompressed")
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


def _with_differences(entry: pb.EpisodeIndex) -> pb.EpisodeIndex:
    relative = pb.EpisodeIndex()
    relative.CopyFrom(entry)
    positions = list(entry.block)
    relative.block[:] = [position - before for position, before in zip(positions, [0, *positions], strict=False)]
    return relative
