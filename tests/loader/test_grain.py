"""Samples, batches and episodes for Grain."""

import itertools
import json
from typing import Any

import grain
import numpy as np
import pytest

from rlds_kit import Dataset
from tests.loader.recording import numbered, plain, recorded

LENGTHS = (17, 1, 40, 8, 23, 2)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes whose observations count all steps, in blocks of four."""
    return numbered(tmp_path_factory.mktemp("counted"), LENGTHS)


def _numbers(elements: Any) -> list[int]:
    return [int(number) for element in elements for number in np.atleast_1d(element["observation"])]


def _global(dataset: Dataset, epochs: int = 1, seed: int = 0) -> list[int]:
    batches = dataset.transitions().batches(7, shuffle="global", seed=seed)
    return [number for _ in range(epochs) for number in _numbers(batches)]


def test_a_source_is_what_grain_asks_for(dataset: Dataset) -> None:
    """It has a length and items, and a short name that says what the data are."""
    source = dataset.transitions().as_grain_source()
    assert isinstance(source, grain.sources.RandomAccessDataSource)
    assert len(source) == 85
    assert _numbers(source[index] for index in range(85)) == _numbers(dataset.transitions())
    assert len(repr(source)) < 300
    assert repr(source) == repr(dataset.transitions().as_grain_source())
    others = [
        dataset.transitions().as_grain_source(seed=0),
        dataset.transitions().as_grain_source(epochs=2),
        dataset.windows(2).as_grain_source(),
        dataset.take([0, 1]).transitions().as_grain_source(),
    ]
    assert len({repr(source), *map(repr, others)}) == 5


def test_epochs_follow_each_other_in_their_own_order(dataset: Dataset) -> None:
    """That of the loader; negative places count from the end."""
    source = dataset.transitions().as_grain_source(seed=3, epochs=3)
    assert _numbers(grain.MapDataset.source(source)) == _global(dataset, epochs=3, seed=3)
    assert source[-1]["observation"] == source[3 * 85 - 1]["observation"]
    with pytest.raises(IndexError, match="there is no item 255"):
        source[255]


def test_the_source_takes_part_in_pipelines(dataset: Dataset) -> None:
    """Batches of nests, shuffled by Grain, sliced between processes, read by threads."""
    source = grain.MapDataset.source(dataset.transitions().as_grain_source())
    shuffled = source.shuffle(seed=1).batch(8).to_iter_dataset()
    assert sorted(_numbers(shuffled)) == sorted(_global(dataset))
    halves = [_numbers(source[index::2]) for index in range(2)]
    assert sorted(halves[0] + halves[1]) == sorted(_global(dataset))


def test_worker_processes_read_the_source(dataset: Dataset) -> None:
    """It is pickled to them, and opens its files anew."""
    source = dataset.transitions().as_grain_source(seed=1)
    made = grain.MapDataset.source(source).batch(5).to_iter_dataset()
    made = made.mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
    iterator = iter(made)
    assert _numbers(iterator) == _global(dataset, seed=1)
    iterator.close()


@pytest.mark.parametrize("observation", ["dict", "text", "tuple", "bfloat16"])
def test_elements_of_any_kind_are_batched(observation: str) -> None:
    with recorded(plain(5, observation=observation)) as recording:
        samples = recording.windows(2)
        (batch,) = grain.MapDataset.source(samples.as_grain_source()).batch(4)
        assert repr(batch["observation"]) == repr(samples.gather(range(4))["observation"])


def test_a_data_loader_saves_and_restores(dataset: Dataset) -> None:
    """Grain compares the names of the sources."""

    def loader(seed: int) -> Any:
        source = dataset.transitions().as_grain_source(seed=seed)
        sampler = grain.samplers.SequentialSampler(len(source), grain.sharding.NoSharding())
        return grain.DataLoader(data_source=source, sampler=sampler, operations=[grain.transforms.Batch(5)])

    running = iter(loader(1))
    begun = _numbers(next(running) for _ in range(3))
    state = running.get_state()
    resumed = iter(loader(1))
    resumed.set_state(state)
    assert begun + _numbers(resumed) == _global(dataset, seed=1)
    with pytest.raises(ValueError, match="DataSource in checkpoint does not match"):
        iter(loader(2)).set_state(state)


def test_episodes_are_items_of_a_source(dataset: Dataset) -> None:
    """Whole, in the order of the data, or in that of `torch_sampler`."""
    source = dataset.as_grain_source(metadata=["first"])
    assert [len(item["reward"]) for item in grain.MapDataset.source(source)] == list(LENGTHS)
    assert source[2]["observation"].tolist() == list(range(18, 58))
    assert (source[2]["first"], source[2]["end"]) == (18, "terminated")
    assert source[2]["valid"]["action"].tolist() == [True] * 39 + [False]
    mixed = dataset.as_grain_source(seed=4, epochs=2)
    sampler = dataset.torch_sampler(seed=4)
    order = [*sampler, *sampler]
    assert [len(mixed[place]["reward"]) for place in range(12)] == [LENGTHS[number] for number in order]


# Batches.


def test_batches_are_a_dataset_of_grain(dataset: Dataset) -> None:
    """Every iterator begins with the first epoch; without `epochs` there is no end."""
    batches = dataset.transitions().batches(7, shuffle="global", seed=2)
    list(batches)
    made = batches.as_grain_dataset(epochs=2)
    assert isinstance(made, grain.IterDataset)
    for _ in range(2):
        assert _numbers(made) == _global(dataset, epochs=2, seed=2)
    endless = batches.as_grain_dataset().map(lambda batch: {"observation": batch["observation"] + 1})
    assert _numbers(itertools.islice(endless, 3 * len(batches))) == [number + 1 for number in _global(dataset, 3, 2)]


@pytest.mark.parametrize("taken", [0, 1, 12, 13, 14, 25, 26])
def test_an_iterator_goes_on_exactly_where_it_was(dataset: Dataset, taken: int) -> None:
    """In the middle of an epoch and at its ends; the state is what JSON can hold."""
    made = dataset.transitions().batches(7, shuffle="global", seed=2).as_grain_dataset(epochs=2)
    running = iter(made)
    begun = _numbers(itertools.islice(running, taken))
    state = json.loads(json.dumps(running.get_state()))
    resumed = iter(made)
    next(resumed)
    resumed.set_state(state)
    assert begun + _numbers(resumed) == _global(dataset, epochs=2, seed=2)


def test_a_state_beyond_the_last_epoch_is_an_end(dataset: Dataset) -> None:
    """It was saved when there were more epochs to go through."""
    batches = dataset.transitions().batches(7)
    longer = iter(batches.as_grain_dataset(epochs=3))
    assert len(list(longer)) == 3 * len(batches)
    shorter = iter(batches.as_grain_dataset(epochs=2))
    shorter.set_state(longer.get_state())
    assert next(shorter, None) is None


def test_no_samples_are_no_batches(dataset: Dataset) -> None:
    assert list(dataset.windows(1000).batches(7).as_grain_dataset()) == []
    assert len(dataset.windows(1000).as_grain_source(epochs=3)) == 0
