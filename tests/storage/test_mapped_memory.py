"""Memory apart from the heap."""

import doctest
import mmap
import weakref

import numpy as np
import pytest

from rlds_kit.storage import mapped_memory
from rlds_kit.storage.array_pool import MIN_BYTES, ArrayPool
from rlds_kit.storage.mapped_memory import map_memory, mapped_array


def _mapping_of(array: np.ndarray) -> object:
    """What an array has its memory from."""
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base.obj if isinstance(base, memoryview) else base


def test_a_mapping_is_released_with_the_last_view() -> None:
    """It can be written, and is all zeros before."""
    array = mapped_array(3 * mmap.PAGESIZE)
    view, mapping = array[5:].view(), _mapping_of(array)
    assert isinstance(mapping, mmap.mmap)
    released = weakref.ref(mapping)
    assert not array.any()
    view[0] = 1
    assert array[5] == 1
    del array, mapping
    assert released() is not None
    del view
    assert released() is None


def test_without_a_mapping_memory_comes_from_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process has a limit of mappings."""

    def fail(_: int) -> mmap.mmap:
        raise OSError

    monkeypatch.setattr(mapped_memory, "map_memory", fail)
    assert mapped_array(100).shape == (100,)
    assert _mapping_of(mapped_array(100)) is None
    with pytest.raises(MemoryError):
        mapped_array(1 << 60)


def test_large_arrays_of_a_pool_that_is_apart_are_mapped() -> None:
    """Its memory is used again, as that of others."""
    for is_apart in (True, False):
        pool = ArrayPool(is_apart=is_apart)
        large, small = pool.take((3, MIN_BYTES), np.dtype(np.int16)), pool.take((3,), np.dtype(np.int16))
        assert isinstance(_mapping_of(large), mmap.mmap) == is_apart
        assert _mapping_of(small) is None
        pool.give(large)
        again = pool.take((2, MIN_BYTES), np.dtype(np.float32))
        assert not np.shares_memory(large, again)
        assert np.shares_memory(large, pool.take((MIN_BYTES,), np.dtype(np.float32)))


def test_a_size_that_is_none_is_refused() -> None:
    """With the errors of the system."""
    with pytest.raises((OSError, OverflowError, ValueError)):
        map_memory(1 << 62)
    assert mapped_array(0).shape == (0,)


def test_examples() -> None:
    assert doctest.testmod(mapped_memory).failed == 0
