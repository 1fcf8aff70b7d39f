"""Where episodes end in the rows of a log."""

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import row_ends
from rlds_kit.storage.array_form import native
from rlds_kit.storage.row_ends import ends_of, ends_of_in_python


@given(data=st.data(), lanes=st.integers(0, 70), room=st.integers(0, 20), density=st.sampled_from([0.0, 0.02, 0.5]))
def test_where_episodes_end_is_found_alike(data: Any, lanes: int, room: int, density: float) -> None:
    """In C, which looks at eight lanes at once, and by NumPy."""
    rng, count = np.random.default_rng(data.draw(st.integers(0, 99))), data.draw(st.integers(0, room))
    ends = np.where(rng.random((room, lanes)) < density, rng.integers(1, 4, (room, lanes)), 0).astype(np.uint8)
    assert ends_of(ends, count) == ends_of_in_python(ends, count)


@pytest.mark.skipif(native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize(
    ("ends", "count"),
    [
        (np.zeros((2, 3), np.uint8), 3),
        (np.zeros((2, 3), np.uint8), -1),
        (np.zeros((2, 3), np.int8), 1),
        (np.zeros(3, np.uint8), 1),
        (np.zeros((2, 6), np.uint8)[:, ::2], 1),
    ],
)
def test_other_rows_of_ends_are_refused(ends: np.ndarray, count: int) -> None:
    """No byte of other memory is read."""
    with pytest.raises(ValueError, match="and some of its rows"):
        ends_of(ends, count)


def test_examples() -> None:
    assert doctest.testmod(row_ends).failed == 0
