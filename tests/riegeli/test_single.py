"""A chunk of one record is the same as `simple`, `ChunkHeader` and `frame_chunk` make."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlds_kit.riegeli import blocks, chunk, simple
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.single import frame_record, frame_record_in_python

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


@given(st.integers(0, 2 * BLOCK), st.one_of(st.integers(0, 300), st.integers(0, 3 * BLOCK)))
@example(BLOCK, 3 * BLOCK)
@example(2 * BLOCK - 1, 2 * BLOCK - 24)
@example(64, BLOCK - 64 - 43)
def test_c_and_python_make_the_same_chunk(begin: int, size: int) -> None:
    """Sizes have varints of one to three bytes, and chunks up to four headers of blocks."""
    begin, record = blocks.round_up(begin), bytes(index % 251 for index in range(size))
    assert frame_record(begin, record) == frame_record_in_python(begin, record)


@pytest.mark.skipif(native is None, reason="the C extension is not built")
def test_a_record_is_bytes() -> None:
    """Other objects are refused."""
    with pytest.raises(TypeError):
        native.frame_record(0, bytearray(3))  # type: ignore[union-attr]
