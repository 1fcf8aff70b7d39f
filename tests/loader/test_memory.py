"""Memory that is used again."""

import multiprocessing
import os
import warnings
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.memory import ReusableMemory

SIZE: Final = 1 << 16


def test_memory_is_used_again_when_no_view_is_left() -> None:
    """A view of a view prevents reuse, whatever its dtype and shape."""
    memory = ReusableMemory()
    array = memory.array(SIZE)
    place, view = array.ctypes.data, array.view(np.float32).reshape(4, -1)[1:, ::2]
    kept: Any = array[:8].data
    del array
    assert memory.free_bytes == 0
    other = memory.array(SIZE)
    assert other.ctypes.data != place
    del view
    assert memory.free_bytes == 0
    del kept
    assert (memory.free_bytes, memory.lent_bytes) == (SIZE, SIZE)
    again = memory.array(SIZE - 5)
    assert again.ctypes.data == place
    assert memory.free_bytes == 0


def test_unused_memory_stays_below_its_limit() -> None:
    """What comes back beyond it goes to the system."""
    memory = ReusableMemory(3 * SIZE)
    arrays = [memory.array(SIZE) for _ in range(8)]
    del arrays
    assert memory.free_bytes == 3 * SIZE


def test_sizes_that_are_not_requested_any_more_are_freed() -> None:
    """Another dataset has other sizes; those of the one before do not stay for ever."""
    memory = ReusableMemory(8 * SIZE)
    arrays = [memory.array(SIZE) for _ in range(8)]
    del arrays
    assert memory.free_bytes == 8 * SIZE
    larger = memory.array(3 * SIZE)
    place = larger.ctypes.data
    del larger
    assert memory.free_bytes <= 8 * SIZE
    assert memory.array(3 * SIZE).ctypes.data == place


def test_memory_of_another_size_is_used_again() -> None:
    """Episodes differ in length: the smallest that fits is taken, and none that is more than four times too large."""
    memory = ReusableMemory()
    arrays = [memory.array(times * SIZE) for times in (9, 3, 2)]
    places = {len(array) // SIZE: array.ctypes.data for array in arrays}
    del arrays
    first, second, third = memory.array(SIZE), memory.array(SIZE), memory.array(SIZE)
    assert (first.ctypes.data, second.ctypes.data) == (places[2], places[3])
    assert third.ctypes.data != places[9]
    assert memory.free_bytes == 9 * SIZE


def test_what_is_larger_than_needed_counts_as_free() -> None:
    """Small arrays in the memory of large ones waste no more than the documented amount."""
    memory, kept = ReusableMemory(8 * SIZE), []
    for _ in range(20):
        large = memory.array(4 * SIZE)
        del large
        kept.append(memory.array(SIZE))
        assert memory.free_bytes + memory.spare_bytes <= 8 * SIZE
    assert memory.lent_bytes == 20 * SIZE
    kept.clear()
    assert (memory.lent_bytes, memory.spare_bytes) == (0, 0)
    assert memory.free_bytes <= 8 * SIZE


def test_what_came_back_last_is_taken_first() -> None:
    """It is the likeliest to be in a cache."""
    memory = ReusableMemory()
    one, other = memory.array(SIZE), memory.array(SIZE)
    place = one.ctypes.data
    del other, one
    assert memory.array(SIZE).ctypes.data == place


@given(st.integers(SIZE, 1 << 24))
def test_little_is_wasted(size: int) -> None:
    """At most an eighth of memory that is new."""
    memory = ReusableMemory()
    array = memory.array(size)
    assert array.nbytes == size
    assert size <= memory.lent_bytes <= size * 9 / 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_has_memory_of_its_own() -> None:
    """Its writes are not visible in the other process."""
    memory = ReusableMemory()
    array = memory.array(SIZE)
    array[:] = 1
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that other threads may have locks: none matters here
        child = context.Process(target=array.fill, args=(2,))
        child.start()
    child.join()
    assert child.exitcode == 0
    assert (array == 1).all()
