"""What a writer puts into a file, and when."""

import io
from pathlib import Path

import numpy as np
import pytest

from rlds_kit.riegeli import RecordReader, RecordWriter, RiegeliError, chunk_reader
from rlds_kit.riegeli.chunk_reader import Chunk
from rlds_kit.riegeli.codec import UNCOMPRESSED
from rlds_kit.riegeli.source import FileSource
from rlds_kit.riegeli.writer import padded_end


def chunks_of(file: io.BytesIO) -> list[Chunk]:
    """Return all chunks of a file, which must be whole."""
    source, position, chunks = FileSource(file), 0, []
    while chunk := chunk_reader.read_chunk(source, position):
        assert isinstance(chunk, Chunk)
        chunks.append(chunk)
        position = chunk.end
    return chunks


def shape_of(file: io.BytesIO) -> str:
    """Return type and number of records of each chunk, such as "s0 r3"."""
    return " ".join(f"{chr(chunk.header.chunk_type)}{chunk.header.num_records}" for chunk in chunks_of(file))


def test_a_file_without_records_is_its_signature() -> None:
    """Opening and closing writes 64 bytes."""
    file = io.BytesIO()
    RecordWriter(file).close()
    assert (len(file.getvalue()), shape_of(file)) == (64, "s0")


def test_positions_are_chunk_begin_plus_index() -> None:
    """Positions count up within a chunk and jump to the next chunk's begin."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:20") as writer:
        positions = [writer.write_record(record) for record in (b"1", b"2", b"3")]
    begins = [chunk.begin for chunk in chunks_of(file)]
    assert begins[:2] == [0, 64]
    assert positions == [64, 65, begins[2]]


@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ([92, 92], "s0 r1 r1"),  # a record of exactly the chunk's size
        ([91, 1], "s0 r1 r1"),  # no room for another record's overhead
        ([84, 0, 1], "s0 r2 r1"),  # exactly full by the overhead
        ([40, 40, 40], "s0 r2 r1"),
        ([1000, 1, 1], "s0 r1 r2"),  # larger than a chunk: alone, not split
        ([1, 1000, 1], "s0 r1 r1 r1"),
        ([0] * 13, "s0 r12 r1"),
    ],
    ids=str,
)
def test_chunks_close_where_cpp_closes_them(sizes: list[int], shape: str) -> None:
    """A chunk of 100 bytes gets records until the next would exceed it; each counts 8 bytes more than its size."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:100") as writer:
        for size in sizes:
            writer.write_record(bytes(size))
    assert shape_of(file) == shape


def test_close_chunk_and_flush_end_the_chunk() -> None:
    """Records before and after are in different chunks; ending an empty chunk writes nothing."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd") as writer:
        writer.write_record(b"1")
        writer.close_chunk()
        writer.close_chunk()
        writer.write_record(b"2")
        writer.flush()
        assert writer.position == len(file.getvalue())
        writer.write_record(b"3")
    assert shape_of(file) == "s0 r1 r1 r1"


def test_write_chunk_writes_one_chunk() -> None:
    """Records given together are one chunk at the position returned, whatever the chunk size and codec."""
    file = io.BytesIO()
    with RecordWriter(file, "brotli,chunk_size:1") as writer:
        first = writer.write_chunk([b"a", b"b"])
        second = writer.write_chunk([], UNCOMPRESSED)
    assert [(chunk.begin, chunk.data[0]) for chunk in chunks_of(file)[1:]] == [(first, ord("b")), (second, 0)]


@pytest.mark.parametrize("codec", ["uncompressed", "brotli:2", "zstd", "snappy"])
def test_transpose_is_honoured(codec: str) -> None:
    """With `transpose` chunks are transposed, and records come back."""
    file = io.BytesIO()
    with RecordWriter(file, f"transpose,{codec}") as writer:
        for record in (b"abc", b"", b"hello"):
            writer.write_record(record)
    assert shape_of(file) == "s0 t3"
    assert list(RecordReader(file)) == [b"abc", b"", b"hello"]


def test_any_buffer_is_a_record() -> None:
    """Arrays and memoryviews are written as their bytes at the time of the call; numbers and text are refused."""
    file = io.BytesIO()
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    with RecordWriter(file, "uncompressed") as writer:
        writer.write_record(array.data)
        writer.write_record(memoryview(bytes(array))[::2])
        array[:] = 9
        for wrong in (3, "text"):
            with pytest.raises(TypeError):
                writer.write_record(wrong)  # type: ignore[arg-type]  # the point of the test
    assert list(RecordReader(file)) == [bytes(range(6)), b"\0\2\4"]


def test_metadata_is_written_once_after_the_signature() -> None:
    """The metadata chunk is no record, and a reader finds it."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd", metadata=b"\x0a\x05hello") as writer:
        writer.write_record(b"record")
    assert shape_of(file) == "s0 m0 r1"
    reader = RecordReader(file)
    assert (reader.metadata, list(reader)) == (b"\x0a\x05hello", [b"record"])


