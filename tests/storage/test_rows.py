"""Rows of equal size: whether all are equal, and copies of some."""

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


@given(st.integers(1, 6), st.integers(1, 40), st.data())
def test_some_rows_are_copied(total: int, width: int, data: st.DataObject) -> None:
    """In any order, and more than once; C and NumPy agree."""
    rows = np.arange(total * width, dtype=np.uint8).reshape(total, width)
    numbers = np.array(data.draw(st.lists(st.integers(0, total - 1), max_size=9)), np.int64)
    found, twin = np.empty((2, len(numbers), width), np.uint8)
    rows_module.take_rows(rows, numbers, found)
    if len(numbers):
        rows_module.take_rows_twin(rows, numbers, twin)
        assert found.tolist() == twin.tolist() == rows[numbers].tolist()


@pytest.mark.parametrize("offset", [0, 1])
def test_rows_are_copied_to_a_large_array(offset: int) -> None:
    """Past the cache, unless it begins at an odd place."""
    width, count = 1 << 12, 1 << 14  # 64 MiB: an eighth of the caches of most processors is less
    rows = np.random.default_rng(0).integers(0, 256, (50, width), np.uint8)
    numbers = np.random.default_rng(1).integers(0, 50, count)
    out = np.full(offset + count * width, 7, np.uint8)[offset:].reshape(count, width)
    rows_module.take_rows(rows, numbers, out)
    assert np.array_equal(out, rows[numbers])


@pytest.mark.parametrize("number", [-1, 3, 1 << 62, -(1 << 63)])
def test_rows_that_do_not_exist_are_not_copied(number: int) -> None:
    """Before anything is written."""
    for take in (rows_module.take_rows, rows_module.take_rows_twin):
        out = np.full((2, 4), 7, np.uint8)
        with pytest.raises(ValueError, match="numbers of"):
            take(np.zeros((3, 4), np.uint8), np.array([0, number]), out)
        assert (out == 7).all()


def test_numbers_of_rows_are_integers() -> None:
    """Of any size, also if they are not in one piece; others are not rounded."""
    rows, out = np.arange(12, dtype=np.uint8).reshape(3, 4), np.empty((2, 4), np.uint8)
    with pytest.raises(TypeError, match="Cannot cast"):
        rows_module.take_rows(rows, np.array([0.0, 1.5]), out)
    rows_module.take_rows(rows, np.array([0, 9, 2, 9], np.int16)[::2], out)
    assert out.tolist() == rows[[0, 2]].tolist()


@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (2, 3), (4, 2)])
def test_memory_of_another_size_is_refused(shape: tuple[int, int]) -> None:
    """Even if it has as many bytes."""
    with pytest.raises(ValueError, match="expected memory for 2 rows of 4 bytes"):
        rows_module.take_rows(np.zeros((3, 4), np.uint8), np.array([0, 1]), np.empty(shape, np.uint8))


@pytest.mark.skipif(native is None, reason="of the C extension")
@pytest.mark.parametrize(
    ("size", "numbers", "memory", "width"), [(8, 16, 7, 4), (8, 16, 12, 4), (8, 8, 0, 0), (8, 8, 8, -8)]
)
def test_c_refuses_sizes_that_do_not_fit(size: int, numbers: int, memory: int, width: int) -> None:
    """Before a byte is read."""
    assert native is not None
    with pytest.raises(ValueError, match="rows of"):
        native.take_rows(bytes(size), bytes(numbers), bytearray(memory), width)


def test_examples() -> None:
    assert doctest.testmod(rows_module).failed == 0
