"""The cache of bytes that processes share: what it returns was stored, whatever happens to its memory."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.shared_cache import PAGE, SharedCache


def content(key: int, size: int) -> np.ndarray:
    """The bytes of an entry."""
    return np.random.default_rng(key).integers(0, 256, size, np.uint8)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3 * PAGE)), max_size=40),
    st.integers(1, 400_000),
    st.integers(0, 2 * PAGE),
)
def test_entries_are_as_they_were_stored(stored: list[tuple[int, int]], limit: int, begin: int) -> None:
    """The latest of a number, or none; any part of it."""
    cache, latest = SharedCache(limit), dict[int, int]()
    for key, size in stored:
        cache.put(key, key % 7, content(key, size))
        if cache.admits(size):
            latest[key] = size
    for key in range(41):
        entry = cache.get(key)
        if entry is None:
            continue
        assert (entry.size, entry.number) == (latest[key], key % 7)
        end = max(begin, entry.size)
        found = entry.read(min(begin, entry.size - 1), min(end, entry.size))
        assert found is not None
        assert np.array_equal(found, content(key, entry.size)[min(begin, entry.size - 1) : end])


def test_the_newest_entries_are_there() -> None:
    """The oldest make room."""
    cache = SharedCache(10 * PAGE)
    for key in range(30):
        cache.put(key, 1, content(key, PAGE))
    found = [key for key in range(30) if cache.get(key)]
    assert found == list(range(30 - len(found), 30))
    assert 8 <= len(found) <= 10


def test_an_entry_that_is_overwritten_is_noticed() -> None:
    """Also between `get` and `read`."""
    cache = SharedCache(8 * PAGE)
    cache.put(0, 1, content(0, PAGE))
    entry = cache.get(0)
    assert entry is not None
    for key in range(1, 20):
        cache.put(key, 1, content(key, PAGE))
    assert entry.read(0, 100) is None


@given(st.integers(0, 3 * PAGE + 24), st.integers(1, 255))
def test_bytes_that_changed_are_noticed(at: int, change: int) -> None:
    """As when another process writes to the same place: no page with other bytes is returned."""
    cache = SharedCache(40 * PAGE)
    cache.put(5, 1, content(5, 3 * PAGE))
    cache.ring[at] ^= change
    entry = cache.get(5)
    assert entry is not None
    for page in range(3):
        found = entry.read(page * PAGE, (page + 1) * PAGE)
        assert found is None or np.array_equal(found, content(5, 3 * PAGE)[page * PAGE : (page + 1) * PAGE])
    assert at >= 3 * PAGE + 24 or entry.read(0, 3 * PAGE) is None


def test_nothing_is_cached_without_memory() -> None:
    """A limit of zero is a limit."""
    cache = SharedCache(0)
    cache.put(1, 1, content(1, 10))
    assert cache.get(1) is None


def test_a_copy_is_empty() -> None:
    """Bytes are not pickled."""
    cache = SharedCache(10 * PAGE)
    cache.put(1, 1, content(1, 10))
    assert pickle.loads(pickle.dumps(cache)).get(1) is None  # noqa: S301  our own bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_forked_processes_share_it() -> None:
    """What a child stores is there for its parent."""
    cache = SharedCache(10 * PAGE)
    child = os.fork()
    if not child:
        cache.put(3, 2, content(3, 1000))
        os._exit(0)
    os.waitpid(child, 0)
    entry = cache.get(3)
    assert entry is not None
    found = entry.read(0, 1000)
    assert found is not None
    assert np.array_equal(found, content(3, 1000))
