"""Arrays of the same form: the C extension and its twin give the same results."""

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import array_form
from tests.storage import strategies

ARRAYS = strategies.arrays()


@given(ARRAYS, ARRAYS)
def test_both_say_which_arrays_are_alike(one: np.ndarray, other: np.ndarray) -> None:
    """By dtype and shape; not by what is in them or how it lies in memory."""
    assert array_form.is_alike(one, other) == array_form.is_alike_in_python(one, other)
    assert array_form.is_alike(one, array_form.example_of(one))
    assert array_form.is_alike(one, one.copy(order="F"))


@given(st.lists(st.booleans(), max_size=9), st.integers(1, 3))
def test_both_find_a_flag(flags: list[bool], every: int) -> None:
    """Wherever it is, also if the flags are not in one piece."""
    array = np.array(flags, np.bool_)[::every]
    assert array_form.any_true(array) == array_form.any_true_in_python(array) == (True in flags[::every])


@pytest.mark.skipif(array_form.native is None, reason="needs the C extension")
@pytest.mark.parametrize("wrong", [np.zeros(2), [True]])
def test_what_are_no_flags_is_refused(wrong: Any) -> None:
    """With an error."""
    with pytest.raises(TypeError):
        array_form.any_true(wrong)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(-(1 << 60), 1 << 60)), max_size=40))
def test_both_combine_flags_alike(lanes: list[tuple[bool, bool, int]]) -> None:
    """With each other, and with counts."""
    flags, others = (np.array([lane[at] for lane in lanes], np.bool_) for at in (0, 1))
    counts = np.array([lane[2] for lane in lanes], np.int64)
    assert array_form.both_true(flags, others) == array_form.both_true_in_python(flags, others)
    found, expected = array_form.add_flags(counts, flags), array_form.add_flags_in_python(counts, flags)
    assert found.dtype == expected.dtype == np.int64
    assert found.tolist() == expected.tolist() == [count + int(flag) for flag, _, count in lanes]


