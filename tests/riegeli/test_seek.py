"""Seeking by numeric position, against a list of all records and their positions."""

import bisect
import io
import random
from collections.abc import Callable

import pytest

from rlds_kit.riegeli import DamagedError, RecordReader, RecordWriter, SkippedRegion, TruncatedWarning, blocks

RECORDS = [index.to_bytes(4, "little") + random.Random(index).randbytes(index * 17 % 2000) for index in range(400)]


def write(options: str) -> tuple[bytes, list[int]]:
    """Return a file of RECORDS over several blocks, and their positions."""
    file = io.BytesIO()
    with RecordWriter(file, options) as writer:
        for index, record in enumerate(RECORDS):
            writer.write_record(record)
            if index % 97 == 0:
                writer.pad(1000)
    data = file.getvalue()
    reader = RecordReader(file)
    return data, [reader.last_position for _ in reader]


def into(regions: list[SkippedRegion], *, go_on: bool = True) -> Callable[[SkippedRegion], bool]:
    """Return a recovery callback that collects its arguments."""

    def note(region: SkippedRegion) -> bool:
        regions.append(region)
        return go_on

    return note


OPTIONS = ["uncompressed,chunk_size:1", "zstd,chunk_size:9K", "transpose,zstd,chunk_size:100K"]


@pytest.mark.parametrize("options", OPTIONS)
def test_every_record_is_found_at_its_position(options: str, repeats: int) -> None:
    """In any order, a fresh or used reader delivers the record of the position."""
    raw, positions = write(options)
    order = random.Random(0).sample(range(len(RECORDS)), len(RECORDS))
    reader = RecordReader(io.BytesIO(raw))
    for index in order if repeats > 50 else order[::20]:
        reader.seek(positions[index])
        assert reader.position == positions[index]
        assert reader.read_record() == RECORDS[index]
        assert reader.last_position == positions[index]


@pytest.mark.parametrize("options", OPTIONS)
def test_positions_between_records_mean_the_next_record(options: str, repeats: int) -> None:
    """Every number up to the file's size may be sought; behind the last record there is none."""
    raw, positions = write(options)
    reader = RecordReader(io.BytesIO(raw))
    rng = random.Random(1)
    anywhere = [rng.randrange(len(raw)) for _ in range(repeats)]
    edges = [0, 1, 63, 64, *(block + by for block in (65536, 131072) for by in (-1, 0, 1, 23, 24, 25)), len(raw)]
    for position in anywhere + edges:
        following = bisect.bisect_left(positions, position)
        reader.seek(position)
        assert reader.read_record() == (RECORDS[following] if following < len(RECORDS) else None), position


def test_seek_reads_headers_only() -> None:
    """Finding a record among 100,000 reads a few dozen headers, not the file."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:1") as writer:
        positions = [writer.write_record(bytes(2000)) for _ in range(100)]

    class Counted(io.BytesIO):
        count = 0

        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size)
            self.count += len(data)
            return data

    counted = Counted(file.getvalue())
    reader = RecordReader(counted)
    reader.seek(positions[-1])
    assert counted.count < 40 * 64
    assert reader.read_record() == bytes(2000)


@pytest.mark.parametrize("position", [-1, 1_000_000_000])
def test_positions_outside_the_file_are_refused(position: int) -> None:
    """A position that no file of this size can have is a ValueError."""
    file = io.BytesIO()
    RecordWriter(file, "zstd").close()
    with pytest.raises(ValueError, match="outside the file"):
        RecordReader(file).seek(position)


def test_seek_into_an_incomplete_chunk() -> None:
    """There is no record there, and that is reported; earlier records can still be sought."""
    raw, positions = write("uncompressed,chunk_size:1")
    cut = positions[-1] + 100
    reader = RecordReader(io.BytesIO(raw[:cut]))
    reader.seek(positions[-1])
    with pytest.warns(TruncatedWarning):
        assert reader.read_record() is None
    reader.seek(positions[-2])
    assert reader.read_record() == RECORDS[-2]


def test_seek_into_a_torn_block_header() -> None:
    """Where the file ends inside a block header, the chunk before it is found from the block before."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:1") as writer:
        first = writer.write_record(b"first")
        writer.write_record(bytes(100_000))
    reader = RecordReader(io.BytesIO(file.getvalue()[: 65536 + 10]))
    reader.seek(65536 + 5)
    with pytest.warns(TruncatedWarning):
        assert reader.read_record() is None
    reader.seek(first)
    assert reader.read_record() == b"first"


def test_damage_on_the_way() -> None:
    """A damaged block header is an error with its place, or is reported and passed by."""
    raw, positions = write("uncompressed,chunk_size:1")
    damaged = bytearray(raw)
    damaged[65536 + 3] ^= 1
    target = next(position for position in positions if position > 65536 + 5000)
    with pytest.raises(DamagedError) as caught:
        RecordReader(io.BytesIO(damaged)).seek(target)
    assert (caught.value.begin, caught.value.end is not None and caught.value.end > 131072) == (65536, True)
    regions: list[SkippedRegion] = []
    reader = RecordReader(io.BytesIO(damaged), recovery=into(regions))
    reader.seek(target)
    assert [region.begin for region in regions] == [65536]
    assert reader.read_record() == RECORDS[positions.index(regions[0].end)]


def test_seek_after_the_end() -> None:
    """Seeking makes a reader that was at its end read again."""
    raw, positions = write("zstd,chunk_size:9K")
    reader = RecordReader(io.BytesIO(raw))
    assert sum(1 for _ in reader) == len(RECORDS)
    reader.seek(positions[3])
    assert list(reader) == RECORDS[3:]


@pytest.mark.parametrize("size", [0, 1, 10, 24, 40, 63])
def test_seek_in_the_first_bytes(size: int) -> None:
    """Seeking to any position of a file that ends inside its signature is allowed; there are no records."""
    raw, _ = write("zstd,chunk_size:9K")
    reader = RecordReader(io.BytesIO(raw[:size]))
    reader.seek(size // 2)
    if size:
        with pytest.warns(TruncatedWarning):
            assert reader.read_record() is None
    assert reader.read_record() is None


def test_seek_to_the_end_of_a_file_cut_inside_a_header() -> None:
    """The incomplete chunk is reported."""
    raw, positions = write("uncompressed,chunk_size:1")
    cut = positions[-1] + 20
    reader = RecordReader(io.BytesIO(raw[:cut]))
    reader.seek(cut)
    with pytest.warns(TruncatedWarning, match=f"chunk at {positions[-1]}"):
        assert reader.read_record() is None


def test_a_block_header_that_leads_before_the_file() -> None:
    """A block header with a right hash and a chunk begin before position 0 is damage."""
    raw, _ = write("uncompressed,chunk_size:1")
    lying = bytearray(raw)
    lying[65536 : 65536 + 24] = blocks.pack_block_header(65536 + 100, 30_000)
    with pytest.raises(DamagedError, match="leads to a chunk at -100"):
        RecordReader(io.BytesIO(lying)).seek(65536 + 5000)
