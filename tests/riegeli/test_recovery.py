"""Damage: what is refused, what is skipped, and that nothing false is ever delivered."""

import io
import random
from collections.abc import Callable

import pytest

from rlds_kit.riegeli import DamagedError, RecordReader, RecordWriter, SkippedRegion, blocks
from rlds_kit.riegeli.chunk import SIMPLE, ChunkHeader, frame_chunk

BLOCK = blocks.BLOCK_SIZE


class Example:
    """A file of several blocks with chunks of all kinds, and where each record and chunk is."""

    def __init__(self) -> None:
        rng = random.Random(0)
        file = io.BytesIO()
        self.chunks: list[tuple[int, int]] = []  # begin and end of chunks with records
        self.records: dict[int, bytes] = {}  # by position
        position = 0
        for options in ("uncompressed", "zstd", "transpose,uncompressed", "brotli:1", "transpose,snappy"):
            writer = RecordWriter(file, options, position=position)
            for _ in range(8):
                begin = writer.position
                for _ in range(rng.randrange(1, 5)):
                    record = rng.randbytes(rng.randrange(1, 5000))
                    self.records[writer.write_record(record)] = record
                writer.close_chunk()
                self.chunks.append((begin, writer.position))
            writer.close()
            position = writer.position
        self.raw = file.getvalue()


EXAMPLE = Example()


def into(regions: list[SkippedRegion], *, go_on: bool = True) -> Callable[[SkippedRegion], bool]:
    """Return a recovery callback that collects its arguments."""

    def note(region: SkippedRegion) -> bool:
        regions.append(region)
        return go_on

    return note


def read_all(raw: bytes) -> tuple[dict[int, bytes], list[SkippedRegion]]:
    """Return the records by position, and what was skipped."""
    regions: list[SkippedRegion] = []
    reader = RecordReader(io.BytesIO(raw), recovery=into(regions))
    found = {}
    for record in reader:
        found[reader.last_position] = record
    return found, regions


def flip_bit(raw: bytearray, rng: random.Random) -> tuple[int, int]:
    """Flip one bit anywhere."""
    at = rng.randrange(len(raw))
    raw[at] ^= 1 << rng.randrange(8)
    return at, at + 1


def zero_range(raw: bytearray, rng: random.Random) -> tuple[int, int]:
    """Zero up to 70 kB, more than a block."""
    begin = rng.randrange(len(raw))
    end = min(len(raw), begin + rng.choice([10, 1000, 70_000]))
    raw[begin:end] = bytes(end - begin)
    return begin, end


def randomize_range(raw: bytearray, rng: random.Random) -> tuple[int, int]:
    """Replace up to 70 kB by noise."""
    begin = rng.randrange(len(raw))
    end = min(len(raw), begin + rng.choice([10, 1000, 70_000]))
    raw[begin:end] = rng.randbytes(end - begin)
    return begin, end


def hit_a_header(raw: bytearray, rng: random.Random) -> tuple[int, int]:
    """Flip one bit in the header of a chunk or a block."""
    header = rng.choice([rng.choice(EXAMPLE.chunks)[0], rng.randrange(0, len(raw), BLOCK)])
    at = min(header + rng.randrange(64), len(raw) - 1)
    raw[at] ^= 1 << rng.randrange(8)
    return at, at + 1


def must_survive(begin: int, end: int) -> set[int]:
    """Return the positions of the records that damage to bytes `begin` to `end` may not cost.

    Those of chunks before it, and those of chunks after the one that the next intact block header interrupts.
    """
    resume = end + -end % BLOCK
    interrupted = [chunk_end for chunk, chunk_end in EXAMPLE.chunks if chunk < resume < chunk_end]
    resume = max([resume, *interrupted])
    safe = [(b, e) for b, e in EXAMPLE.chunks if e <= begin or b >= resume]
    return {position for position in EXAMPLE.records if any(b <= position < e for b, e in safe)}


@pytest.mark.parametrize("damage", [flip_bit, zero_range, randomize_range, hit_a_header])
def test_random_damage(damage: Callable[[bytearray, random.Random], tuple[int, int]], repeats: int) -> None:
    """No damage makes a false record, or costs more than up to the chunk after the next intact block header."""
    rng = random.Random(3)
    for _ in range(repeats):
        raw = bytearray(EXAMPLE.raw)
        begin, end = damage(raw, rng)
        found, regions = read_all(bytes(raw))
        assert found.items() <= EXAMPLE.records.items(), (begin, end)
        assert must_survive(begin, end) <= found.keys(), (begin, end)
        missing = EXAMPLE.records.keys() - found.keys()
        assert all(any(r.begin <= position < r.end for r in regions) for position in missing), (begin, end)


def damaged_data() -> tuple[bytes, int, int]:
    """Return the example with a flipped bit in the data of a chunk, and that chunk's extent."""
    begin, end = EXAMPLE.chunks[5]
    raw = bytearray(EXAMPLE.raw)
    raw[begin + 100] ^= 1
    return bytes(raw), begin, end


def test_without_recovery_damage_is_an_error_with_its_place() -> None:
    """The error has the lost bytes; reading again raises it again; reading continues after seeking to `end`."""
    raw, begin, end = damaged_data()
    reader = RecordReader(io.BytesIO(raw))
    for _ in range(2):
        with pytest.raises(DamagedError, match=f"hash .* does not match .bytes {begin} to {end} of the file") as caught:
            list(reader)
        assert (caught.value.begin, caught.value.end) == (begin, end)
    reader.seek(end)
    assert reader.read_record() == EXAMPLE.records[end]


