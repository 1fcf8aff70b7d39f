"""Positions of steps, with a table and without."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader import positions
from rlds_kit.loader.positions import Positions


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


def test_no_numbers() -> None:
    """A pool for nothing has nothing in it."""
    assert Positions(np.empty(0, np.int64)).of(np.empty((0, 2), np.int64)).shape == (0, 2)


def test_a_table_is_not_much_larger_than_the_numbers() -> None:
    """Numbers that are far apart are searched for."""
    far = Positions(np.arange(10) * 10_000)
    assert far._pages is None
    near = Positions(np.arange(10_000) * (positions._WIDEST - 1))
    assert near._pages is not None
    assert near._pages.nbytes + near._places.nbytes <= 40 * 8 * 10_000
    assert near.of(np.array([255 * 7]))[0] == 7
