"""Workers: each has its part, and together they have every sample once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit import Dataset
from tests.loader.recording import numbered, plain, recorded
from tests.loader.truth import numbers_of

LENGTHS = (17, 1, 40, 8, 23, 2)
SHUFFLES: tuple[Any, ...] = (None, "global", "blocks")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes in three shards, in blocks of four steps."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 200])
def test_workers_share_every_sample_once(dataset: Dataset, shuffle: Any, count: int) -> None:
    """Together they have everything, in every epoch; also if there are more workers than samples."""
    samples = dataset.select("observation").windows(2)
    workers = [samples.batches(4, shuffle=shuffle, shard=(index, count), memory=50) for index in range(count)]
    for _ in range(2):
        assert sorted(number for worker in workers for number in numbers_of(worker)) == sorted(
            numbers_of(samples.batches(4))
        )


@given(
    size=st.integers(0, 60),
    count=st.integers(1, 9),
    batch=st.integers(1, 9),
    shuffle=st.sampled_from(SHUFFLES),
    drop=st.booleans(),
)
@settings(max_examples=25)
def test_how_many_batches_a_worker_has(size: int, count: int, batch: int, shuffle: Any, drop: bool) -> None:
    """`len` is how many come; with `drop_remainder` all workers have equally many, all of them full."""
    with recorded(plain(*([size] if size else []), observation="scalar")) as dataset:
        samples = dataset.select("observation").windows(1)
        workers = [
            samples.batches(batch, shuffle=shuffle, drop_remainder=drop, shard=(index, count)) for index in range(count)
        ]
        sizes = [[len(each["mask"]) for each in worker] for worker in workers]
        assert [len(worker) for worker in workers] == [len(each) for each in sizes]
        if drop:
            assert sizes == [[batch] * (size // count // batch)] * count
        else:
            assert sum(map(sum, sizes)) == size
            assert max(map(sum, sizes)) - min(map(sum, sizes)) <= 1


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_dropped_samples_are_those_of_the_remainder(dataset: Dataset, shuffle: Any) -> None:
    """No sample comes twice; in another epoch others are left out, if they are shuffled."""
    samples = dataset.select("observation").windows(1)
    workers = [samples.batches(10, shuffle=shuffle, drop_remainder=True, shard=(index, 2)) for index in range(2)]
    left_out = []
    for _ in range(3):
        numbers = [number for worker in workers for number in numbers_of(worker)]
        assert len(numbers) == len(set(numbers)) == 80
        left_out.append(frozenset(range(sum(LENGTHS))) - set(numbers))
    assert len(set(left_out)) == (1 if shuffle is None else 3)
