"""A chunk of one record is the same as `simple`, `ChunkHeader` and `frame_chunk` make."""

from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlds_kit.riegeli import blocks, chunk, simple
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.single import frame_record, frame_records, frame_records_in_python

BLOCK = blocks.BLOCK_SIZE


@given(st.integers(0, 2 * BLOCK), st.one_of(st.integers(0, 300), st.integers(0, 2 * BLOCK)))
@example(BLOCK, 0)
@example(BLOCK - 43 - 100, 100)
@example(BLOCK - 43 - 101, 100)
@example(BLOCK - 43 - 99, 100)
@example(BLOCK - 1, 0)
def test_a_chunk_of_one_record_is_the_same(begin: int, size: int) -> None:
    """Wherever it begins, across headers of blocks too."""
    begin = blocks.round_up(begin)
    record = bytes(index % 251 for index in range(size))
    data = simple.encode([record], Codec.NONE, bytes)
    header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=size)
    assert frame_record(begin, record) == chunk.frame_chunk(begin, header, data)


@given(st.integers(0, 2 * BLOCK), st.lists(st.one_of(st.integers(0, 300), st.integers(0, 3 * BLOCK)), max_size=5))
@example(BLOCK, [3 * BLOCK])
@example(2 * BLOCK - 1, [2 * BLOCK - 24, 0, 1])
@example(64, [BLOCK - 64 - 43, 100])
@example(64, [])
def test_c_and_python_make_the_same_chunks(begin: int, sizes: list[int]) -> None:
    """Sizes have varints of one to three bytes, and chunks up to four headers of blocks."""
    begin, records = blocks.round_up(begin), [bytes(index % 251 for index in range(size)) for size in sizes]
    assert frame_records(begin, records) == frame_records_in_python(begin, records)


@given(st.integers(0, 2 * BLOCK), st.lists(st.integers(0, BLOCK), min_size=1, max_size=4))
def test_chunks_follow_each_other(begin: int, sizes: list[int]) -> None:
    """Each is at its position what it would be alone."""
    begin, records = blocks.round_up(begin), [bytes(size) for size in sizes]
    data, places = frame_records(begin, records)
    positions = [*array("Q", places)]
    assert positions[0] == begin
    for record, first, stop in zip(records, positions, [*positions[1:], begin + len(data)], strict=True):
        assert data[first - begin : stop - begin] == frame_record(first, record)


@pytest.mark.skipif(native is None, reason="the C extension is not built")
@pytest.mark.parametrize("records", [[b"", bytearray(3)], (b"",), [b"", None]])
def test_records_are_bytes_in_a_list(records: object) -> None:
    """Other objects are refused."""
    with pytest.raises(TypeError):
        native.frame_records(0, records)  # type: ignore[union-attr]
