"""Files that are Riegeli and ArrayRecord at once, exchanged with Google's own C++ reader and writer."""

import contextlib
import io
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlds_kit.riegeli import DamagedError, RecordReader, RecordWriter, array_record, varint
from rlds_kit.riegeli.array_record import ChunkEntry, last_chunk, read_footer, write_footer
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.source import FileSource

CODECS = ["uncompressed", "brotli:3", "zstd", "snappy"]


@pytest.fixture(scope="module")
def cpp() -> Any:  # a module without types
    """Google's C++ implementation."""
    if sys.platform == "win32":
        pytest.skip("array_record has no wheel for Windows")
    return pytest.importorskip("array_record.python.array_record_module", reason="array_record has no wheel here")


def write(records: list[bytes], options: str, group: int) -> io.BytesIO:
    """Return an ArrayRecord file with `group` records to a chunk."""
    file = io.BytesIO()
    with RecordWriter(file, f"{options},chunk_size:1G") as writer:
        chunks = []
        for start in range(0, len(records), group):
            part = records[start : start + group]
            chunks.append((writer.position, sum(map(len, part)), len(part)))
            for record in part:
                writer.write_record(record)
            writer.close_chunk()
        write_footer(writer, chunks, f"group_size:{group},{options}")
    return file


def random_message(rng: random.Random, depth: int = 0) -> bytes:
    """Return the bytes of a random protocol buffer: all wire types, all varint lengths, nested."""
    return b"".join(random_field(rng, depth) for _ in range(rng.randrange(5)))


def random_field(rng: random.Random, depth: int) -> bytes:
    """Return one field of any wire type."""
    number = rng.choice([1, 2, 3, 15, 16, 2047, 2**29 - 1])

    def tag(wire_type: int) -> bytes:
        return varint.encode(number << 3 | wire_type)

    def length_prefixed(payload: bytes) -> bytes:
        return tag(2) + varint.encode(len(payload)) + payload

    makers: list[Callable[[], bytes]] = [
        lambda: tag(0) + varint.encode(rng.getrandbits(rng.randrange(1, 65))),
        lambda: tag(1) + rng.randbytes(8),
        lambda: tag(5) + rng.randbytes(4),
        lambda: length_prefixed(rng.randbytes(rng.randrange(200))),
        lambda: length_prefixed(random_message(rng, depth + 1)) if depth < 4 else b"",
        lambda: tag(3) + random_message(rng, depth + 1) + tag(4) if depth < 4 else b"",
    ]
    return rng.choice(makers)()


def random_records(seed: int, count: int) -> list[bytes]:
    """Return messages, and some records that are none."""
    rng = random.Random(seed)
    return [random_message(rng) if rng.random() < 0.8 else rng.randbytes(rng.randrange(50)) for _ in range(count)]


@pytest.mark.parametrize("options", [*CODECS, *(f"transpose,{codec}" for codec in CODECS)])
@pytest.mark.parametrize(("group", "count"), [(1, 0), (1, 1), (1, 50), (7, 100)])
def test_cpp_reads_what_we_write(cpp: Any, tmp_path: Path, options: str, group: int, count: int) -> None:
    """Google's reader gets every record, in order and by index, from every codec and chunk type."""
    records = random_records(count, count)
    path = tmp_path / "file"
    path.write_bytes(write(records, options, group).getvalue())
    reader = cpp.ArrayRecordReader(str(path))
    assert (reader.ok(), reader.num_records()) == (True, count)
    if count:
        assert reader.read_all() == records
        assert reader.read([count - 1, 0]) == [records[-1], records[0]]
    reader.close()


