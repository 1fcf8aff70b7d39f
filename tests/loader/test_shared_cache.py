"""The cache of columns that processes share: what it returns was stored, whatever happens to its memory."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.loader import shared_cache
from rlds_kit.loader.shared_cache import PAGE, PICK, SharedCache
from rlds_kit.storage import filters
from rlds_kit.storage.rows import Rows

pytestmark = pytest.mark.skipif(shared_cache.native is None, reason="the C extension is left out")


def content(key: int, size: int) -> np.ndarray:
    """The bytes of a column."""
    return np.random.default_rng(key).integers(0, 256, size, np.uint8)


def taken(cache: SharedCache, key: int, rows: list[int], total: int, width: int) -> Rows | None:
    """Some rows of a column; None if it is not there."""
    columns, is_there = cache.find(np.array([key]))
    picks = np.array([(row, to) for to, row in enumerate(rows)], PICK)
    columns["total"], columns["picks"] = total, len(rows)
    out: Rows = np.full((len(rows), width), 7, np.uint8)
    return out if is_there[0] and cache.take(columns, picks, out, 1)[0] else None


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3 * PAGE)), max_size=40), st.integers(1, 400_000), st.data()
)
def test_columns_are_as_they_were_stored(stored: list[tuple[int, int]], limit: int, data: st.DataObject) -> None:
    """The latest of a number, or none; any rows of it, which are bytes here."""
    cache, latest = SharedCache(limit), dict[int, int]()
    for key, size in stored:
        cache.put(key, pb.IDENTITY, content(key, size))
        if cache.admits(size):
            latest[key] = size
    for key, size in latest.items():
        rows = sorted(data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9)))
        found = taken(cache, key, rows, size, 1)
        assert found is None or found[:, 0].tolist() == content(key, size)[rows].tolist()
    assert all(taken(cache, key, [0], 1, 1) is None for key in {*range(41)} - {*latest})


@given(
    st.integers(0, 99),
    st.sampled_from([pb.IDENTITY, pb.XOR_RUNS, pb.SPARSE_XOR, pb.SHUFFLE]),
    st.lists(st.integers(0, 19), min_size=1, max_size=30),
    st.integers(0, 3),
)
def test_rows_of_every_filter_are_undone(seed: int, number: int, rows: list[int], noise: int) -> None:
    """In ascending order; a row may be taken more than once."""
    dice = np.random.default_rng(seed)
    frames: Rows = np.repeat(dice.integers(0, 256, (1, 6000), np.uint8), 20, axis=0)
    frames[dice.integers(0, 20, 40 * noise), dice.integers(0, 6000, 40 * noise)] += 1
    stored = np.concatenate([part.reshape(-1) for part in filters.APPLY[number](frames, 1, (6000,))])
    cache = SharedCache(1 << 20)
    cache.put(9, number, stored)
    found = taken(cache, 9, sorted(rows), 20, 6000)
    assert found is not None
    assert np.array_equal(found, frames[sorted(rows)])


@pytest.mark.parametrize("number", [pb.IDENTITY, pb.XOR_RUNS, pb.SPARSE_XOR])
@pytest.mark.parametrize("offset", [0, 1])
def test_rows_go_anywhere_in_a_large_array(number: int, offset: int) -> None:
    """They are written past the cache, unless the array begins at an odd place; its other rows stay."""
    width, count = 1 << 12, 1 << 14  # 64 MiB: an eighth of the caches of most processors is less
    frames = np.repeat(content(1, width)[None], 20, axis=0)
    frames[np.arange(20), np.arange(20) * 100] += 1
    cache = SharedCache(1 << 20)
    cache.put(9, number, np.concatenate([part.reshape(-1) for part in filters.APPLY[number](frames, 1, (width,))]))
    columns, _ = cache.find(np.array([9]))
    picks = np.array([(0, count - 1), (3, 5), (3, 0), (19, 4)], PICK)
    columns["total"], columns["picks"] = 20, len(picks)
    expected = np.full((count, width), 7, np.uint8)
    expected[picks["to"]] = frames[picks["row"]]
    out = np.full(offset + expected.size, 7, np.uint8)[offset:].reshape(expected.shape)
    assert cache.take(columns, picks, out, 1)[0]
    assert np.array_equal(out, expected)


def test_the_newest_columns_are_there() -> None:
    """The oldest make room."""
    cache = SharedCache(10 * PAGE)
    for key in range(30):
        cache.put(key, pb.IDENTITY, content(key, PAGE))
    found = [key for key in range(30) if taken(cache, key, [0], PAGE, 1) is not None]
    assert found == list(range(30 - len(found), 30))
    assert 8 <= len(found) <= 10


def test_a_column_that_is_overwritten_is_noticed() -> None:
    """Also between `find` and `take`."""
    cache = SharedCache(8 * PAGE)
    cache.put(0, pb.IDENTITY, content(0, PAGE))
    columns, is_there = cache.find(np.array([0]))
    assert is_there.tolist() == [True]
    columns["total"], columns["picks"] = PAGE, 1
    for key in range(1, 20):
        cache.put(key, pb.IDENTITY, content(key, PAGE))
    assert cache.take(columns, np.zeros(1, PICK), np.zeros((1, 1), np.uint8), 1).tolist() == [False]


@given(st.integers(0, 3 * PAGE + 24), st.integers(1, 255))
def test_bytes_that_changed_are_noticed(at: int, change: int) -> None:
    """As when another process writes to the same place: no page with other bytes is returned."""
    cache = SharedCache(40 * PAGE)
    cache.put(5, pb.IDENTITY, content(5, 3 * PAGE))
    cache.ring[at] ^= change
    for page in range(3):
        found = taken(cache, 5, [page], 3, PAGE)
        assert found is None or np.array_equal(found[0], content(5, 3 * PAGE)[page * PAGE : (page + 1) * PAGE])
    assert at >= 3 * PAGE + 24 or taken(cache, 5, [0, 1, 2], 3, PAGE) is None


@given(st.lists(st.tuples(st.integers(-9, 30), st.integers(-9, 30)), min_size=1, max_size=4))
def test_picks_outside_are_refused(pairs: list[tuple[int, int]]) -> None:
    """Rows that a column does not have, and rows that the array does not have."""
    cache = SharedCache(40 * PAGE)
    cache.put(5, pb.IDENTITY, content(5, 20))
    columns, _ = cache.find(np.array([5]))
    columns["total"], columns["picks"] = 20, len(pairs)
    picks, out = np.array(pairs, PICK), np.zeros((10, 1), np.uint8)
    rows = [row for row, _ in pairs]
    if rows == sorted(rows) and all(0 <= row < 20 and 0 <= to < 10 for row, to in pairs):
        assert cache.take(columns, picks, out, 1).tolist() == [True]
    else:
        with pytest.raises(ValueError, match="in ascending order"):
            cache.take(columns, picks, out, 1)


def test_nothing_is_cached_without_memory() -> None:
    """A limit of zero is a limit."""
    cache = SharedCache(0)
    cache.put(1, pb.IDENTITY, content(1, 10))
    assert taken(cache, 1, [0], 10, 1) is None


def test_a_copy_is_empty() -> None:
    """Bytes are not pickled."""
    cache = SharedCache(10 * PAGE)
    cache.put(1, pb.IDENTITY, content(1, 10))
    assert taken(pickle.loads(pickle.dumps(cache)), 1, [0], 10, 1) is None  # noqa: S301  our own bytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_forked_processes_share_it() -> None:
    """What a child stores is there for its parent."""
    cache = SharedCache(10 * PAGE)
    child = os.fork()
    if not child:
        cache.put(3, pb.IDENTITY, content(3, 1000))
        os._exit(0)
    os.waitpid(child, 0)
    found = taken(cache, 3, [0], 1, 1000)
    assert found is not None
    assert np.array_equal(found[0], content(3, 1000))
