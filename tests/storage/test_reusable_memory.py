"""Memory that is used again."""

import errno
import mmap
import multiprocessing
import os
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit.logger.episode_writer import EpisodeWriter
from rlds_kit.storage import restore
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.reusable_memory import ReusableMemory

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


def test_small_arrays_are_left_to_numpy() -> None:
    """The number of mappings of a process is limited."""
    memory = ReusableMemory(large=SIZE)
    small, large = memory.empty((SIZE - 1,), np.dtype(np.uint8)), memory.empty((SIZE // 8, 2), np.dtype(np.float32))
    assert (small.shape, large.shape) == ((SIZE - 1,), (SIZE // 8, 2))
    assert memory.lent_bytes == SIZE


def test_memory_that_does_not_exist_is_a_memory_error() -> None:
    """As it is with NumPy."""
    with pytest.raises(MemoryError):
        ReusableMemory().array(1 << 53)


def test_a_process_with_too_many_mappings_gets_memory_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may keep more arrays than the system maps."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    memory = ReusableMemory()
    array = memory.array(SIZE)
    array[:] = 1
    assert (array.shape, memory.lent_bytes) == ((SIZE,), 0)


def test_fields_of_episodes_are_read_into_memory_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New pages cost more than decoding. What is still in use does not change, and rows without a value are zeros."""
    frames = np.random.default_rng(0).integers(1, 256, (4, 20, 200, 300), np.uint8)
    with EpisodeWriter(tmp_path / "data", policy=FlushPolicy(block_rows=6), record_time=False) as writer:
        for number, of_episode in enumerate(frames):
            written = writer.episode()
            written.start(of_episode[0], number=number)
            for row in range(1, len(of_episode)):
                extra: dict[str, Any] = {"image": of_episode[-row]} if row % 3 == number % 3 else {}
                written.step(action=row, reward=1.0, observation=of_episode[row], number=number, **extra)
            written.end(rlds_kit.EpisodeEnd.TRUNCATED)
    memory = ReusableMemory(large=1 << 20)
    monkeypatch.setattr(restore, "field_memory", memory)
    episodes = rlds_kit.open(tmp_path / "data").episodes
    kept = episodes[0]["observation"][3:5]
    places = set()
    for number, episode in enumerate(episodes):
        observation = episode["observation"]
        np.testing.assert_array_equal(observation, frames[number])
        places.add(observation.ctypes.data)
        del observation
        image = episode["image"]
        there = [row for row in range(1, 20) if row % 3 == number % 3]
        np.testing.assert_array_equal(np.flatnonzero(image.any((1, 2))), there)
        np.testing.assert_array_equal(image[there], frames[number][[-row for row in there]])
        places.add(image.ctypes.data)
        del image
    assert len(places) == 1
    assert kept.ctypes.data not in places
    np.testing.assert_array_equal(kept, frames[0, 3:5])
    assert memory.free_bytes > 0


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
