"""The cache of small fields: cached values equal those that are read, and the limit of bytes is respected."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit import Dataset
from rlds_kit.loader.field_cache import FieldCache, taken
from rlds_kit.loader.samples import Samples
from tests.loader.recording import numbered, plans, recorded, select_all
from tests.loader.truth import same_batches

LENGTHS = (17, 1, 40, 8)
STEPS = sum(LENGTHS)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Four episodes in blocks of four steps."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


def _load(samples: Samples, items: np.ndarray, cache: FieldCache) -> Any:
    pool = samples.pool(items, None, cache)
    for run in pool.runs():
        pool.load(run)
    return samples.batch(pool, items)


@pytest.mark.parametrize(
    ("limit", "paths"),
    [
        (0, set()),
        (10 * STEPS - 1, set()),
        (10 * STEPS, {"observation"}),
        (28 * STEPS, {"observation", "action", "reward"}),
        (1 << 20, {"observation", "action", "reward", "image"}),
    ],
)
def test_the_smallest_fields_are_cached(dataset: Dataset, limit: int, paths: set[str]) -> None:
    """As many as fit: each needs its bytes and one for its mask, and all together need one more."""
    samples = dataset.select("observation", "action", "reward", "image").transitions()
    assert {leaf.path for leaf in samples.cache(limit).leaves} == paths


@given(plan=plans(max_episodes=4, max_length=20), limit=st.sampled_from((0, 300, 3_000, 1 << 20)), data=st.data())
@settings(max_examples=25)
def test_caching_does_not_change_samples(plan: Any, limit: int, data: st.DataObject) -> None:
    """Whatever was recorded: samples are the same, bit for bit, with or without cached fields."""
    with recorded(plan) as dataset:
        samples = select_all(dataset, plan.kinds).windows(data.draw(st.integers(1, 4)), pad="zero")
        cache = samples.cache(limit)
        if len(samples):
            for _ in range(3):
                items = np.array(data.draw(st.lists(st.integers(0, len(samples) - 1), min_size=1, max_size=20)))
                assert same_batches([_load(samples, items, cache)], [samples.gather(items)])


def test_cached_fields_are_not_read_again(dataset: Dataset) -> None:
    """After one epoch nothing is left to read if everything is cached."""
    samples = dataset.select("observation", "action", "reward").transitions()
    items = np.arange(len(samples))
    cache = samples.cache(1 << 20)
    assert samples.pool(items, None, cache).runs()
    _load(samples, items, cache)
    assert not samples.pool(items, None, cache).runs()
    assert cache.is_known(0, LENGTHS[0])


def test_batches_are_copies_of_cached_values(dataset: Dataset) -> None:
    """Changing a batch does not change later ones."""
    batches = dataset.select("observation", "reward").windows(4).batches(16)
    for batch in batches:
        batch["observation"][...] = -1
        batch["reward"][...] = np.nan
    assert same_batches(list(batches), list(dataset.select("observation", "reward").windows(4).batches(16)))


def test_epochs_with_and_without_memory_are_equal(dataset: Dataset, tmp_path: Path) -> None:
    """In the first epoch, in the second, when small fields are cached, and after a state was restored."""
    del tmp_path
    samples = dataset.transitions(2)
    ample, scarce = (samples.batches(8, shuffle="global", memory=memory) for memory in (None, 1))
    for _ in range(3):
        assert same_batches(list(ample), list(scarce))
    restored = samples.batches(8, shuffle="global")
    list(restored)
    restored.load_state_dict(scarce.state_dict())
    assert same_batches(list(restored), list(scarce))


def test_pickles_hold_no_values(dataset: Dataset) -> None:
    """A pickle contains where the values are, not the values."""
    batches = dataset.windows(2).batches(8)
    fresh = len(pickle.dumps(batches))
    first = list(batches)
    assert len(pickle.dumps(batches)) < fresh + 2_000
    copied = pickle.loads(pickle.dumps(batches))  # noqa: S301  our own
    assert same_batches(list(copied), first)


@pytest.mark.parametrize("dtype", ["uint8", "bool", ">f8", "complex64", "datetime64[s]"])
@pytest.mark.parametrize("shape", [(), (3,), (64, 64, 2), (4095,), (4096,)])
@pytest.mark.parametrize("rows", [(), (5,), (2, 3), (0, 3)])
def test_rows_are_copied_in_the_shape_of_their_numbers(
    dtype: str, shape: tuple[int, ...], rows: tuple[int, ...]
) -> None:
    """Light rows by NumPy, heavy ones by C, if they are in one piece; bytes and dtype stay."""
    dice = np.random.default_rng(0)
    values = dice.integers(0, 2, (9, *shape)).astype(dtype)
    numbers = dice.integers(0, 9, rows)
    found = taken(values if rows != (5,) else np.asfortranarray(values), numbers)
    assert found.dtype == values.dtype
    assert found.shape == (*rows, *shape)
    assert found.tobytes() == values[numbers].tobytes()