@pytest.mark.parametrize(
    ("position", "multiple", "end"),
    [
        (64, 1, 64),
        (64, 0, 64),
        (64, 64, 64),
        (65, 64, 128),  # 63 bytes are left, enough for a header
        (100, 64, 192),  # 28 are not
        (64, 65536, 65536),
        (65530, 65536, 131072),
        (65500, 7, 65541 + 21),  # 65541 and 65548, 65555 lie in a block header
    ],
)
def test_padding_ends_at_a_multiple(position: int, multiple: int, end: int) -> None:
    """Padding reaches the first multiple that leaves room for a chunk and lies where a chunk may end."""
    assert padded_end(position, multiple) == end


@pytest.mark.parametrize("multiple", [100, 4096, 65536, 100_000])
def test_pad_writes_a_padding_chunk(multiple: int) -> None:
    """After `pad` the position is a multiple, and readers pass over the padding."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd") as writer:
        for record in (b"1", b"22", b"333"):
            writer.write_record(record)
            writer.pad(multiple)
            assert writer.position % multiple == 0
    assert shape_of(file) == "s0 r1 p0 r1 p0 r1 p0"
    assert list(RecordReader(file)) == [b"1", b"22", b"333"]


def test_final_padding_on_flush_and_close() -> None:
    """Option `padding` fills up to the block at each flush and at the end, but not at position 0."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd,padding") as writer:
        writer.write_record(b"1")
        writer.flush()
        assert len(file.getvalue()) == 65536
        writer.write_record(b"2")
    assert (len(file.getvalue()), shape_of(file)) == (131072, "s0 r1 p0 r1 p0")


def test_appending_to_a_path(tmp_path: Path) -> None:
    """Given a position, a writer truncates the file there and continues without another signature."""
    path = tmp_path / "file"
    with RecordWriter(path, "zstd") as writer:
        writer.write_record(b"1")
    end = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"half a chunk")
    with RecordWriter(path, "zstd", position=end) as writer:
        writer.write_record(b"2")
    with RecordReader(path) as reader:
        assert list(reader) == [b"1", b"2"]


@pytest.mark.parametrize("position", [65537, 65560])
def test_appending_where_no_chunk_may_begin(position: int) -> None:
    """From a position inside a block header, zeros are written up to the next block before the first chunk."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd", position=position) as writer:
        writer.write_record(b"record")
        writer.flush()
    written = file.getvalue()
    assert written[: 131072 - position] == bytes(131072 - position)
    assert len(written) > 131072 - position


def test_initial_padding_applies_when_appending() -> None:
    """Option `initial_padding` puts the first appended chunk on its multiple."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd", position=64) as plain:
        assert plain.position == 64
    with RecordWriter(io.BytesIO(), "zstd,initial_padding", position=64) as padded:
        assert padded.position == 65536


class Grudging(io.RawIOBase):
    """Writes at most seven bytes at a time, and after `room` bytes nothing more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = b""

    def write(self, data: object, /) -> int:
        piece = bytes(data)[:7]  # type: ignore[call-overload]  # any buffer
        if len(self.taken) + len(piece) > self.room:
            raise OSError(28, "No space left on device")
        self.taken += piece
        return len(piece)


def test_unbuffered_files_get_everything() -> None:
    """Files that take less than they are given are given the rest."""
    file = Grudging(10_000)
    with RecordWriter(file, "uncompressed") as writer:
        writer.write_record(bytes(500))
    assert list(RecordReader(io.BytesIO(file.taken))) == [bytes(500)]


def test_a_full_disk_stops_the_writer_for_good() -> None:
    """The error is raised once as it is; afterwards the writer refuses, and closing writes nothing more."""
    file = Grudging(150)
    writer = RecordWriter(file, "uncompressed,chunk_size:1")
    writer.write_record(b"fits")
    end = writer.position
    with pytest.raises(OSError, match="No space"):
        writer.write_record(bytes(500))
    taken = file.taken
    with pytest.raises(RiegeliError, match=f"complete up to byte {end}"):
        writer.write_record(b"more")
    writer.close()
    assert file.taken == taken


def test_closing() -> None:
    """Closing twice is fine, a file object stays open, and a closed writer refuses records."""
    file = io.BytesIO()
    writer = RecordWriter(file, "zstd")
    writer.write_record(b"kept")
    writer.close()
    writer.close()
    assert not file.closed
    with pytest.raises(RiegeliError, match="closed"):
        writer.write_record(b"late")
    assert list(RecordReader(file)) == [b"kept"]


def test_records_before_an_exception_are_kept(tmp_path: Path) -> None:
    """Leaving the context by an exception closes the file with what was written."""
    with pytest.raises(KeyError), RecordWriter(tmp_path / "file", "zstd") as writer:
        writer.write_record(b"kept")
        raise KeyError
    with RecordReader(tmp_path / "file") as reader:
        assert list(reader) == [b"kept"]
