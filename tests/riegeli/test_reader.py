"""Reading whole, growing and truncated files."""

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import riegeli
from rlds_kit.riegeli import DamagedError, RecordReader, RecordWriter, SkippedRegion, TruncatedWarning, Truncation
from rlds_kit.riegeli.chunk import METADATA, ChunkHeader, frame_chunk

OPTIONS = [
    f"{transpose}{codec}"
    for transpose in ("", "transpose,")
    for codec in ("uncompressed", "brotli:1", "zstd", "snappy")
]


def write(records: list[bytes], options: str = "zstd", **arguments: Any) -> io.BytesIO:  # arguments of RecordWriter
    """Return a file of `records`."""
    file = io.BytesIO()
    with RecordWriter(file, options, **arguments) as writer:
        for record in records:
            writer.write_record(record)
    return file


def into(regions: list[SkippedRegion], *, go_on: bool = True) -> Callable[[SkippedRegion], bool]:
    """Return a recovery callback that collects its arguments."""

    def note(region: SkippedRegion) -> bool:
        regions.append(region)
        return go_on

    return note


def random_records(seed: int, count: int, size: int) -> list[bytes]:
    """Return distinct records of up to `size` bytes."""
    rng = random.Random(seed)
    return [index.to_bytes(4, "little") + rng.randbytes(rng.randrange(size)) for index in range(count)]


def test_public_names() -> None:
    """The package offers these names and no others."""
    assert sorted(riegeli.__all__) == [
        "DamagedError",
        "HAS_EXTENSION",
        "MissingCodecError",
        "OptionsError",
        "RecordReader",
        "RecordWriter",
        "RiegeliError",
        "SkippedRegion",
        "TruncatedWarning",
        "Truncation",
    ]
    assert all(hasattr(riegeli, name) for name in riegeli.__all__)


@given(
    st.sampled_from(OPTIONS),
    st.integers(1, 300),
    st.sampled_from(["", ",padding:100", ",padding:65536"]),
    st.lists(st.binary(max_size=100), max_size=20),
)
def test_records_come_back(options: str, chunk_size: int, padding: str, records: list[bytes]) -> None:
    """Any records come back from any codec, chunk type, chunk size and padding."""
    file = write(records, f"{options},chunk_size:{chunk_size}{padding}")
    assert list(RecordReader(file)) == records


@pytest.mark.parametrize("options", ["uncompressed", "transpose,zstd"])
def test_chunk_ends_around_a_block_boundary(options: str, implementation: str) -> None:
    """A chunk may end anywhere around 64 KiB, so that a block header falls into every part of the next one."""
    for size in range(65536 - 140, 65536 - 40, 1 if implementation == "native" else 25):
        records = [bytes(size), b"in between", b"after"]
        assert list(RecordReader(write(records, f"{options},chunk_size:1"))) == records


def test_tens_of_thousands_of_empty_records() -> None:
    """A chunk that is longer than its data because of its number of records is read."""
    records = [b""] * 70_000 + [b"last"]
    assert list(RecordReader(write(records, "zstd,chunk_size:1M"))) == records


def test_records_larger_than_several_blocks() -> None:
    """A record may span many blocks."""
    records = [random.Random(0).randbytes(300_000), b"small"]
    assert list(RecordReader(write(records, "uncompressed"))) == records


@pytest.mark.parametrize("as_text", [True, False])
def test_sources(tmp_path: Path, as_text: bool) -> None:
    """Paths, as text or not, and buffered or raw files are read alike; only a file that the reader opened is closed."""
    path = tmp_path / "file"
    path.write_bytes(write([b"1", b"2"]).getvalue())
    with RecordReader(str(path) if as_text else path) as reader:
        assert list(reader) == [b"1", b"2"]
    with path.open("rb", buffering=0 if as_text else -1) as file:
        with RecordReader(file) as reader:
            assert list(reader) == [b"1", b"2"]
        assert not file.closed


def test_empty_file_has_no_records() -> None:
    """A file of zero bytes, which a crash may leave, is empty and not truncated."""
    reader = RecordReader(io.BytesIO())
    assert (list(reader), reader.truncated, reader.metadata) == ([], None, None)


def test_concatenated_files_are_one() -> None:
    """Files padded to whole blocks may be put together; the inner signature is ignored."""
    one, two = write([b"1"], "zstd,padding"), write([b"2"], "zstd,padding")
    assert list(RecordReader(io.BytesIO(one.getvalue() + two.getvalue()))) == [b"1", b"2"]


def test_metadata() -> None:
    """The metadata message is found without disturbing iteration, and is None where there is none."""
    reader = RecordReader(write([b"1", b"2"], metadata=b"message"))
    assert (next(reader), reader.metadata, next(reader)) == (b"1", b"message", b"2")
    assert RecordReader(write([b"1"])).metadata is None
    assert RecordReader(write([], metadata=b"")).metadata == b""


def test_damaged_metadata() -> None:
    """Damage to the metadata chunk is an error with its place, and so is nonsense with a good hash."""
    raw = bytearray(write([b"1"], "uncompressed", metadata=b"message").getvalue())
    raw[120] ^= 1
    with pytest.raises(DamagedError, match=r"bytes 64 to \d+"):
        _ = RecordReader(io.BytesIO(raw)).metadata
    nonsense = frame_chunk(64, ChunkHeader.describe(b"?", chunk_type=METADATA), b"?")
    with pytest.raises(DamagedError):
        _ = RecordReader(io.BytesIO(raw[:64] + nonsense)).metadata


