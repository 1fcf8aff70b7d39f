"""A block that is encoded without protobuf's objects has the bytes that protobuf writes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, column_encoder
from rlds_kit.storage.column import Column, storage_dtype
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey

KEYS = (
    ColumnKey("observation/a~1ü", pb.ARRAY, np.dtype(np.float32), 1),
    ColumnKey("reward", pb.SCALAR, np.dtype(np.int64), 0),
    ColumnKey("discount", pb.FLOAT, None, 0),
    ColumnKey("info", pb.TREE, None, 1),
    ColumnKey("none", pb.NONE, None, 1),
    ColumnKey("wide", pb.ARRAY, np.dtype(">i2"), 2),
)


@st.composite
def _columns(draw: st.DrawFn) -> Column:
    key = draw(st.sampled_from(KEYS))
    dtype = storage_dtype(key)
    first, count = draw(st.sampled_from([0, 1, 127, 1 << 20, 1 << 40])), draw(st.sampled_from([1, 2, 40, 200]))
    rows = np.arange(first, first + count)
    if count > 2 and draw(st.booleans()):
        rows = np.delete(rows, 1)
    modulus = draw(st.sampled_from([1, 2, 251]))
    if key.rank == 1 and draw(st.booleans()):
        shapes = np.arange(len(rows)).reshape(-1, 1) % 3
        return Column(key, rows, (np.arange(shapes.sum()) % modulus).astype(dtype), shapes)
    size = draw(st.sampled_from([0, 1, 3, 150]))
    shape = (len(rows), *(size,) * key.rank)
    return Column(key, rows, (np.arange(np.prod(shape)) % modulus).astype(dtype).reshape(shape))


@given(st.lists(_columns(), max_size=4), st.sampled_from([range(2), range(5, 300), range(1 << 40, (1 << 40) + 1)]))
def test_the_bytes_are_those_of_protobuf(columns: list[Column], rows: range) -> None:
    """For every form of column."""
    header = pb.BlockHeader(episode_id=bytes(range(16)), first_row=rows.start, end_row=rows.stop)
    choose = FilterChoice()
    packed = column_encoder.pack(columns, choose)
    pairs = [(column_encoder.describe(*each), each[1].payload) for each in zip(columns, packed, strict=True)]
    expected = block.assemble(header, pairs)
    assert block.encode(header.episode_id, rows, columns, FilterChoice()) == expected


@pytest.mark.parametrize("payload", [b"", b"x"])
def test_a_column_without_bytes_names_none(payload: bytes) -> None:
    """Protobuf leaves out what is zero."""
    key = ColumnKey("none", pb.NONE, None, 1)
    values = np.frombuffer(payload * 2, np.uint8).reshape(2, len(payload))
    record = block.encode(b"", range(2), [Column(key, np.arange(2), values)], FilterChoice())
    parsed = block.parse_whole_prefix(record, "here").header
    assert (parsed.columns[0].length, parsed.columns[0].decoded_length) == (len(payload), len(payload))


@given(
    st.binary(max_size=20),
    st.sampled_from([0, 1, 127, 1 << 40]),
    st.lists(
        st.tuples(st.binary(max_size=200), st.sampled_from([0, 1, 128, 1 << 31]), st.binary(max_size=300)), max_size=5
    ),
)
def test_c_and_python_join_columns_alike(episode_id: bytes, first: int, parts: list[block.Part]) -> None:
    """Also where a number is zero, which protobuf leaves out."""
    expected = block.join_in_python(episode_id, first, first + 3, parts)
    assert block.join(episode_id, first, first + 3, parts) == expected


def test_large_payloads_are_joined_alike() -> None:
    """Their checksums are computed without the interpreter's lock."""
    parts: list[block.Part] = [(b"fields", 1 << 20, bytes(range(256)) * 300), (b"", 3, b"abc")]
    assert block.join(b"x" * 16, 0, 9, parts) == block.join_in_python(b"x" * 16, 0, 9, parts)


@pytest.mark.skipif(block.native is None, reason="the C extension is not built")
@pytest.mark.parametrize("parts", [None, [None], [(b"",)], [(b"", -1, b"")], [(b"", 1, "text")], [("text", 1, b"")]])
def test_what_is_no_column_is_refused(parts: Any) -> None:
    """With an error, whatever it is."""
    with pytest.raises((TypeError, OverflowError)):
        block.join(b"", 0, 1, parts)
