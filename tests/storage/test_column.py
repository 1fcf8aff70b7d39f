"""Columns: what is stored comes back, and what no writer wrote is refused."""

import tracemalloc
from typing import Any
from unittest import mock

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import DamagedError, FormatError
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, filters
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.compression import THOROUGH_LEVEL, compress_each
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from tests.storage import strategies
from tests.storage.truth import same


def _round_trip(column: Column) -> Column:
    header, payload = column_encoder.encode(column, FilterChoice())
    return columns.decode(layout_of(pb.Column.FromString(header.SerializeToString()), "here"), payload, "here")


def _array_column(items: list[np.ndarray], rows: list[int]) -> Column:
    key = ColumnKey("x", pb.ARRAY, items[0].dtype, items[0].ndim)
    shapes = np.array([item.shape for item in items], np.int64).reshape(len(items), key.rank)
    if (shapes == shapes[0]).all():
        return Column(key, np.array(rows), np.array(items, key.dtype))
    flat = np.concatenate([item.reshape(-1) for item in items]).astype(items[0].dtype)
    return Column(key, np.array(rows), flat, shapes)


@st.composite
def array_columns(draw: st.DrawFn) -> Column:
    """Dense, ragged and partial columns of any dtype."""
    dtype, rank = draw(strategies.any_dtypes), draw(st.integers(0, 3))
    shape = st.lists(st.integers(0, 3), min_size=rank, max_size=rank).map(tuple)
    rows = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=9)))
    one = draw(st.none() | shape)
    return _array_column([draw(strategies.array_like(dtype, one or draw(shape))) for _ in rows], rows)


@given(array_columns())
def test_a_column_comes_back(column: Column) -> None:
    """Rows, shapes and bits of a column survive, whatever filter and codec suited it."""
    read = _round_trip(column)
    assert read.key == column.key
    assert read.rows.tolist() == column.rows.tolist()
    assert all(map(same, map(np.array, read.items()), map(np.array, column.items())))


@given(array_columns(), st.integers(0, 41), st.integers(0, 41))
def test_a_part_of_a_column_has_its_rows(column: Column, begin: int, end: int) -> None:
    """`between` returns the rows of a range and their values."""
    part = column.between(begin, end)
    kept = [index for index, row in enumerate(column.rows.tolist()) if begin <= row < end]
    assert part.rows.tolist() == [column.rows[index] for index in kept]
    items = column.items()
    assert len(part.items()) == len(kept)
    assert all(same(np.array(one), np.array(items[index])) for one, index in zip(part.items(), kept, strict=True))