def test_recovery_is_called_and_decides() -> None:
    """True continues after the region, False ends there until the next seek."""
    raw, begin, end = damaged_data()
    told: list[SkippedRegion] = []
    reader = RecordReader(io.BytesIO(raw), recovery=into(told, go_on=False))
    before = [record for position, record in EXAMPLE.records.items() if position < begin]
    assert list(reader) == before
    assert [(region.begin, region.end) for region in told] == [(begin, end)]
    assert str(told[0]) == f"the hash of a chunk's data does not match (bytes {begin} to {end} of the file)"
    assert reader.read_record() is None
    reader.seek(end)
    assert reader.read_record() == EXAMPLE.records[end]


def test_chunks_that_do_not_decode_are_skipped() -> None:
    """A chunk with good hashes and nonsense inside, or of an unknown type, costs itself only."""
    good = io.BytesIO()
    with RecordWriter(good, "uncompressed") as writer:
        writer.write_record(b"first")
        writer.close_chunk()
        at = writer.position
    for chunk_type in (SIMPLE, ord("?")):
        nonsense = frame_chunk(at, ChunkHeader.describe(b"?", chunk_type=chunk_type, num_records=3), b"?")
        file = io.BytesIO(good.getvalue() + nonsense)
        end = len(file.getvalue())
        file.seek(0, io.SEEK_END)
        with RecordWriter(file, "uncompressed", position=end) as writer:
            writer.write_record(b"last")
        found, regions = read_all(file.getvalue())
        assert list(found.values()) == [b"first", b"last"]
        assert [(region.begin, region.end) for region in regions] == [(at, end)]


def test_a_file_of_something_else() -> None:
    """A file without signature is an error that names the signature or the hash, and recovery finds no records."""
    with pytest.raises(DamagedError, match="block header"):
        list(RecordReader(io.BytesIO(b"PK\3\4" * 1000)))
    assert read_all(b"PK\3\4" * 100_000) == (
        {},
        [SkippedRegion(0, 400_000, "the hash of a block header does not match")],
    )
    no_signature = frame_chunk(0, ChunkHeader.describe(b"\0\0", chunk_type=SIMPLE), b"\0\0")
    with pytest.raises(DamagedError, match="signature is missing"):
        list(RecordReader(io.BytesIO(no_signature)))


def test_appending_after_a_crash_with_padding() -> None:
    """What was appended to a torn file on a block boundary is found, although the torn chunk claims its bytes."""
    torn = io.BytesIO()
    with RecordWriter(torn, "uncompressed,chunk_size:1") as writer:
        writer.write_record(b"first")
        writer.write_record(bytes(200_000))
    file = io.BytesIO(torn.getvalue()[:1000])
    file.seek(0, io.SEEK_END)
    file.write(bytes(BLOCK - 1000))
    with RecordWriter(file, "uncompressed", position=BLOCK) as writer:
        writer.write_record(b"appended")
    for extra in (b"", bytes(200_000)):  # the torn chunk's end lies beyond the file, and within it
        found, regions = read_all(file.getvalue() + extra)
        assert list(found.values()) == [b"first", b"appended"]
        assert regions[0].end == BLOCK


def lying_block_header(block: int, begin_by: int, end_by: int) -> tuple[bytes, int, int]:
    """Return the example with a block header whose hash is right and whose distances are off, and its chunk."""
    begin, end = next((begin, end) for begin, end in EXAMPLE.chunks if begin < block < end)
    raw = bytearray(EXAMPLE.raw)
    raw[block : block + 24] = blocks.pack_block_header(block - begin + begin_by, end - block + end_by)
    return bytes(raw), begin, end


@pytest.mark.parametrize(("begin_by", "end_by"), [(1, 0), (1, BLOCK), (0, 1), (-1, -1), (0, BLOCK)])
def test_block_headers_that_lie(begin_by: int, end_by: int) -> None:
    """A block header that names another chunk's extent costs its chunk, and no more than up to the next block."""
    block = next(at for at in range(BLOCK, len(EXAMPLE.raw), BLOCK) if any(b < at < e for b, e in EXAMPLE.chunks))
    raw, begin, _ = lying_block_header(block, begin_by, end_by)
    found, regions = read_all(raw)
    assert found.items() < EXAMPLE.records.items()
    assert must_survive(begin, block + 24) <= found.keys()
    assert regions[0].begin == begin


@pytest.mark.parametrize("size", [BLOCK - 119, BLOCK - 139])
def test_block_header_and_chunk_header_disagree(size: int) -> None:
    """A block header inside a chunk header must name that chunk's end."""
    file = io.BytesIO()
    with RecordWriter(file, "uncompressed,chunk_size:1") as writer:
        writer.write_record(bytes(size))
        begin = writer.position
        writer.write_record(b"torn by the block header")
    assert begin < BLOCK < begin + 40
    raw = bytearray(file.getvalue())
    raw[BLOCK : BLOCK + 24] = blocks.pack_block_header(BLOCK - begin, len(raw) - BLOCK + 1)
    with pytest.raises(DamagedError, match="disagrees about the chunk's end"):
        list(RecordReader(io.BytesIO(raw)))


def test_a_block_header_that_ends_where_no_chunk_may() -> None:
    """Recovery that is led to the end of the file, which is no chunk boundary, ends there."""
    raw = bytearray(EXAMPLE.raw[: 2 * BLOCK + 10])
    raw[BLOCK - 1000 : BLOCK] = bytes(1000)
    raw[BLOCK : BLOCK + 24] = blocks.pack_block_header(100, BLOCK + 100)
    found, regions = read_all(bytes(raw))
    assert found.items() < EXAMPLE.records.items()
    assert regions[-1].end == len(raw)
