"""Block arithmetic against a byte-by-byte model of a file."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.riegeli import blocks

BLOCK = blocks.BLOCK_SIZE
BEGINS = st.integers(0, 3 * BLOCK).map(blocks.round_up)
SIZES = st.integers(0, 3 * BLOCK)


def model_positions(begin: int, size: int) -> list[int]:
    """Return the file position of each payload byte: all positions from `begin` that no block header covers."""
    free = (position for position in range(begin, begin + size * 2 + 100) if position % BLOCK >= 24)
    return [next(free) for _ in range(size)]


@pytest.mark.parametrize(
    ("position", "expected"),
    [(0, 0), (1, 25), (24, 25), (25, 25), (26, 26), (65535, 65535), (65536, 65536), (65537, 65561), (65561, 65561)],
)
def test_round_up_skips_block_headers(position: int, expected: int) -> None:
    """A chunk boundary lies on a block's begin or at least 25 bytes after it."""
    assert blocks.round_up(position) == expected
    assert blocks.possible_boundary(position) == (position == expected)


@pytest.mark.parametrize("begin", [0, 25, 64, 65536 - 41, 65536 - 40, 65536 - 1, 65536])
@pytest.mark.parametrize("size", [1, 39, 40, 41, 100])
def test_payload_bytes_lie_where_the_model_says(begin: int, size: int) -> None:
    """`physical` and `with_overhead` agree with counting bytes one by one."""
    positions = model_positions(begin, size)
    assert [blocks.physical(begin, offset) for offset in range(size)] == positions
    assert blocks.with_overhead(begin, size) == positions[-1] + 1


@given(BEGINS, SIZES)
def test_without_overhead_inverts_with_overhead(begin: int, size: int) -> None:
    """Payload length to file position and back is the identity."""
    assert blocks.without_overhead(begin, blocks.with_overhead(begin, size)) == size


@given(BEGINS, st.integers(0, 2 * BLOCK), st.integers(0, 2 * BLOCK))
def test_chunk_end_is_a_boundary_after_data_and_records(begin: int, data_size: int, num_records: int) -> None:
    """A chunk ends where one may begin, after its data and a byte for each record, and no later than need be."""
    end = blocks.chunk_end(begin, data_size, num_records)
    needed = max(blocks.with_overhead(begin, 40 + data_size), begin + num_records)
    assert blocks.possible_boundary(end)
    assert 0 <= end - needed <= 25


@pytest.mark.parametrize(("num_records", "end_in_block"), [(65472, 0), (65473, 25), (65497, 25), (65498, 26)], ids=str)
def test_ends_of_chunks_of_empty_records(num_records: int, end_in_block: int) -> None:
    """Chunks with tens of thousands of empty records end where the C++ writer ends them."""
    assert blocks.chunk_end(64, 100, num_records) % BLOCK == end_in_block


@given(BEGINS, SIZES, st.integers(0, 100), st.integers(0, 2**32))
def test_unframe_inverts_frame(begin: int, size: int, extra: int, seed: int) -> None:
    """Block headers and padding go in and come out; the padding is zeros."""
    payload = random.Random(seed).randbytes(size)
    end = blocks.round_up(blocks.with_overhead(begin, size) + extra)
    raw = blocks.frame(begin, end, payload)
    assert len(raw) == end - begin
    unframed = blocks.unframe(raw, begin)
    assert unframed[:size] == payload
    assert unframed[size:].strip(b"\0") == b""


def test_frame_puts_a_header_at_every_block() -> None:
    """Each block header has the distances to the chunk's begin and end, and their hash."""
    begin, end = 64, 64 + 3 * BLOCK
    raw = blocks.frame(begin, end, b"")
    found = [blocks.parse_block_header(raw[at - begin :][:24]) for at in blocks.boundaries(begin, end)]
    assert found == [(at - begin, end - at) for at in (BLOCK, 2 * BLOCK, 3 * BLOCK)]


@pytest.mark.parametrize("inside", [0, 1, 23, 24, 25])
def test_unframe_may_begin_inside_a_block_header(inside: int) -> None:
    """What is left of a block header at the begin of the bytes is dropped as well."""
    payload = bytes(range(1, 201))
    raw = blocks.frame(BLOCK, BLOCK + 224, payload)
    assert blocks.unframe(raw[inside:], BLOCK + inside) == payload[max(0, inside - 24) :]


@given(BEGINS, st.integers(1, 2 * BLOCK), st.data())
def test_a_slice_of_the_payload_is_found_by_position(begin: int, size: int, data: st.DataObject) -> None:
    """`physical` of both ends and `unframe` of the file bytes between them give any slice of the payload."""
    payload = random.Random(size).randbytes(size)
    raw = blocks.frame(begin, blocks.round_up(blocks.with_overhead(begin, size)), payload)
    start = data.draw(st.integers(0, size - 1))
    stop = data.draw(st.integers(start + 1, size))
    first, last = blocks.physical(begin, start), blocks.physical(begin, stop - 1)
    assert blocks.unframe(raw[first - begin : last + 1 - begin], first) == payload[start:stop]


def test_payload_too_large_is_refused() -> None:
    """A payload that does not fit its chunk is a ValueError, with and without a block header between."""
    with pytest.raises(ValueError, match="does not fit"):
        blocks.frame(64, 100, bytes(37))
    with pytest.raises(ValueError, match="does not fit"):
        blocks.frame(64, BLOCK + 100, bytes(BLOCK + 13))


@pytest.mark.parametrize("distances", [(65512, 100), (0, 0), (0, 24), (0, 65536 + 1)])
def test_impossible_distances_are_damage(distances: tuple[int, int]) -> None:
    """A block header whose hash matches but whose chunk could not begin or end there is not believed."""
    assert blocks.parse_block_header(blocks.pack_block_header(*distances)) is None


@given(st.integers(0, 3 * BLOCK), st.integers(1, 3 * BLOCK), st.integers(0, 2**32))
def test_bytes_read_to_where_scattered_says_are_the_payload(begin: int, size: int, seed: int) -> None:
    """From anywhere, also inside a block header: what `unframe` copies lies in the buffer without a copy."""
    raw = random.Random(seed).randbytes(size)
    payload = blocks.unframe(raw, begin)
    buffer, at = bytearray(len(payload)), 0
    for view in blocks.scattered(memoryview(buffer), begin, begin + size):
        view[:] = raw[at : at + len(view)]
        at += len(view)
    assert at == size
    assert buffer == payload
