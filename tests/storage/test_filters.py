"""Filters: each inverse undoes its filter, in C and in Python alike, and refuses what no filter makes."""

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import filters
from rlds_kit.storage.rows import Part, Rows

PREDICTING = (pb.PREDICT, pb.PREDICT_SPLIT)
SIZES = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def rows_of(draw: st.DrawFn, itemsize: int) -> Rows:
    """Rows of whole values; many of them alike, as in a game."""
    shape = (draw(st.integers(1, 9)), itemsize * draw(st.integers(1, 9)))
    rows: Rows = draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, 255), fill=st.sampled_from([0, 255])))
    return rows


def joined(parts: filters.Parts) -> np.ndarray:
    """What a filter made, as it is stored."""
    return np.concatenate([part.reshape(-1) for part in parts])


@given(st.data(), SIZES, st.sampled_from(sorted(filters.APPLY)))
def test_every_filter_is_undone(data: st.DataObject, itemsize: int, number: int) -> None:
    """Undo restores every bit, for every size of value that the filter supports."""
    rows = data.draw(rows_of(itemsize))
    if (number == pb.DELTA_SHUFFLE and itemsize == 16) or (number in PREDICTING and itemsize > 1):
        return  # complex numbers are never subtracted, and only bytes are predicted
    shape = (rows.shape[1] // itemsize,)
    if number == pb.REPEAT:
        rows = np.repeat(rows[:1], len(rows), axis=0)
    before = rows.copy()
    stored = joined(filters.APPLY[number](rows, itemsize, shape))
    assert np.array_equal(rows, before)
    out = np.full_like(rows, 7)
    filters.undo(number, stored, itemsize, shape, out)
    assert np.array_equal(out, before)
    begin = data.draw(st.integers(0, len(rows) - 1))
    part = np.full_like(rows[: data.draw(st.integers(1, len(rows) - begin))], 7)
    filters.undo(number, stored, itemsize, shape, part, Part(len(rows), begin))
    assert np.array_equal(part, before[begin : begin + len(part)])


@given(st.data(), SIZES, st.sampled_from([pb.SHUFFLE, pb.XOR_SHUFFLE, pb.DELTA_SHUFFLE]))
def test_byte_planes_are_the_same_in_both_implementations(data: st.DataObject, itemsize: int, number: int) -> None:
    """Any bytes are byte planes of some rows, which C and NumPy agree on."""
    if number == pb.DELTA_SHUFFLE and itemsize == 16:
        return
    rows = data.draw(rows_of(itemsize))
    twin, out = np.empty_like(rows), np.full_like(rows, 7)
    filters.unshuffle_twin(number, rows.reshape(-1), itemsize, twin)
    filters.unshuffle(number, rows.reshape(-1), itemsize, out)
    assert np.array_equal(out, twin)


@given(st.data(), SIZES, st.sampled_from([pb.SHUFFLE, pb.XOR_SHUFFLE, pb.DELTA_SHUFFLE]))
def test_both_implementations_make_the_same_byte_planes(data: st.DataObject, itemsize: int, number: int) -> None:
    """C and NumPy write the same bytes, whatever the rows."""
    if number == pb.DELTA_SHUFFLE and itemsize == 16:
        return
    rows = data.draw(rows_of(itemsize))
    expected = filters.shuffled_twin(number, rows, itemsize).reshape(-1)
    assert filters.shuffled(number, rows, itemsize).tolist() == expected.tolist()
    assert filters.shuffled_bytes(number, rows.tobytes(), len(rows), itemsize) == expected.tobytes()


@pytest.mark.parametrize("width", [8, 12, 24, 68, 8192, 20_000])
@pytest.mark.parametrize("number", [pb.SHUFFLE, pb.XOR_SHUFFLE, pb.DELTA_SHUFFLE])
def test_byte_planes_of_many_rows_are_undone(number: int, width: int) -> None:
    """More than one stretch of rows, and rows longer than one."""
    rows = np.random.default_rng(0).integers(0, 256, (3000, width), np.uint8)[: max(5, 100_000 // width)]
    out = np.empty_like(rows)
    stored = joined(filters.APPLY[number](rows, 4, (width // 4,)))
    filters.undo(number, stored, 4, (width // 4,), out)
    assert np.array_equal(out, rows)
    assert np.array_equal(stored, filters.shuffled_twin(number, rows, 4).reshape(-1))


@given(st.data())
def test_sparse_xor_is_the_same_in_both_implementations(data: st.DataObject) -> None:
    """The C extension writes the bytes that the NumPy twin writes, and each undoes the other's."""
    rows = data.draw(rows_of(1))
    assert filters.sparse_xor(rows).tolist() == filters.sparse_xor_twin(rows).tolist()
    for undo in (filters.unsparse_xor, filters.unsparse_xor_twin):
        out = np.empty_like(rows)
        undo(filters.sparse_xor_twin(rows), out)
        assert np.array_equal(out, rows)


@given(st.binary(max_size=40), st.integers(1, 5), st.integers(1, 17))
def test_sparse_xor_of_anything_is_refused_alike(stored: bytes, count: int, width: int) -> None:
    """Bytes that no filter made are refused by both implementations, or give the same rows."""
    results: list[Any] = []
    for undo in (filters.unsparse_xor, filters.unsparse_xor_twin):
        out = np.zeros((count, width), np.uint8)
        try:
            undo(np.frombuffer(stored, np.uint8), out)
            results.append(out.tolist())
        except ValueError:
            results.append("refused")
    assert results[0] == results[1]


@given(st.sampled_from([1 << 12, (1 << 12) + 1, (1 << 12) + 16]), st.integers(0, 255), st.sampled_from([0, 1, 16, 64]))
def test_many_rows_are_undone_in_memory_that_was_used_before(width: int, seed: int, offset: int) -> None:
    """Large rows are written past the cache, unless they or their memory are of odd sizes; damage is refused."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.integers(0, 256, (1, width), np.uint8), 600, axis=0)
    rows[rng.integers(0, 600, 50), rng.integers(0, width, 50)] += 1
    stored = filters.sparse_xor(rows)
    array = np.full(offset + rows.size, 7, np.uint8)
    out: Rows = array[offset:].reshape(600, width)
    with mock.patch.object(filters, "array_bytes", return_value=1 << 40):  # larger than every cache
        filters.unsparse_xor(stored, out)
        assert np.array_equal(out, rows)
        for other in (stored[:-1], np.concatenate((stored, [np.uint8(1)]))):
            with pytest.raises(ValueError, match="do not fit together"):
                filters.unsparse_xor(other, out)


@pytest.mark.parametrize("number", [*sorted(filters.APPLY), 10, 99])
def test_stored_bytes_of_another_size_are_refused(number: int) -> None:
    """One byte too few or too many is a ValueError, which a column turns into a FormatError."""
    rows = np.arange(24, dtype=np.uint8).reshape(3, 8)
    itemsize, shape = (1, (2, 4)) if number in PREDICTING else (4, (2,))
    apply = filters.APPLY.get(number, filters.APPLY[pb.IDENTITY])
    stored = joined(apply(rows, itemsize, shape))
    for other in (stored[:-1], np.concatenate((stored, [np.uint8(1)])), stored[:0]):
        with pytest.raises(ValueError):  # noqa: PT011  NumPy's own words
            filters.undo(number, other, itemsize, shape, np.empty_like(rows))


def test_an_unknown_filter_says_what_to_do() -> None:
    """Reading a filter of a later release raises an error that says so."""
    with pytest.raises(ValueError, match=r"filter 99 of .* is not known to this version; .* upgrade rlds_kit"):
        filters.undo(99, np.zeros(8, np.uint8), 1, (8,), np.zeros((1, 8), np.uint8))


def test_only_bytes_are_predicted() -> None:
    """What claims to be lines of larger elements was written by no known version."""
    with pytest.raises(ValueError, match="of elements of 2 bytes"):
        filters.undo(pb.PREDICT, np.zeros(9, np.uint8), 2, (4,), np.zeros((1, 8), np.uint8))


@pytest.mark.parametrize("kind", "biufcVUS")
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16, 20])
def test_candidates_can_be_undone(kind: str, itemsize: int) -> None:
    """What is tried for a dtype fits its size."""
    if kind in "iu" and itemsize > 8:
        return
    rows = np.random.default_rng(0).integers(0, 256, (5, itemsize * 3), np.uint8)
    for number in filters.candidates(kind, itemsize):
        out = np.empty_like(rows)
        stored = joined(filters.APPLY[number](rows, itemsize, (3,)))
        filters.undo(number, stored, itemsize, (3,), out)
        assert np.array_equal(out, rows)