@given(array_columns(), st.data())
def test_any_flipped_bit_of_a_payload_is_found(column: Column, data: st.DataObject) -> None:
    """A payload that is not what was written does not match its checksum."""
    header, payload = column_encoder.encode(column, FilterChoice())
    if payload:
        changed = bytearray(payload)
        changed[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        with pytest.raises(DamagedError, match="here: column x does not match its checksum"):
            columns.decode(layout_of(header, "here"), bytes(changed), "here")
    for other in (payload + b"\0", payload[:-1]):
        if other != payload:
            with pytest.raises(DamagedError):
                columns.decode(layout_of(header, "here"), other, "here")


def _signed(payload: bytes, **fields: Any) -> tuple[pb.Column, bytes]:
    """A column of a writer at fault: with a checksum that matches."""
    import xxhash

    header = pb.Column(path="x", length=len(payload), xxh3=xxhash.xxh3_64_intdigest(payload), **fields)
    return header, payload


BOMB = zstandard.ZstdCompressor().compress(bytes(10_000_000))
HOLLOW = b"\x28\xb5\x2f\xfd\xe0" + (1 << 45).to_bytes(8, "little") + b"\x01\0\0"
"""A frame that announces 32 TiB, and ends."""
FAULTS: dict[str, tuple[pb.Column, bytes]] = {
    "unknown dtype": _signed(b"", dtype="float128"),
    "object dtype": _signed(b"", dtype="object"),
    "unknown kind": _signed(b"", kind=77),
    "unknown codec": _signed(b"", dtype="int8", codec=9),
    "unknown filter": _signed(b"ab", dtype="int8", count=2, decoded_length=2, filter=50),
    "too short": _signed(b"a", dtype="int8", count=2, decoded_length=1),
    "too long": _signed(b"abc", dtype="int8", count=2, decoded_length=3),
    "other decoded length": _signed(b"ab", dtype="int8", count=2, decoded_length=3),
    "hostile decoded length": _signed(b"ab", dtype="int8", count=2, decoded_length=1 << 60),
    "hostile count": _signed(b"", dtype="int8", count=1 << 62, decoded_length=0),
    "hostile partial count": _signed(b"", dtype="int8", count=1 << 62, decoded_length=0, partial=True),
    "hostile shape": _signed(b"ab", dtype="int8", count=2, decoded_length=2, rank=2, shape=(1 << 40, 1 << 40)),
    "hostile empty shape": _signed(b"", dtype="int8", count=1 << 40, rank=1, shape=(0,)),
    "hostile repeat": _signed(b"a", dtype="int8", count=1 << 50, decoded_length=1, filter=pb.REPEAT),
    "hostile first row": _signed(b"ab", dtype="int8", count=2, decoded_length=2, first_row=(1 << 64) - 1),
    "no shapes": _signed(b"", dtype="int8", count=2, rank=1, ragged=True),
    "shapes that lie": _signed(b"\x09\0\0\0ab", dtype="int8", count=1, rank=1, ragged=True, decoded_length=6),
    "hostile rank": _signed(b"", dtype="int8", count=2, rank=1 << 31, ragged=True),
    "shapes that overflow": _signed(
        b"\0\0\0\x80" * 3 + b"", dtype="int8", count=1, rank=3, ragged=True, decoded_length=12
    ),
    "no zstd": _signed(b"not a frame", dtype="int8", count=2, decoded_length=2, codec=pb.ZSTD),
    "a bomb that says so": _signed(BOMB, dtype="int8", count=2, decoded_length=10_000_000, codec=pb.ZSTD),
    "a bomb in rows without bytes": _signed(
        BOMB, dtype="int8", count=2, rank=1, shape=(0,), decoded_length=10_000_000, codec=pb.ZSTD
    ),
    "a bomb behind a bitmap": _signed(
        BOMB, dtype="int8", count=2, partial=True, decoded_length=10_000_000, codec=pb.ZSTD
    ),
    "a bomb": _signed(BOMB, dtype="int8", count=2, decoded_length=2, codec=pb.ZSTD),
    "a frame that announces more than there is": _signed(
        HOLLOW, dtype="int8", count=2, decoded_length=2, codec=pb.ZSTD
    ),
    "rank is not that of the shape": _signed(b"ab", dtype="int8", count=2, decoded_length=2, rank=3),
    "half a number": _signed(b"abc", dtype="int16", count=1, decoded_length=3),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_column_that_contradicts_itself_is_refused(fault: str) -> None:
    """Invalid content with a valid checksum is an error; no more memory is allocated than for the given bytes."""
    header, payload = FAULTS[fault]
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="here: column x"):
            columns.decode(layout_of(header, "here"), payload, "here")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("number", sorted(filters.APPLY.keys() - {pb.REPEAT, pb.PREDICT_SPLIT, pb.XOR_RUNS}))
@pytest.mark.parametrize("every", [1, 3])
def test_no_filter_makes_more_of_rows_than_a_reader_allows(number: int, every: int) -> None:
    """The worst of each, rows of one byte that nothing shortens, is read back, also where rows are missing.

    PREDICT_SPLIT may make more of tiny images and XOR_RUNS of short rows, which the recorder does not give them.
    """
    values = np.random.default_rng(0).integers(1, 256, 100, np.uint8)
    present = np.arange(99 * every + 1) % every == 0
    prefix = b"" if every == 1 else np.packbits(present, bitorder="little").tobytes()
    payload = prefix + filters.APPLY[number](values.reshape(100, 1), 1, ())[0].tobytes()
    header, payload = _signed(
        payload, dtype="uint8", count=len(present), partial=every > 1, filter=number, decoded_length=len(payload)
    )
    assert same(columns.decode(layout_of(header, "here"), payload, "here").values, values)


@pytest.mark.parametrize("kind", ["noise", "text"])
def test_what_compresses_badly_is_stored_as_it_is(kind: str) -> None:
    """No filter and no codec stand between a reader and values that they would make a few bytes shorter."""
    if kind == "noise":
        column = _array_column(list(np.random.default_rng(0).standard_normal((13, 3))), list(range(13)))
    else:
        key = ColumnKey("token", pb.BYTES, None, 1)
        column = Column(key, np.arange(2), np.frombuffer(b"ab" * 20, np.uint8), np.array([[10], [30]]))
    header, payload = column_encoder.encode(column, FilterChoice())
    assert (header.filter, header.codec) == (pb.IDENTITY, pb.STORED)
    assert payload.endswith(column.values.tobytes())
    assert same(columns.decode(layout_of(header, "here"), payload, "here").values, column.values)


def test_rows_that_are_all_equal_are_stored_once() -> None:
    """A constant field costs next to nothing."""
    column = _array_column([np.arange(1000)] * 64, list(range(64)))
    header, payload = column_encoder.encode(column, FilterChoice())
    assert header.filter == pb.REPEAT
    assert len(payload) < 8000


def test_light_columns_are_compressed_in_the_call_of_the_heavy_one() -> None:
    """All columns of a block take one call of zstd for each level, and every column comes back."""
    rng, rows = np.random.default_rng(0), np.arange(64)
    frames = np.zeros((64, 5000), np.uint8)
    frames[:, :40] = rng.integers(0, 9, (64, 40))
    block = [
        Column(ColumnKey("frame", pb.ARRAY, np.dtype(np.uint8), 1), rows, frames),
        *(Column(ColumnKey(f"x{i}", pb.INT, None, 0), rows, rng.integers(0, 9, 64).cumsum()) for i in range(3)),
    ]
    choose = FilterChoice()
    column_encoder.pack(block, choose)
    choose._chosen[block[0].key].choice = Choice(pb.XOR_RUNS, THOROUGH_LEVEL)
    with mock.patch.object(column_encoder, "compress_each", wraps=compress_each) as spy:
        packed = column_encoder.pack(block, choose)
    ((inputs,), _) = spy.call_args
    assert len(inputs) == 4
    assert {level for _, level in inputs} == {THOROUGH_LEVEL}
    for column, each in zip(block, packed, strict=True):
        layout = layout_of(column_encoder.describe(column, each), "here")
        assert columns.decode(layout, each.payload, "here").values.tobytes() == column.values.tobytes()


def test_a_column_does_not_keep_what_it_was_fetched_with() -> None:
    """A cached column of short texts must not keep the whole chunk with large frames in memory."""
    key = ColumnKey("token", pb.BYTES, None, 1)
    column = Column(key, np.array([0, 1]), np.frombuffer(b"\x07\xe3\x91", np.uint8), np.array([[1], [2]]))
    header, payload = column_encoder.encode(column, FilterChoice())
    assert header.codec == pb.STORED
    chunk = memoryview(payload + bytes(1 << 20))
    values = columns.decode(layout_of(header, "here"), chunk[: len(payload)], "here").values
    assert values.tobytes() == b"\x07\xe3\x91"
    assert not np.shares_memory(values, np.frombuffer(chunk, np.uint8))


def test_light_rows_that_hardly_compress_are_stored_as_they_are() -> None:
    """So that a row can be read without the others; frames, and rows that do compress, are compressed."""
    noise = np.random.default_rng(0)
    for shape, dtype, is_stored in (((17,), np.float32, True), ((2000,), np.float32, False), ((17,), np.int64, False)):
        values = noise.standard_normal((500, *shape)).astype(dtype)
        column = Column(ColumnKey("x", pb.ARRAY, values.dtype, 1), np.arange(500), values)
        header, payload = column_encoder.encode(column, FilterChoice())
        assert ((header.filter, header.codec) == (pb.IDENTITY, pb.STORED)) == is_stored
        assert same(columns.decode(layout_of(header, "here"), payload, "here").values, values)
