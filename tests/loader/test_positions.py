"""Positions of steps, with a table and without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.positions import Positions, ascending


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 100)), min_size=1, max_size=8),
    st.integers(0, 1 << 40),
    st.lists(st.integers(0, 1 << 30), max_size=20),
)
def test_positions_are_those_of_a_search(stretches: list[tuple[int, int]], first: int, chosen: list[int]) -> None:
    """For numbers that are close together or not, of any shape."""
    numbers = np.unique(np.concatenate([np.arange(begin, begin + count) for begin, count in stretches])) + first
    places = np.array(chosen, np.int64).reshape(1, -1) % len(numbers)
    found = Positions(numbers).of(numbers[places])
    assert found.shape == places.shape
    np.testing.assert_array_equal(found, places)


@given(st.lists(st.integers(-50, 50) | st.integers(-(1 << 40), 1 << 40), max_size=20), st.integers(1, 4))
def test_numbers_are_sorted_as_numpy_sorts_them(numbers: list[int], columns: int) -> None:
    """Each once, whether they are close together or not, in any shape."""
    given_numbers = np.array(numbers[: len(numbers) // columns * columns], np.int64).reshape(-1, columns)
    found = ascending(given_numbers)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.unique(given_numbers))


def test_no_numbers() -> None:
    """A pool for nothing has nothing in it."""
    assert Positions(np.empty(0, np.int64)).of(np.empty((0, 2), np.int64)).shape == (0, 2)


@pytest.mark.parametrize(("apart", "has_table"), [(1, True), (7, True), (9, False), (10_000, False)])
def test_a_table_has_at_most_64_bytes_for_a_number(apart: int, *, has_table: bool) -> None:
    """Numbers that are far apart are searched for."""
    found = Positions(np.arange(10_000) * apart)
    assert (found._pages is not None) == has_table
    if found._pages is not None:
        assert found._pages.nbytes + found._places.nbytes <= 64 * 10_000
    assert found.of(np.array([255 * apart]))[0] == 255


def test_stretches_far_apart_have_a_table() -> None:
    """As the steps of blocks in random order."""
    stretches = np.concatenate([begin + np.arange(100) for begin in range(0, 1_000_000, 10_000)])
    assert Positions(stretches)._pages is not None
