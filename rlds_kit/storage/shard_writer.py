"""Writes one shard: records in order, and on close the index and the footer of ArrayRecord."""

import contextlib
import itertools
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.append_file import AppendFile
from rlds_kit.riegeli import array_record, chunk
from rlds_kit.riegeli.single import frame_records
from rlds_kit.riegeli.writer import RecordWriter
from rlds_kit.storage import block
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_encoder import NO_HASHES, Hashes
from rlds_kit.storage.episode_table import EpisodeTable
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.index_builder import IndexBuilder
from rlds_kit.storage.jobs import Parts
from rlds_kit.storage.manifest import ClosedFile, digest_of
from rlds_kit.storage.part_records import PartRecords

MAX_CHUNKS: Final = 1 << 18
"""Maximum chunks of a shard: its index and footer are in memory until it is closed, and when it is opened. Three
episodes of one block each have nine chunks."""
MAX_PENDING_BYTES: Final = 1 << 20
"""Pending records are written when they have so many bytes."""


class _Chunks(NamedTuple):
    """Consecutive chunks.

    Attributes:
      data: their bytes.
      positions: where each begins in the file.
      rows: how many rows each has.
    """

    data: bytes
    positions: Sequence[int]
    rows: Sequence[int]

    def each(self) -> Iterator[tuple[bytes, int]]:
        """The bytes of each, and how many rows it has."""
        bounds = [position - self.positions[0] for position in self.positions]
        for begin, end, rows in zip(bounds, [*bounds[1:], len(self.data)], self.rows, strict=True):
            yield self.data[begin:end], rows


