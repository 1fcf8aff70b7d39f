"""Arrays made alike: the C extension and its twin say and do the same."""

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


def test_rows_that_may_not_be_written_are_left() -> None:
    """The twin raises as NumPy does."""
    rows = np.zeros((2, 3))
    rows.flags.writeable = False
    if array_form.native is not None:
        assert not array_form.put_row(rows, 0, np.ones(3))
    assert not rows.any()


def test_examples() -> None:
    assert doctest.testmod(array_form).failed == 0
