"""The pool: which steps are decoded together, and what is taken from them."""

import itertools
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.loader import pool as pools
from rlds_kit.loader.pool import Pool, Run
from rlds_kit.loader.samples import Samples
from rlds_kit.storage.array_pool import ArrayPool
from tests.loader.recording import EpisodePlan, Plan, numbered, plain, recorded
from tests.loader.truth import flat
from tests.storage.truth import same

LENGTHS = (30, 1, 64, 7)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Four episodes in blocks of five steps."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS, block_rows=5)


def _loaded(samples: Samples, items: np.ndarray) -> Pool:
    pool = samples.pool(items)
    for run in pool.runs():
        pool.load(run)
    return pool


@given(items=st.lists(st.integers(0, sum(LENGTHS) - 1), max_size=30), limit=st.sampled_from((1, 6_000, 1 << 20)))
@settings(max_examples=60)
def test_runs_have_every_wanted_step_once(dataset: Dataset, items: list[int], limit: int) -> None:
    """Runs do not overlap, and none spans a block that is not needed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "RUN_BYTES", limit)
        runs = dataset.windows(1).pool(np.array(items, np.int64)).runs()
    bases = [0, *itertools.accumulate(LENGTHS)]
    wanted = [(int(np.searchsorted(bases, item, "right")) - 1, item) for item in sorted(set(items))]
    covered = [
        [(episode, item) for episode, item in wanted if run.episode == episode and _has(run, item - bases[episode])]
        for run in runs
    ]
    assert [each for part in covered for each in part] == wanted
    assert all(covered)
    for run, part in zip(runs, covered, strict=True):
        rows = [item - bases[episode] for episode, item in part]
        assert run.last == rows[-1]
        blocks = {row // 5 for row in rows}
        assert len(blocks) == max(blocks) - min(blocks) + 1
        assert run.end <= LENGTHS[run.episode]


def _has(run: Run, row: int) -> bool:
    return run.begin <= row < run.end


def test_runs_are_loaded_in_any_order_by_any_thread(dataset: Dataset) -> None:
    """Each writes to its own place."""
    samples = dataset.windows(4, pad="repeat")
    items = np.array([3, 90, 17, 50, 50, 31, 99, 0])
    expected = flat(samples.batch(_loaded(samples, items), items))
    for seed in range(5):
        pool = samples.pool(items)
        runs = pool.runs()
        random.Random(seed).shuffle(runs)
        threads = [threading.Thread(target=pool.load, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert same(flat(samples.batch(pool, items)), expected)


@pytest.mark.parametrize("limit", [1, 1 << 30])
def test_the_size_of_runs_does_not_show(dataset: Dataset, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps are decoded at once, what is taken is the same."""
    samples = dataset.transitions(3, 0.9)
    expected = flat(samples.gather(range(len(samples))))
    monkeypatch.setattr(pools, "RUN_BYTES", limit)
    assert same(flat(samples.gather(range(len(samples)))), expected)


def test_what_is_undefined_is_zero_whatever_was_read_before() -> None:
    """Reused memory has no values of earlier steps: before a gap, at an end, or where values are undefined."""
    gaps = EpisodePlan(40, gaps=frozenset({7, 20, 21}), lacks_observation=True)
    plan = Plan((gaps, gaps), observation="large image", action="continuous", is_scheduled=True, block_rows=8)
    with recorded(plan) as dataset:
        samples = dataset.windows(2, pad="zero")
        whole = samples.gather(range(len(samples)))
        for stride in (1, 2, 3, 5):
            items = np.arange(0, len(samples), stride)
            part = samples.gather(items)
            for path, array in flat(part).items():
                assert np.array_equal(array, flat(whole)[path][items]), path
            for name in ("observation", "action", "reward"):
                assert not part[name][~part["valid"][name]].any()


class _Used(ArrayPool):
    """Memory that had other values."""

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        array = super().take(shape, dtype)
        array.view(np.uint8)[...] = 0xA5
        return array


@pytest.mark.parametrize("reward", ["none", "sometimes"])
def test_a_field_that_no_step_of_a_run_has_is_zero(reward: str) -> None:
    """Memory is not cleared before it is used again."""
    plan = Plan((EpisodePlan(40), EpisodePlan(3, lacks_observation=True)), reward=reward, block_rows=4)
    with recorded(plan) as dataset:
        samples = dataset.windows(2)
        items = np.arange(len(samples))
        pool = samples.pool(items, _Used())
        for run in pool.runs():
            pool.load(run)
        assert same(flat(samples.batch(pool, items)), flat(samples.gather(items)))
        undefined = ~samples.batch(pool, items)["valid"]["reward"]
        assert undefined.any()
        assert not samples.batch(pool, items)["reward"][undefined].any()


def test_a_field_and_a_part_of_it_at_other_steps() -> None:
    """Each place of a chunk reads what it needs, also where one array is needed twice."""
    with recorded(plain(30, observation="dict", block_rows=4)) as dataset:
        pixels = dataset.episodes[0]["observation/pixels"]
        batch = dataset.chunks({"observation/pixels": [0, 3], "observation/t": [1]}).gather([0, 9, 26])
        assert np.array_equal(batch["observation"]["pixels"], pixels[[[0, 3], [9, 12], [26, 29]]])
        t = dataset.episodes[0]["observation/t"]
        assert batch["observation"]["t"].tolist() == t[[[1], [10], [27]]].tolist()


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    """Damage in a field that was not selected, or in blocks that no sample needs, does not matter."""
    dataset = numbered(tmp_path, [60], block_rows=5)
    name, entry = dataset._all[0]
    data = bytearray((tmp_path / name).read_bytes())
    begin, end = int(entry.blocks[6]), int(entry.blocks[7])
    expected = dataset.windows(3).gather([0, 5, 50])
    rewards = dataset.select("reward").windows(3).gather(range(58))
    data[(begin + end) // 2] ^= 1  # in the images, which are most of it
    (tmp_path / name).write_bytes(data)
    damaged = rlds_kit.open(tmp_path)
    assert same(flat(damaged.windows(3).gather([0, 5, 50])), flat(expected))
    assert same(flat(damaged.select("reward").windows(3).gather(range(58))), flat(rewards))
    with pytest.raises(rlds_kit.DamagedError):
        damaged.windows(3).gather([30])