def test_position_and_last_position() -> None:
    """Both follow the records; seeking to `position` changes nothing."""
    file = io.BytesIO()
    with RecordWriter(file, "zstd,chunk_size:30") as writer:
        positions = [writer.write_record(bytes([i]) * 5) for i in range(10)]
    reader = RecordReader(file)
    with pytest.raises(ValueError, match="no record"):
        _ = reader.last_position
    found = []
    for _ in reader:
        found.append(reader.last_position)
        reader.seek(reader.position)
    assert found == positions
    assert reader.position == len(file.getvalue())


@given(st.lists(st.integers(1, 7), max_size=20))
def test_some_records_at_once(counts: list[int]) -> None:
    """They are those that come one by one, of one chunk each time, so that their positions follow each other."""
    file = write([bytes([number]) * number for number in range(40)], "uncompressed,chunk_size:60")
    with RecordReader(file) as reader, RecordReader(io.BytesIO(file.getvalue())) as other:
        for count in [*counts, *[40] * 40]:
            some = reader.read_some(count)
            if not some:
                break
            first = reader.last_position - len(some) + 1
            assert len(some) <= count
            expected = [(other.read_record(), other.last_position) for _ in some]
            assert expected == [(record, first + number) for number, record in enumerate(some)]
        assert reader.read_some(1) == ()
        assert other.read_record() is None


def cut_points(raw: bytes, ends: list[int], count: int) -> list[int]:
    """Return where to cut: around every chunk end and block boundary, and anywhere."""
    near = [at + by for at in [*ends, *range(0, len(raw), 65536)] for by in (-1, 0, 1, 24, 25, 40)]
    anywhere = random.Random(0).sample(range(len(raw)), count)
    return sorted({at for at in near + anywhere if 0 <= at <= len(raw)})


def test_truncated_files_deliver_every_complete_chunk(repeats: int) -> None:
    """A file that is cut anywhere gives the records of its complete chunks; `truncated` is set iff a chunk is cut."""
    records = random_records(1, 12, 20_000)
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:30K") as writer:
        positions = [writer.write_record(record) for record in records]
        writer.flush()
    raw = file.getvalue()
    begins = [position for position in positions if position - 1 not in positions]
    ends = [0, *begins, len(raw)]
    points = cut_points(raw, ends, repeats)
    for cut in points if repeats > 50 else points[::5]:
        reader = RecordReader(io.BytesIO(raw[:cut]))
        last_end = max(end for end in ends if end <= cut)
        expected = [record for record, position in zip(records, positions, strict=True) if position < last_end]
        if cut in ends:
            assert (list(reader), reader.truncated) == (expected, None), cut
            continue
        with pytest.warns(TruncatedWarning, match=f"{cut - last_end} bytes into the chunk at {last_end}"):
            assert list(reader) == expected, cut
        torn = reader.truncated
        following = min(end for end in ends if end > cut)
        header_cut = cut < last_end + 64
        assert torn is not None
        assert (torn.begin, torn.length) == (last_end, cut - last_end), cut
        assert torn.expected_length == following - last_end or header_cut, cut


def test_growing_files_are_read_on() -> None:
    """After a truncated end, reading continues in the same chunk once its bytes exist; it is reported only once."""
    raw = write([b"first", b"second"], "uncompressed,chunk_size:1").getvalue()
    file = io.BytesIO(raw[:-3])
    reader = RecordReader(file)
    with pytest.warns(TruncatedWarning):
        assert list(reader) == [b"first"]
    assert reader.read_record() is None  # and no second warning, which would be an error here
    file.seek(0, io.SEEK_END)
    file.write(raw[-3:])
    assert (reader.read_record(), reader.truncated) == (b"second", None)
    assert reader.read_record() is None


def test_truncation_is_reported_to_recovery() -> None:
    """A reader with a recovery callback reports the incomplete chunk to it instead of warning."""
    raw = write([b"first", b"second"], "uncompressed,chunk_size:1").getvalue()
    regions: list[SkippedRegion] = []
    reader = RecordReader(io.BytesIO(raw[:-3]), recovery=into(regions))
    assert list(reader) == [b"first"]
    begin = reader.position
    assert reader.truncated == Truncation(begin, len(raw) - 3 - begin, len(raw) - begin)
    assert [(region.begin, region.end) for region in regions] == [(begin, len(raw) - 3)]


def test_compressed_chunks_above_the_ceiling_are_damage() -> None:
    """A chunk that would unpack to more than `max_decoded_size` is refused."""
    file = write([bytes(1000)], "zstd")
    with pytest.raises(DamagedError, match="more than the 999"):
        next(RecordReader(file, max_decoded_size=999))
    assert next(RecordReader(file, max_decoded_size=1000)) == bytes(1000)


def test_hostile_sizes_are_truncation_not_allocation() -> None:
    """A header with a good hash that announces 2**60 bytes is an incomplete chunk, and nothing is allocated."""
    header = ChunkHeader(1 << 60, 0, ord("r"), 1, 1 << 60)
    reader = RecordReader(io.BytesIO(write([]).getvalue() + header.pack()))
    with pytest.warns(TruncatedWarning):
        assert list(reader) == []
    assert reader.truncated is not None
    assert reader.truncated.expected_length > 1 << 60