@pytest.mark.skipif(array_form.native is None, reason="needs the C extension")
@pytest.mark.parametrize("wrong", [np.zeros(2), np.zeros(3, np.bool_), np.zeros((2, 1), np.bool_), [True] * 2])
def test_flags_that_do_not_fit_are_refused(wrong: Any) -> None:
    """With an error: of another type, number or shape."""
    flags = np.ones(2, np.bool_)
    for call in (
        lambda: array_form.both_true(flags, wrong),
        lambda: array_form.both_true(wrong, flags),
        lambda: array_form.add_flags(np.zeros(2, np.int64), wrong),
        lambda: array_form.add_flags(np.zeros(2), flags),
        lambda: array_form.both_true(flags, np.ones(4, np.bool_)[::2]),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("other", [np.dtype("<M8[ms]"), np.dtype([("x", "<f4")]), np.dtype(">f8"), np.dtype("S1")])
def test_dtypes_that_differ_a_little_are_not_alike(other: np.dtype[Any]) -> None:
    """Units, names and the order of bytes count."""
    for dtype in (np.dtype("<M8[s]"), np.dtype([("y", "<f4")]), np.dtype("<f8"), np.dtype("S2")):
        assert not array_form.is_alike(np.zeros(2, other), np.zeros(2, dtype))


@given(ARRAYS, st.integers(1, 3), st.integers(-1, 3))
def test_both_put_the_same_into_a_row(array: np.ndarray, count: int, row: int) -> None:
    """The C extension leaves to NumPy what does not lie in one piece."""
    here, there = (np.zeros((count, *array.shape), array.dtype) for _ in range(2))
    did = array_form.put_row_in_python(here, row, array)
    assert did == (0 <= row < count)
    if array_form.put_row(there, row, array):
        assert here.tobytes() == there.tobytes()
        assert did
    else:
        assert not did or not array.flags.c_contiguous
        assert not there.view(np.uint8).any() if there.size else True


@given(ARRAYS, ARRAYS)
def test_nothing_is_put_where_it_does_not_fit(array: np.ndarray, other: np.ndarray) -> None:
    """Another shape would be broadcast, and another dtype converted."""
    rows = np.zeros((2, *other.shape), other.dtype)
    for put_row in (array_form.put_row, array_form.put_row_in_python):
        if put_row(rows, 1, array):
            assert array_form.is_alike_in_python(array, other)
        else:
            assert not rows.any() if rows.dtype.kind not in "US" else True


@pytest.mark.parametrize("size", [4095, 4096, 4111, 100_800])
@pytest.mark.parametrize("offset", [0, 1, 15])
def test_large_rows_are_whole(size: int, offset: int) -> None:
    """In an array that is larger than the cache, wherever a row begins and ends; its neighbours stay as they are."""
    count = (2 << 20) // size + 2
    memory = np.zeros(offset + count * size, np.uint8)
    rows = memory[offset:].reshape(count, size)
    rng = np.random.default_rng(size + offset)
    value = rng.integers(1, 256, size + 1, np.uint8)[1:]
    for row in (0, 1, count - 1):
        rows[:] = 0
        assert array_form.put_row(rows, row, value)
        assert np.array_equal(rows[row], value)
        assert np.count_nonzero(memory) == size


def test_a_row_may_come_from_the_array_itself() -> None:
    """Even where the two overlap."""
    rows = np.arange(3 << 20, dtype=np.uint32).view(np.uint8).reshape(-1, 1 << 16)
    value = rows.reshape(-1)[1 << 15 : (1 << 15) + (1 << 16)]
    expected = value.copy()
    assert array_form.put_row(rows, 1, value)
    assert np.array_equal(rows[1], expected)


def test_rows_that_may_not_be_written_are_left() -> None:
    """The twin raises as NumPy does."""
    rows = np.zeros((2, 3))
    rows.flags.writeable = False
    if array_form.native is not None:
        assert not array_form.put_row(rows, 0, np.ones(3))
    assert not rows.any()


def test_examples() -> None:
    assert doctest.testmod(array_form).failed == 0


@given(ARRAYS, st.integers(1, 4), st.integers(1, 3), st.data())
def test_both_put_the_same_into_lanes(array: np.ndarray, lanes: int, capacity: int, data: st.DataObject) -> None:
    """In one row or in several, of all lanes or of some; a row or a lane that does not exist is refused."""
    values = np.stack([array] * lanes)
    if values.size:
        values[0] = np.zeros_like(array)
    places = np.array(data.draw(st.lists(st.integers(-1, capacity), min_size=lanes, max_size=lanes)), np.int64)
    some = data.draw(st.none() | st.lists(st.integers(0, lanes - 1), unique=True).map(sorted))
    chosen = None if some is None else np.array(some, np.int64)
    here, there = (np.zeros((capacity, *values.shape), values.dtype) for _ in range(2))
    did = array_form.put_lanes_in_python(here, places, chosen, values)
    at = places if chosen is None else places[chosen]
    assert did == bool(((at >= 0) & (at < capacity)).all())
    assert array_form.put_lanes(there, places, chosen, values) == did
    assert here.tobytes() == there.tobytes()


@pytest.mark.parametrize("put", [array_form.put_lanes, array_form.put_lanes_in_python])
def test_lanes_of_another_form_are_refused(put: Any) -> None:
    """Another dtype, shape, or number of lanes; nothing is written."""
    rows, places = np.zeros((3, 2, 4)), np.zeros(2, np.int64)
    for values in (np.ones((2, 4), np.float32), np.ones((2, 5)), np.ones((3, 4)), np.ones((2, 4), ">f8")):
        assert not put(rows, places, None, values)
    assert not rows.any()


@pytest.mark.skipif(array_form.native is None, reason="the twin leaves indexes to NumPy")
def test_indexes_that_are_not_int64_in_one_piece_are_left_to_numpy() -> None:
    """And so are values and rows that are not in one piece, and lanes that do not exist."""
    rows, places, values = np.zeros((3, 2, 4)), np.zeros(2, np.int64), np.ones((2, 4))
    every_second = np.zeros(4, np.int64)[::2]
    for at, lanes in ((places.astype(np.int32), None), (every_second, None), (places, every_second), (places, [0])):
        assert not array_form.put_lanes(rows, at, lanes, values)  # type: ignore[arg-type]
    for lane in (-1, 2):
        assert not array_form.put_lanes(rows, places, np.array([lane]), values)
    assert not array_form.put_lanes(rows, places, None, np.ones((4, 2)).T)
    assert not array_form.put_lanes(rows[:, :, ::2], places, None, np.ones((2, 2)))
    rows.flags.writeable = False
    assert not array_form.put_lanes(rows, places, None, values)
    assert not rows.any()


@given(ARRAYS, st.integers(1, 70), st.integers(1, 4), st.integers(0, 4))
def test_both_turn_rows_alike(array: np.ndarray, lanes: int, capacity: int, count: int) -> None:
    """The first rows of all lanes, or all."""
    rows = np.zeros((capacity, lanes, *array.shape), array.dtype)
    rows[-1, :] = array
    rows[0, -1] = array
    count = min(count, capacity)
    here, there = (np.zeros((lanes, count, *array.shape), array.dtype) for _ in range(2))
    array_form.turn_in_python(((rows, here),))
    array_form.turn(((rows, there),))
    assert here.tobytes() == there.tobytes() == np.ascontiguousarray(rows[:count].swapaxes(0, 1)).tobytes()


@pytest.mark.parametrize("turn", [array_form.turn, array_form.turn_in_python])
def test_rows_are_turned_into_what_has_their_form(turn: Any) -> None:
    """Anything else is refused, and nothing is written."""
    rows = np.ones((3, 2, 4))
    for lanes in (
        np.zeros((3, 2, 4)),
        np.zeros((2, 4, 4)),
        np.zeros((2, 3, 5)),
        np.zeros((2, 3, 4), np.float32),
        np.zeros((2, 3)),
        np.zeros((2, 3, 8))[..., ::2],
    ):
        with pytest.raises(ValueError, match="expected"):
            turn(((rows, lanes),))
        assert not lanes.any()
    with pytest.raises(ValueError, match="expected"):
        turn(((np.ones((3, 2, 8))[..., ::2], np.zeros((2, 3, 4))),))
