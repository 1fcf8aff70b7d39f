"""Rows of equal size: whether all are equal."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import rows as rows_module
from rlds_kit.storage.native import native


@given(st.integers(1, 5), st.integers(1, 40), st.data())
def test_rows_are_equal_if_no_byte_differs(count: int, width: int, data: st.DataObject) -> None:
    """C and NumPy agree, wherever the byte is."""
    rows = np.full((count, width), 7, np.uint8)
    assert rows_module.are_equal(rows)
    assert rows_module.are_equal_twin(rows)
    rows[data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, width - 1))] = 8
    assert rows_module.are_equal(rows) == rows_module.are_equal_twin(rows) == (count == 1)


def test_rows_that_are_not_in_one_piece_are_compared() -> None:
    """By NumPy, which needs no copy."""
    rows = np.zeros((3, 4), np.uint8)
    rows[:, 1] = 1, 2, 3
    assert rows_module.are_equal(rows[:, ::2])
    assert not rows_module.are_equal(rows[:, :2])


@pytest.mark.skipif(native is None, reason="of the C extension")
@pytest.mark.parametrize(("size", "count"), [(6, 4), (6, 0), (0, 1), (6, -1)])
def test_sizes_that_do_not_fit_are_refused(size: int, count: int) -> None:
    """Before a byte is read."""
    assert native is not None
    with pytest.raises(ValueError, match="rows of"):
        native.are_equal(bytes(size), count)


def test_examples() -> None:
    assert doctest.testmod(rows_module).failed == 0
