"""Steps that are read one by one are those that are read block by block."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.loader.cached_leaf import CachedLeaf
from rlds_kit.loader.pool import Pool
from rlds_kit.loader.row_reader import RowReader
from rlds_kit.loader.samples import Samples
from rlds_kit.loader.shared_cache import SharedCache
from rlds_kit.loader.stored_leaf import StoredLeaf
from rlds_kit.storage import column as columns
from rlds_kit.storage import filters, located
from tests.loader.recording import Plan, plain, plans, recorded
from tests.loader.test_step_columns import dense_fields, first_byte_of_observations
from tests.storage.truth import same

in_c = pytest.mark.skipif(located.native is None, reason="the C extension is left out")


def from_pool(samples: Samples, numbers: list[int]) -> dict[str, Any]:
    """The same batch, read block by block."""
    with mock.patch.object(RowReader, "is_able", False):
        return samples.gather(numbers)


@given(plan=plans(), data=st.data(), memory=st.sampled_from([0, 1 << 12, 1 << 20]))
@settings(max_examples=60)
def test_samples_are_the_same(plan: Plan, data: st.DataObject, memory: int) -> None:
    """Of every kind, in any order, once more from the cache, and with a cache that is too small."""
    with recorded(plan) as dataset:
        names = dense_fields(dataset)
        if not names:
            return
        chosen = dataset.select(*names, "is_first", "is_last", "is_terminal")
        kinds = [chosen.windows(3, pad="zero")]
        if {"observation", "action", "reward"} <= {*names}:
            kinds.append(chosen.transitions(2, gamma=0.5))
        for samples in (each.cached(memory) for each in kinds):
            if not len(samples):
                continue
            numbers = data.draw(st.lists(st.integers(0, len(samples) - 1), max_size=12))
            expected = from_pool(samples, numbers)
            assert same(samples.gather(numbers), expected)
            assert same(samples.gather(numbers), expected)
            assert same(pickle.loads(pickle.dumps(samples)).gather(numbers), expected)  # noqa: S301  our own bytes


@in_c
@pytest.mark.parametrize("observation", ["vector", "scalar", "image", "large image"])
def test_most_recordings_are_read_so(observation: str) -> None:
    """Else the other tests would compare the pool with itself."""
    with recorded(plain(200, 150, observation=observation)) as dataset:
        samples = dataset.windows(8)
        numbers = [0, 3, 100, 180, 77, 77]
        expected = from_pool(samples, numbers)
        with mock.patch.object(Pool, "load", side_effect=AssertionError):
            assert same(samples.gather(numbers), expected)


def test_threads_read_the_same_samples() -> None:
    """Also the first ones, which find columns and fill caches."""
    with recorded(plain(*[40] * 20, observation="image")) as dataset:
        expected = from_pool(dataset.windows(4), list(range(100)))
        for memory in (0, 1 << 16, 1 << 22):
            for _ in range(4):
                samples = dataset.windows(4).cached(memory)
                with ThreadPoolExecutor(8) as executor:
                    found = executor.map(lambda _, samples=samples: samples.gather(range(100)), range(16))
                assert all(same(each, expected) for each in found)


@in_c
def test_rows_do_not_change_while_another_thread_reads_them() -> None:
    """Two threads decode the same block; one is ready, and reads its rows while the other is still decoding."""
    with recorded(plain(*[400] * 2, block_rows=400)) as dataset:
        samples, numbers, decode_into = dataset.windows(4).cached(1 << 20), range(60), columns.decode_into
        expected = from_pool(samples, [*numbers])
        found: list[Any] = []

        def slow(stored: Any, payload: Any, name: str, out: Any, begin: int = 0) -> None:
            if threading.current_thread() is threading.main_thread():
                with ThreadPoolExecutor(1) as executor:
                    executor.submit(samples.gather, numbers).result()
                    out[...] = 0xAA
                    found.append(executor.submit(samples.gather, numbers).result())
            decode_into(stored, payload, name, out, begin)

        with mock.patch.object(columns, "decode_into", slow):
            assert same(samples.gather(numbers), expected)
        assert found
        assert all(same(each, expected) for each in found)


@in_c
def test_dtypes_are_converted() -> None:
    """As for batches."""
    with recorded(plain(20, 15)) as dataset:
        samples = dataset.windows(4, dtypes={"reward": np.float16})
        assert same(samples.gather([1, 20]), from_pool(samples, [1, 20]))


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_damage_is_an_error(tmp_path: Path, memory: int) -> None:
    """The error of the pool, which has the place, and no wrong value: of rows in the file, and of rows in memory."""
    with recorded(plain(50, 40, observation="vector")) as dataset:
        shard = dataset.shards()[0]
        data = bytearray(shard.read_bytes())
        data[first_byte_of_observations(dataset)] ^= 1
        (tmp_path / shard.name).write_bytes(data)
        with pytest.raises(rlds_kit.DamagedError, match="rlds-kit"):
            rlds_kit.open(tmp_path).windows(4).cached(memory).gather([0])


def test_views_are_read_too() -> None:
    """Episodes in another order, and without some."""
    with recorded(plain(9, 7, 30, 4, observation="vector")) as dataset:
        samples = dataset.take([3, 0, 2]).windows(3)
        numbers = list(range(len(samples)))
        assert same(samples.gather(numbers), from_pool(samples, numbers))


def test_a_cache_must_have_a_size() -> None:
    """Zero bytes are none."""
    with recorded(plain(4)) as dataset, pytest.raises(ValueError, match="memory"):
        dataset.windows(2).cached(-1)


@in_c
def test_a_cache_of_another_size_outlives_an_epoch() -> None:
    """What an epoch has decoded, the next one finds, also if the caller chose how much memory batches may take."""
    with recorded(plain(400, 400, block_rows=400)) as dataset:
        batches = dataset.windows(4).batches(8, shuffle="global", memory=32 << 20)
        with mock.patch.object(columns, "decode_into", wraps=columns.decode_into) as decoded:
            first = len(list(batches)), decoded.call_count
            second = len(list(batches)), decoded.call_count - first[1]
    assert first[0] == second[0] > 1
    assert first[1] > 1
    assert second[1] == 0


@in_c
@pytest.mark.parametrize(("lengths", "kind"), [([2] * 300, CachedLeaf), ([3000], StoredLeaf)])
def test_no_table_is_larger_than_what_it_describes(lengths: list[int], kind: type) -> None:
    """The blocks of short episodes are read at once; where each of their columns is would take more memory."""
    with recorded(plain(*lengths, block_rows=500)) as dataset:
        samples = dataset.select("observation", "reward").windows(1).cached(0)
        numbers = [*range(0, 550, 7)]
        assert same(samples.gather(numbers), from_pool(samples, numbers))
        readers = [*samples._reader._leaves.values()]
        assert all(isinstance(each, kind) for each in readers)


@in_c
@pytest.mark.parametrize(("memory", "is_cached"), [(126_000, False), (130_000, True)])
def test_columns_are_not_cached_in_vain(memory: int, is_cached: bool) -> None:
    """Frames of a camera, of which a cache would have decoded rows: 384,000 bytes, about three times as much."""
    with recorded(plain(100, 100, observation="noisy image", block_rows=10)) as dataset:
        samples = dataset.select("observation").windows(2).cached(memory)
        expected = from_pool(samples, [5, 5, 8, 90, 150, 9, 33])
        with mock.patch.object(SharedCache, "put", autospec=True, side_effect=SharedCache.put) as put:
            assert same(samples.gather([5, 5, 8, 90, 150, 9, 33]), expected)
        assert (put.call_count > 0) == samples._reader.uses_cache == is_cached
        (leaf,) = samples._reader._leaves.values()
        assert isinstance(leaf, StoredLeaf)
        assert (leaf._numbers[located.FILTER][leaf._numbers[located.STATUS] == located.FOUND] == pb.PREDICT_SPLIT).all()


@in_c
def test_columns_that_are_needed_again_at_once_are_cached() -> None:
    """Samples in order do not decode the same block for each, however small the cache is; samples far apart do."""
    with recorded(plain(400, observation="noisy image", block_rows=5)) as dataset:
        for numbers, decodes in (([*range(100)], 40), ([*range(0, 400, 5)] * 2, 160)):
            samples = dataset.select("observation").windows(1).cached(1 << 17)
            expected = from_pool(samples, numbers)
            with mock.patch.object(columns, "decode_into", wraps=columns.decode_into) as decoded:
                found = [samples.gather([number])["observation"] for number in numbers]
            assert np.array_equal(np.concatenate(found), expected["observation"])
            assert decoded.call_count == decodes
        samples = dataset.select("observation").windows(1).cached(1 << 17)
        with mock.patch.object(SharedCache, "put", autospec=True) as put:
            for _ in range(3):
                samples.gather(range(0, 400, 5))  # a batch of a shuffle, with columns of the one before
        assert put.call_count == 0


@in_c
@pytest.mark.parametrize("observation", ["still image", "constant image"])
def test_compressed_forms_are_cached_however_small_the_cache_is(observation: str) -> None:
    """A fraction of the cache has all of these rows."""
    with recorded(plain(400, observation=observation, block_rows=40)) as dataset:
        samples = dataset.select("observation").windows(1).cached(1 << 16)
        with mock.patch.object(SharedCache, "put", autospec=True, side_effect=SharedCache.put) as put:
            assert same(samples.gather([5, 390]), from_pool(samples, [5, 390]))
        assert put.call_count == 2
        assert samples._reader.uses_cache


@in_c
def test_without_a_cache_only_requested_rows_are_decoded_or_those_before_them() -> None:
    """And those between them; the filter writes them to where they are returned or copied from."""
    with recorded(plain(40, observation="noisy image", block_rows=40)) as dataset:
        samples = dataset.select("observation").windows(2).cached(0)
        for numbers, rows in (([7], (2, 7)), ([7, 8], (3, 7)), ([20, 11], (11, 11)), ([0], (2, 0))):
            expected = from_pool(samples, numbers)
            with mock.patch.object(filters, "unpredict_split", wraps=filters.unpredict_split) as decoded:
                assert same(samples.gather(numbers), expected)
            ((_, _, out, part),) = [each.args for each in decoded.call_args_list]
            assert (len(out), part.begin, part.total) == (*rows, 40)


@in_c
@pytest.mark.parametrize("numbers", [[5, 5, 7], [5, 6, 6], [7, 6, 5], [5, 7, 9], [6, 5, 7], [5, 6, 8, 7]])
def test_rows_of_a_block_come_in_any_order_without_a_cache(numbers: list[int]) -> None:
    """Also one of them twice, where there are as many rows as there would be without gaps."""
    with recorded(plain(40, observation="noisy image", block_rows=40)) as dataset:
        samples = dataset.select("observation").windows(1).cached(0)
        assert same(samples.gather(numbers), from_pool(samples, numbers))


@in_c
@pytest.mark.parametrize(
    ("observation", "memory"),
    [
        ("noisy image", 0),
        ("noisy image", 1 << 17),
        ("noisy image", 1 << 21),
        ("still image", 0),
        ("still image", 1 << 17),
        ("large image", 0),
        ("large image", 1 << 22),
    ],
)
def test_damage_of_compressed_columns_is_an_error(tmp_path: Path, observation: str, memory: int) -> None:
    """Whether they are decoded into the cache, or without it."""
    with recorded(plain(400, observation=observation, block_rows=40)) as dataset:
        shard = dataset.shards()[0]
        data = bytearray(shard.read_bytes())
        data[first_byte_of_observations(dataset) + 1000] ^= 1
        (tmp_path / shard.name).write_bytes(data)
        samples = rlds_kit.open(tmp_path).select("observation").windows(1).cached(memory)
        assert isinstance(next(iter(samples._reader._leaves.values())), StoredLeaf)
        for _ in range(2):
            with pytest.raises(rlds_kit.DamagedError, match="rlds-kit"):
                samples.gather([30])
        assert same(samples.gather([50]), dataset.select("observation").windows(1).gather([50]))


@in_c
def test_threads_decode_without_a_cache() -> None:
    """Each has memory of its own for what it decodes."""
    with recorded(plain(*[40] * 10, observation="noisy image", block_rows=10, shard_episodes=3)) as dataset:
        samples = dataset.select("observation").windows(1).cached(0)
        numbers = [[*range(first, 400, 3)] for first in range(8)]
        expected = [from_pool(samples, each) for each in numbers]
        no_pools = mock.patch.object(Pool, "load", side_effect=AssertionError)
        with no_pools, ThreadPoolExecutor(8) as executor:
            for _ in range(5):
                found = executor.map(samples.gather, numbers)
                assert all(same(one, other) for one, other in zip(found, expected, strict=True))


@in_c
def test_pools_are_for_blocks_of_which_many_samples_are_requested() -> None:
    """Each decodes a block once; without pools it is decoded again for samples of another batch."""
    with recorded(plain(40, 40, observation="noisy image", block_rows=4)) as dataset:
        reader = dataset.select("observation").windows(2).cached(0)._reader
        assert not reader.is_quick
        assert reader.is_quicker_than_pools(79)
        assert not reader.is_quicker_than_pools(80)
        assert dataset.select("observation").windows(2)._reader.is_quicker_than_pools(1 << 20)


@in_c
def test_a_global_shuffle_uses_pools_if_many_samples_share_a_block() -> None:
    """As many as fit into half of the memory, or as there are; their pairs of rows count once."""
    with recorded(plain(40, 40, observation="noisy image", block_rows=20)) as dataset:
        samples = dataset.select("observation").windows(2)
        for rows, is_pooled in ((60, False), (64, True)):
            assert (samples.random_access(rows * 1920) is None) == is_pooled
        assert dataset.select("observation").windows(2, 20).random_access(64 * 1920) is not None  # there are four


def test_what_only_pools_can_read_is_read_by_pools() -> None:
    """Values of different shapes."""
    with recorded(plain(9, observation="ragged")) as dataset:
        samples = dataset.select("observation").windows(2)
        assert not samples._reader.is_quick
        assert not samples._reader.is_quicker_than_pools(0)
        assert samples.random_access(1 << 20) is None
