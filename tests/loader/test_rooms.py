"""Memory that is used again."""

import multiprocessing
import os
import warnings
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.rooms import Rooms

SIZE: Final = 1 << 16


def test_memory_is_used_again_when_no_view_is_left() -> None:
    """A view of a view keeps it, whatever its dtype and shape."""
    rooms = Rooms()
    array = rooms.array(SIZE)
    place, view = array.ctypes.data, array.view(np.float32).reshape(4, -1)[1:, ::2]
    kept: Any = array[:8].data
    del array
    assert rooms.free_bytes == 0
    other = rooms.array(SIZE)
    assert other.ctypes.data != place
    del view
    assert rooms.free_bytes == 0
    del kept
    assert (rooms.free_bytes, rooms.lent_bytes) == (SIZE, SIZE)
    again = rooms.array(SIZE - 5)
    assert again.ctypes.data == place
    assert rooms.free_bytes == 0


def test_no_more_memory_stays_than_was_said() -> None:
    """What comes back beyond it goes to the system."""
    rooms = Rooms(3 * SIZE)
    arrays = [rooms.array(SIZE) for _ in range(8)]
    del arrays
    assert rooms.free_bytes == 3 * SIZE


def test_sizes_that_nobody_asks_for_any_more_make_room() -> None:
    """Another dataset has other sizes; those of the one before do not stay for ever."""
    rooms = Rooms(8 * SIZE)
    arrays = [rooms.array(SIZE) for _ in range(8)]
    del arrays
    assert rooms.free_bytes == 8 * SIZE
    larger = rooms.array(3 * SIZE)
    place = larger.ctypes.data
    del larger
    assert rooms.free_bytes <= 8 * SIZE
    assert rooms.array(3 * SIZE).ctypes.data == place


def test_memory_of_another_size_is_used_again() -> None:
    """Episodes differ in length: the smallest that fits is taken, and none that is more than four times too large."""
    rooms = Rooms()
    arrays = [rooms.array(times * SIZE) for times in (9, 3, 2)]
    places = {len(array) // SIZE: array.ctypes.data for array in arrays}
    del arrays
    first, second, third = rooms.array(SIZE), rooms.array(SIZE), rooms.array(SIZE)
    assert (first.ctypes.data, second.ctypes.data) == (places[2], places[3])
    assert third.ctypes.data != places[9]
    assert rooms.free_bytes == 9 * SIZE


def test_what_is_larger_than_needed_counts_as_free() -> None:
    """Small arrays that are kept, in the memory of large ones, waste no more than was said."""
    rooms, kept = Rooms(8 * SIZE), []
    for _ in range(20):
        large = rooms.array(4 * SIZE)
        del large
        kept.append(rooms.array(SIZE))
        assert rooms.free_bytes + rooms.spare_bytes <= 8 * SIZE
    assert rooms.lent_bytes == 20 * SIZE
    kept.clear()
    assert (rooms.lent_bytes, rooms.spare_bytes) == (0, 0)
    assert rooms.free_bytes <= 8 * SIZE


def test_what_came_back_last_is_taken_first() -> None:
    """It is the likeliest to be in a cache."""
    rooms = Rooms()
    one, other = rooms.array(SIZE), rooms.array(SIZE)
    place = one.ctypes.data
    del other, one
    assert rooms.array(SIZE).ctypes.data == place


@given(st.integers(SIZE, 1 << 24))
def test_little_is_wasted(size: int) -> None:
    """At most an eighth of memory that is new."""
    rooms = Rooms()
    array = rooms.array(size)
    assert array.nbytes == size
    assert size <= rooms.lent_bytes <= size * 9 / 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_has_memory_of_its_own() -> None:
    """What it writes is not seen in the other."""
    rooms = Rooms()
    array = rooms.array(SIZE)
    array[:] = 1
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that other threads may hold locks: none matters here
        child = context.Process(target=array.fill, args=(2,))
        child.start()
    child.join()
    assert child.exitcode == 0
    assert (array == 1).all()