@pytest.mark.parametrize(
    "options",
    [
        *(f"group_size:{group},{codec}" for group in (1, 50) for codec in CODECS),
        *(f"group_size:{group},transpose,{codec}" for group in (1, 13, 200) for codec in CODECS),
        "group_size:200,transpose,zstd,transpose_bucket_size:64",
        "group_size:9,transpose,uncompressed,pad_to_block_boundary:true",
    ],
)
def test_we_read_what_cpp_writes(cpp: Any, tmp_path: Path, options: str, implementation: str) -> None:
    """Every record and the index of Google's writer come back: transposed messages, groups of any size, all codecs."""
    records = random_records(len(options), 600 if implementation == "native" else 200)
    path = tmp_path / "file"
    writer = cpp.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    with path.open("rb") as file:
        footer = read_footer(file)
        assert footer is not None
        assert footer.num_records == len(records)
        assert options.partition(",")[0] in footer.writer_options
        reader = RecordReader(file)
        assert [next(reader) for _ in records] == records
        for index in (len(records) - 1, 0, len(records) // 2):
            group = footer.chunks[0].num_records
            reader.seek(footer.chunks[index // group].chunk_offset + index % group)
            assert reader.read_record() == records[index]
        assert last_chunk(FileSource(file)) == footer.chunks[-1].chunk_offset


def test_layout() -> None:
    """The postscript chunk begins 64 KiB before the end; the smallest file has two blocks."""
    file = write([], "uncompressed", 1)
    assert len(file.getvalue()) == 131072
    footer = read_footer(file)
    assert footer == array_record.Footer(64, 0, "group_size:1,uncompressed", ())
    assert last_chunk(FileSource(file)) is None


def test_footer_lists_chunks() -> None:
    """Offsets, sizes and counts of chunks come back as they were given."""
    file = write([b"1", b"22", b"333"], "zstd", 2)
    footer = read_footer(file)
    assert footer is not None
    assert [tuple(chunk)[1:] for chunk in footer.chunks] == [(3, 2), (3, 1)]
    reader = RecordReader(file)
    for chunk, record in zip(footer.chunks, (b"1", b"333"), strict=True):
        reader.seek(chunk.chunk_offset)
        assert reader.read_record() == record
    assert last_chunk(FileSource(file)) == footer.chunks[1].chunk_offset


@pytest.mark.parametrize("counts", [[3, 5, 4], [2, 3]])
def test_uneven_groups_are_refused(counts: list[int]) -> None:
    """Groups that would make Google's reader return wrong records are a ValueError."""
    with RecordWriter(io.BytesIO(), "uncompressed") as writer, pytest.raises(ValueError, match="same number"):
        write_footer(writer, [(64, 10, count) for count in counts], "")


NUMBERS = st.one_of(st.integers(0, 1 << 15), st.integers(0, (1 << 64) - 1))


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
@example([(0, 127, 128), ((1 << 64) - 1, 1 << 63, (1 << 63) - 1)])
def test_c_and_python_make_the_same_entries(chunks: list[tuple[int, int, int]]) -> None:
    """With varints of one to ten bytes."""
    assert array_record.chunk_entries(iter(chunks)) == array_record.chunk_entries_in_python(chunks)


@pytest.mark.parametrize("make", [array_record.chunk_entries, array_record.chunk_entries_in_python])
@pytest.mark.parametrize("chunk", [(-1, 0, 0), (0, 1 << 64, 0), (0, 0), (0, 0, "1"), 3])
def test_entries_that_cannot_be_are_refused(make: Callable[[Any], Any], chunk: Any) -> None:
    """Numbers that are in no varint, and what is not three numbers; nothing is returned."""
    with pytest.raises((TypeError, ValueError)):
        make([(64, 1, 1), chunk])


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_files_without_index(blocks: int) -> None:
    """Empty, padded and ordinary files have no index, which is no error."""
    file = io.BytesIO()
    if blocks:
        with RecordWriter(file, "uncompressed") as writer:
            writer.write_record(bytes(50_000 * blocks))
            writer.pad(65536)
    assert read_footer(file) is None
    assert last_chunk(FileSource(file)) is None
    file.seek(0, io.SEEK_END)
    file.write(b"x")
    assert read_footer(file) is None


def test_every_damaged_byte_of_the_index_is_noticed(repeats: int) -> None:
    """A flipped bit in footer or postscript is damage, or (in the magic itself) no index; never a wrong index."""
    raw = write([b"abc"] * 5, "uncompressed", 1).getvalue()
    good = read_footer(io.BytesIO(raw))
    assert good is not None
    tail = len(raw) - 65536
    places: list[int] = []
    for begin in (good.offset, tail):
        chunk = read_chunk(FileSource(io.BytesIO(raw)), begin)
        assert isinstance(chunk, Chunk)
        places += range(begin, chunk.end)
    for at in places if repeats > 50 else places[::15]:
        damaged = bytearray(raw)
        damaged[at] ^= 1 << at % 8
        with contextlib.suppress(DamagedError):
            assert read_footer(io.BytesIO(damaged)) is None, at


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "begin with its metadata"),
        ([b"\x08\x01"], "begin with its metadata"),
        ([b"\x0a\x02\x08\x02"], "version 1 was expected, got 2"),
        ([b"\x0a\x04\x08\x01\x10\x01"], "announces"),
        ([b"\x0a\x05\x08\x01\x10\x01\x1c"], "wire type 4"),
        ([b"\x0a\x06\x08\x01\x10\x01\x18\x01", b"\x0a\x00"], "field 1 is not a number"),
        ([b"\x0a\x06\x08\x01\x10\x01\x18\x01", b"\x08\x80\x80\x04\x18\x01"], "order of the file"),
        ([b"\x0a\x06\x08\x01\x10\x02\x18\x02", *[b"\x08\x40\x18\x01"] * 2], "order of the file"),
    ],
)
def test_nonsense_in_the_index_is_damage(records: list[bytes], message: str) -> None:
    """An index with good hashes that contradicts itself or the file is refused."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed") as writer:
        writer.write_record(b"record")
        offset = writer.write_chunk(records)
        writer.pad(65536)
        postscript = b"\x08" + varint.encode(offset) + b"\x10" + varint.encode(array_record.MAGIC)
        writer.write_chunk([postscript] * 3)
        writer.pad(65536)
    with pytest.raises(DamagedError, match=message):
        read_footer(file)


POSTSCRIPT = b"\x08\x40\x10" + varint.encode(array_record.MAGIC)


@pytest.mark.parametrize(
    "copies",
    [
        [b"\x08" + varint.encode(offset) + POSTSCRIPT[2:]] * 3
        for offset in (0, 65, 65536, 2**60)  # no footer there
    ]
    + [
        [POSTSCRIPT, POSTSCRIPT, b"\x08\x41" + POSTSCRIPT[2:]],
        [POSTSCRIPT + b"\x10\x01"] * 3,  # the magic, then another number in its place
        [POSTSCRIPT + b"\x0a\x00"] * 3,  # an offset that is no number
    ],
)
def test_nonsense_in_the_postscript_is_damage(copies: list[bytes]) -> None:
    """A postscript with good hashes that contradicts itself or the file is refused."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed") as writer:
        writer.pad(65536)
        writer.write_chunk(copies)
        writer.pad(65536)
    with pytest.raises(DamagedError, match="index is broken"):
        read_footer(file)


def test_many_records(cpp: Any, tmp_path: Path) -> None:
    """An index of thousands of chunks over several blocks is read by both sides."""
    records = [str(index).encode() for index in range(5000)]
    path = tmp_path / "file"
    path.write_bytes(write(records, "zstd", 1).getvalue())
    reader = cpp.ArrayRecordReader(str(path))
    assert reader.read([4999, 17]) == [b"4999", b"17"]
    with path.open("rb") as file:
        footer = read_footer(file)
    assert footer is not None
    assert footer.chunks[0] == ChunkEntry(64, 1, 1)
    assert footer.num_records == 5000