class ShardWriter:
    """Writes one shard from its header to its footer. Not thread-safe.

    Attributes:
      path: the file.
      rows: number of written rows of all episodes.
      is_gathering: whether records are pending until `write_pending`, `sync` or `close`, and then written at once.
    """

    def __init__(self, path: Path, header: pb.ShardHeader) -> None:
        self.path = path
        self.rows = 0
        self.is_gathering = False
        self._pending, self._pending_bytes = list[_Chunks](), 0
        self._header = header
        self._index = IndexBuilder()
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
        """The number of bytes so far, pending ones too."""
        return self._file.position + self._pending_bytes

    @property
    def has_open_episodes(self) -> bool:
        """Whether an episode has not ended."""
        return bool(self._index.open_episodes)

    @property
    def episodes(self) -> int:
        """The number of episodes started so far."""
        return len(self._index)

    @property
    def chunks(self) -> int:
        """The number of records so far."""
        return len(self._chunks)

    def is_full(self, max_bytes: int) -> bool:
        """Whether the shard gets no new episodes: it has this size, or the maximum number of chunks."""
        return self.size >= max_bytes or len(self._chunks) >= MAX_CHUNKS

    def start(self, start: pb.EpisodeStart) -> None:
        """Writes the start of an episode."""
        position = self._write(block.record_of(block.START, start))
        self._index.start(start, position)

    def amend(self, spec: pb.Spec) -> None:
        """Writes the spec of new fields, each only once: readers treat a repeated one as a copied chunk."""
        name = spec.SerializeToString(deterministic=True)
        if name in self._amendments:
            return
        self._amendments[name] = spec
        amendment = pb.SpecAmendment(spec=spec)
        self._write(pb.Record(version=block.MAJOR_VERSION, amendment=amendment).SerializeToString())

    def block(
        self,
        episode_id: bytes,
        rows: range,
        columns: Sequence[Column],
        choose: FilterChoice,
        hashes: Hashes = NO_HASHES,
    ) -> int:
        """Writes the next rows of an open episode; returns the number of bytes. Arguments as for `block.encode`."""
        record = block.encode(episode_id, rows, columns, choose, hashes)
        self.encoded_block(episode_id, rows, record)
        return len(record)

    def encoded_block(self, episode_id: bytes, rows: range, record: bytes) -> None:
        """Writes an encoded block."""
        # len() is limited to the size of an index, rows in a file are not
        position = self._write(record, rows.stop - rows.start)
        self._index.block(episode_id, rows, position)

    def end(self, end: pb.EpisodeEnd) -> None:
        """Writes the end of an episode."""
        position = self._write(block.record_of(block.END, end))
        self._index.end(end, position)

    def parts(self, parts: Parts, made: PartRecords) -> None:
        """Writes parts of episodes."""
        rows = list[int]()
        for first_row, end_row, start, end in zip(
            parts.first_rows, parts.end_rows, parts.starts, parts.ends, strict=True
        ):
            rows += [0] * bool(start) + [end_row - first_row] * (first_row < end_row) + [0] * bool(end)
        self._index.parts(parts, made, self._write_all(made.records, rows))

    def write_pending(self) -> None:
        """Writes the pending records. If not all can be written, as many as possible are.

        Raises:
          OSError: the disk is full, or gone.
        """
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if not pending:
            return
        try:
            self._file.append(pending[0].data if len(pending) == 1 else b"".join([each.data for each in pending]))
        except OSError:
            self._write_each(pending)
            raise
        self.rows += sum(sum(each.rows) for each in pending)

    def _write_each(self, pending: Sequence[_Chunks]) -> None:
        """Writes what fits of chunks that do not fit together."""
        single = [chunk for each in pending for chunk in each.each()]
        with contextlib.suppress(OSError):
            for data, rows in single if len(single) > 1 else ():
                self._file.append(data)
                self.rows += rows

    def sync(self) -> None:
        """Returns when all data are durable, pending ones too.

        Raises:
          FileGoneError: the file is no longer at its path.
          OSError: the disk is full, or gone.
        """
        self.write_pending()
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
            table = self._index.build()
            digest = digest_of(self._write_index(table))
            self._write_footer()
            self.sync()
        finally:
            self._file.close()
        listed = table.listed()
        return ClosedFile(self.path.name, self.size, digest, len(listed), int(listed.rows.sum()))

    def abandon(self) -> None:
        """Closes the file without index and footer, as if the process had been killed."""
        self._file.close()

    def _write(self, record: bytes, rows: int = 0) -> int:
        """Writes a record; returns its position."""
        position = self.size
        data, _ = frame_records(position, [record])
        self._add(_Chunks(data, (position,), (rows,)))
        self._chunks.append(position)
        self._sizes.append(len(record))
        return position

    def _write_all(self, records: list[bytes], rows: list[int]) -> "array[int]":
        """Writes records; returns their positions."""
        found = array("Q")
        for part in _parts(records, MAX_PENDING_BYTES):
            data, places = frame_records(self.size, records[part])
            positions = array("Q", places)
            self._add(_Chunks(data, positions, rows[part]))
            found += positions
        self._chunks += found
        self._sizes.extend(map(len, records))
        return found

    def _add(self, chunks: _Chunks) -> None:
        self._pending.append(chunks)
        self._pending_bytes += len(chunks.data)
        if not self.is_gathering or self._pending_bytes >= MAX_PENDING_BYTES:
            self.write_pending()

    def _write_index(self, table: EpisodeTable) -> bytes:
        index = pb.ShardIndex(
            shard_id=self._header.shard_id,
            header=self._header,
            amendments=self._amendments.values(),
            table=table.to_message(self.size),
            episode_metadata=self._index.metadata(),
        )
        record = pb.Record(version=block.MAJOR_VERSION, index=index).SerializeToString()
        self._write(record)
        return record

    def _write_footer(self) -> None:
        self.write_pending()
        position = self._file.position
        sink = _Collected()
        with RecordWriter(sink, "uncompressed", position=position) as writer:
            # No list: so many tuples at once make Python's garbage collector look at all objects of the process.
            chunks = zip(self._chunks, self._sizes, itertools.repeat(1), strict=False)
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


def _parts(records: Sequence[bytes], most: int) -> Iterator[slice]:
    """Parts of consecutive records with at most so many bytes; a larger record is a part of its own.

    >>> [*_parts([b"abc", b"d", b"efghi", b"j"], 4)]
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends, begin = [*itertools.accumulate(map(len, records), initial=0)], 0
    while begin < len(records):
        stop = max(begin + 1, bisect_right(ends, ends[begin] + most) - 1)
        yield slice(begin, stop)
        begin = stop
