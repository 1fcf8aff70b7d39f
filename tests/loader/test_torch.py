"""Samples, batches, episodes and orders for PyTorch."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit.loader.nests import flattened
from rlds_kit.logger import EpisodeWriter
from tests.loader.recording import EpisodePlan, Plan, numbered, plain, recorded

# Forking beside threads is what DataLoader does; later Pythons warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

LENGTHS = (17, 1, 40, 8, 23, 2)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes whose observations count all steps, in blocks of four."""
    return numbered(tmp_path_factory.mktemp("counted"), LENGTHS)


def _numbers(loader: Any) -> list[int]:
    return [int(number) for batch in loader for number in batch["observation"]]


def _global(dataset: Dataset, epochs: int = 1, **options: Any) -> list[int]:
    """Observations in the loader's own order."""
    batches = dataset.transitions().batches(7, shuffle="global", **options)
    return [int(each) for _ in range(epochs) for batch in batches for each in batch["observation"]]


def _plain(nest: Any) -> Any:
    """Tensors as lists, to compare them."""
    match nest:
        case dict():
            return {key: _plain(item) for key, item in nest.items()}
        case tuple() | list():
            return type(nest)(_plain(item) for item in nest)
        case torch.Tensor():
            return nest.to(torch.float32).tolist() if nest.dtype == torch.bfloat16 else nest.tolist()
        case np.ndarray() if nest.dtype == object:
            return [_plain(item) for item in nest.tolist()]
        case np.ndarray() | np.generic():
            return nest.astype(np.float32).tolist() if nest.dtype.name == "bfloat16" else nest.tolist()
    return nest


# Samples.


@pytest.mark.parametrize(
    "observation", ["vector", "dict", "tuple", "text", "ragged", "big-endian", "bfloat16", "zero-size"]
)
def test_samples_are_those_of_numpy(observation: str) -> None:
    """One by one, many at a time, and in a batch; text and values of several shapes stay lists."""
    with recorded(plain(5, 3, observation=observation)) as recording:
        for samples in (recording.windows(2), recording.transitions()):
            made = samples.as_torch_dataset()
            assert len(made) == len(samples)
            assert [_plain(made[index]) for index in range(len(made))] == [_plain(each) for each in samples]
            assert [_plain(each) for each in made.__getitems__([4, 0])] == [_plain(samples[4]), _plain(samples[0])]
            assert _plain(made[[4, 0]]) == _plain(samples.gather([4, 0]))


def test_tensors_keep_their_dtypes(dataset: Dataset) -> None:
    samples = dataset.windows(2)
    tensors, arrays = flattened(samples.as_torch_dataset()[[0, 1]]), flattened(samples.gather([0, 1]))
    assert {path: str(each.dtype) for path, each in arrays.items()} == {
        path: str(each.dtype).removeprefix("torch.") for path, each in tensors.items()
    }
    assert tensors["image"].dtype == torch.uint8
    assert tensors["is_first"].dtype == torch.bool


def test_bfloat16_keeps_its_bits() -> None:
    """PyTorch and NumPy have no common name for it."""
    with recorded(plain(4, observation="bfloat16")) as recording:
        samples = recording.windows(2)
        made, truth = samples.as_torch_dataset()[0]["observation"], samples[0]["observation"]
        assert made.dtype == torch.bfloat16
        assert np.array_equal(made.view(torch.int16).numpy(), truth.view(np.int16))


def test_tensors_may_be_written_to(dataset: Dataset) -> None:
    """They share no memory with data that is still read."""
    made = dataset.transitions().as_torch_dataset()
    made[3]["observation"].fill_(-1)
    assert int(made[3]["observation"]) == 3


def test_numbers_out_of_range_are_refused(dataset: Dataset) -> None:
    """Negative ones count from the end."""
    made = dataset.transitions().as_torch_dataset()
    assert _plain(made[-1]) == _plain(made[len(made) - 1])
    with pytest.raises(IndexError, match="there is no sample 85"):
        made[85]


def test_it_is_a_dataset_of_pytorch(dataset: Dataset) -> None:
    """Which others may ask, and take apart."""
    made: Any = dataset.transitions().as_torch_dataset()
    assert issubclass(type(made), torch.utils.data.Dataset)
    first, rest = torch.utils.data.random_split(made, [10, len(made) - 10], torch.Generator().manual_seed(0))
    numbers = _numbers(DataLoader(first, 4)) + _numbers(DataLoader(rest, 4))
    assert sorted(numbers) == sorted(_global(dataset))


# Episodes.


def test_episodes_are_whole() -> None:
    """Fields, flags, what is defined, who and how it ended."""
    plan = Plan(
        (EpisodePlan(4, EpisodeEnd.TRUNCATED), EpisodePlan(6, EpisodeEnd.TERMINATED, lacks_observation=True)),
        observation="dict",
    )
    with recorded(plan) as recording:
        made = recording.as_torch_dataset(metadata=["number"], dtypes={"reward": np.float32})
        assert issubclass(type(made), torch.utils.data.Dataset)
        assert len(made) == 2
        for number, (episode, item) in enumerate(zip(recording.episodes, made, strict=True)):
            assert item["observation"]["pixels"].shape == (episode.length, 4, 4)
            assert item["observation"]["name"][0] == episode[0]["observation"]["name"]
            assert item["reward"].dtype == torch.float32
            assert item["reward"].tolist() == episode["reward"].astype(np.float32).tolist()
            assert item["is_terminal"].tolist() == episode["is_terminal"].tolist()
            assert item["valid"]["action"].tolist() == episode.mask("action").tolist()
            assert item["valid"]["observation"]["pixels"].tolist() == episode.mask("observation").tolist()
            assert (item["episode_id"], item["end"]) == (str(episode.id), episode.end and episode.end.value)
            assert int(item["number"]) == number


def test_episodes_come_through_workers(dataset: Dataset) -> None:
    """Without collation, for their lengths differ."""
    loader = DataLoader(dataset.as_torch_dataset(), batch_size=None, num_workers=2)
    assert [len(episode["reward"]) for episode in loader] == list(LENGTHS)


def test_an_episode_out_of_range_is_refused(dataset: Dataset) -> None:
    with pytest.raises(IndexError, match="there is no episode 6"):
        dataset.as_torch_dataset()[6]


def test_a_field_with_a_name_of_ours_is_refused(tmp_path: Path) -> None:
    """One of the two would be lost."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0, valid=True)
    recording = rlds_kit.open(tmp_path)
    with pytest.raises(ValueError, match=r"a field 'valid'.*select"):
        recording.select("observation", "valid").as_torch_dataset()
    assert len(recording.select("observation").as_torch_dataset()) == 1


# Orders.


@pytest.mark.parametrize("workers", [0, 2])
def test_sampler_gives_the_order_of_the_loader(dataset: Dataset, workers: int) -> None:
    """Epoch after epoch, in any process."""
    samples = dataset.transitions()
    sampler = samples.torch_sampler(seed=5)
    loader = DataLoader(samples.as_torch_dataset(), 7, sampler=sampler, num_workers=workers)
    assert _numbers(loader) + _numbers(loader) == _global(dataset, epochs=2, seed=5)
    assert len(sampler) == len(samples)


def test_whole_batches_in_one_read(dataset: Dataset) -> None:
    """With a sampler of batches nothing must be collated."""
    samples = dataset.transitions()
    loader = DataLoader(
        samples.as_torch_dataset(), batch_size=None, sampler=BatchSampler(samples.torch_sampler(), 7, drop_last=False)
    )
    assert _numbers(loader) == _global(dataset)


def test_shards_share_the_samples(dataset: Dataset) -> None:
    """Each process its own, together all; or equally many, for processes that wait for each other."""
    samples = dataset.transitions()
    shards = [list(samples.torch_sampler(shard=(index, 3))) for index in range(3)]
    assert list(itertools.chain(*shards)) == list(samples.torch_sampler())
    even = [samples.torch_sampler(shard=(index, 3), drop_remainder=True) for index in range(3)]
    assert {len(sampler) for sampler in even} == {len(list(sampler)) for sampler in even} == {85 // 3}


def test_episodes_in_order(dataset: Dataset) -> None:
    """Each once an epoch, in another order each time, resumable."""
    sampler = dataset.torch_sampler(seed=1)
    epochs = [list(sampler) for _ in range(4)]
    assert all(sorted(epoch) == list(range(6)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1
    resumed = dataset.torch_sampler(seed=1, state=sampler.state_at(1, 4))
    assert list(resumed) == epochs[1][4:]
    assert list(resumed) == epochs[2]


def test_an_epoch_can_be_chosen(dataset: Dataset) -> None:
    """As with PyTorch's own sampler for several processes."""
    sampler = dataset.transitions().torch_sampler()
    epochs = [list(sampler) for _ in range(3)]
    sampler.set_epoch(1)
    assert list(sampler) == epochs[1]
    assert list(sampler) == epochs[2]


def test_a_loop_that_was_broken_off_is_not_gone_on_with(dataset: Dataset) -> None:
    """The next loop is the next epoch, as with the NumPy loader."""
    sampler = dataset.transitions().torch_sampler()
    epochs = [list(sampler) for _ in range(3)]
    again = dataset.transitions().torch_sampler()
    assert list(itertools.islice(again, 5)) == epochs[0][:5]
    assert list(again) == epochs[1]


# States.


@pytest.mark.parametrize("taken", [0, 1, 84, 85, 100, 170])
def test_a_sampler_goes_on_exactly_where_it_was(dataset: Dataset, taken: int) -> None:
    """In the middle of an epoch, at its ends, in the next."""
    samples = dataset.transitions()
    truth = list(_endless(samples.torch_sampler(seed=2), 4))
    sampler = samples.torch_sampler(seed=2)
    assert list(itertools.islice(_endless(sampler, 4), taken)) == truth[:taken]
    state = json.loads(json.dumps(sampler.state_dict()))
    resumed = samples.torch_sampler(seed=2, state=state)
    assert list(itertools.islice(_endless(resumed, 4), 200 - taken)) == truth[taken:200]


def _endless(sampler: Any, epochs: int) -> Iterator[int]:
    for _ in range(epochs):
        yield from sampler


def test_workers_that_ask_ahead_do_not_spoil_a_state(dataset: Dataset) -> None:
    """`state_at` counts what training had, whatever was handed out."""
    samples = dataset.transitions()
    made = samples.as_torch_dataset()
    sampler = samples.torch_sampler(seed=3)
    running = iter(DataLoader(made, 8, sampler=sampler, num_workers=2))
    trained = [number for _ in range(4) for number in next(running)["observation"].tolist()]
    assert sampler.state_dict()["samples_done"] > 32
    resumed = samples.torch_sampler(seed=3, state=sampler.state_at(0, 32))
    rest = _numbers(DataLoader(made, 8, sampler=resumed, num_workers=2))
    assert trained + rest == _global(dataset, seed=3)


def test_an_epoch_is_set_by_a_number_of_any_integer_type(dataset: Dataset) -> None:
    """The order is that of the number, not of its type; anything else is refused, and changes nothing."""
    sampler = dataset.transitions().torch_sampler(seed=3)
    sampler.set_epoch(1)
    first = list(sampler)
    sampler.set_epoch(np.int64(1))
    assert list(sampler) == first
    sampler.set_epoch(1)
    with pytest.raises(TypeError, match=r"expected epoch to be an integer, got 1.5"):
        sampler.set_epoch(1.5)
    with pytest.raises(ValueError, match="expected an epoch from 0 on, got -1"):
        sampler.set_epoch(-1)
    assert list(sampler) == first


def test_an_episode_is_requested_by_one_number(dataset: Dataset) -> None:
    """Episodes differ in length, so several are no item."""
    episodes = dataset.as_torch_dataset()
    assert episodes[np.int64(0)]["episode_id"] == episodes[-len(episodes)]["episode_id"]
    with pytest.raises(TypeError, match=r"expected the number of an episode to be an integer, got \[0, 1\]"):
        episodes[[0, 1]]


def test_there_is_no_state_beyond_an_epoch(dataset: Dataset) -> None:
    """With a wrong count, training would continue at the wrong position."""
    sampler = dataset.transitions().torch_sampler()
    for epoch, samples in ((0, 86), (-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="expected 0 to 85 samples"):
            sampler.state_at(epoch, samples)
    assert sampler.state_at(0, 85) == sampler.state_at(1, 0)


def test_a_state_of_something_else_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    """The message says what differs."""
    state = dataset.transitions().torch_sampler(seed=1).state_dict()
    with pytest.raises(ValueError, match="seed was 1, now 2"):
        dataset.transitions().torch_sampler(seed=2, state=state)
    with pytest.raises(ValueError, match="samples was"):
        dataset.windows(3).torch_sampler(seed=1, state=state)
    grown = numbered(tmp_path, LENGTHS[:2])
    state = grown.transitions().torch_sampler().state_dict()
    grown = numbered(tmp_path, LENGTHS[:1])
    with pytest.raises(ValueError, match="other episodes than when the state was saved"):
        grown.transitions().torch_sampler(state=state)


# Batches.


def test_batches_come_in_the_order_of_the_loader(dataset: Dataset) -> None:
    """Without workers, epoch after epoch, nothing collated."""
    made = dataset.transitions().batches(7, shuffle="global", seed=5).as_torch_dataset()
    loader = DataLoader(made, batch_size=None)
    assert _numbers(loader) + _numbers(loader) == _global(dataset, epochs=2, seed=5)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_share_the_batches_of_every_epoch(dataset: Dataset, persistent: bool) -> None:
    """Every sample once, in another order in every epoch, whether workers stay or begin anew."""
    made = dataset.transitions().batches(7, shuffle="global").as_torch_dataset()
    loader = DataLoader(made, batch_size=None, num_workers=2, persistent_workers=persistent)
    epochs = [_numbers(loader) for _ in range(3)]
    assert all(sorted(epoch) == sorted(_global(dataset)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    in_order = _global(dataset, epochs=3)
    for number, epoch in enumerate(epochs):
        halves = in_order[number * 85 : number * 85 + 42], in_order[number * 85 + 42 : (number + 1) * 85]
        assert sorted(epoch) == sorted(halves[0] + halves[1])
        assert [each for each in epoch if each in halves[0]] == list(halves[0])


@pytest.mark.thorough
def test_what_goes_on_in_the_middle_is_not_divided(dataset: Dataset) -> None:
    """Workers would start from the beginning; without them the loop continues at the saved position."""
    batches = dataset.transitions().batches(7, shuffle="global")
    batches.load_state_dict(batches.state_at(0, 3))
    with pytest.raises(ValueError, match=r"middle of an epoch.*num_workers=0"):
        list(DataLoader(batches.as_torch_dataset(), batch_size=None, num_workers=2))
    assert _numbers(DataLoader(batches.as_torch_dataset(), batch_size=None)) == _global(dataset)[21:]


def test_workers_do_not_repeat_a_loop_that_was_broken_off(dataset: Dataset) -> None:
    """They begin with the epoch after it."""
    batches = dataset.transitions().batches(7, shuffle="global")
    next(iter(batches))
    loader = DataLoader(batches.as_torch_dataset(), batch_size=None, num_workers=1)
    assert _numbers(loader) == _global(dataset, epochs=2)[85:]


def test_batches_of_a_shard_are_divided_again(dataset: Dataset) -> None:
    """Processes first, then each one's workers."""
    numbers = []
    for index in range(2):
        made = dataset.transitions().batches(5, shuffle="blocks", shard=(index, 2)).as_torch_dataset()
        numbers += _numbers(DataLoader(made, batch_size=None, num_workers=2))
    assert sorted(numbers) == sorted(_global(dataset))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata warns about it
# PyTorch ends a spawned worker that is slow to start, and reports it in a later test.
@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_state_without_workers_is_none_of_workers(dataset: Dataset, context: str) -> None:
    """However they are started, workers know the state, and the error explains what to do."""
    batches = dataset.transitions().batches(7, shuffle="global")
    made = batches.as_torch_dataset()
    made.load_state_dict(batches.state_at(0, 3))
    loader = DataLoader(made, batch_size=None, num_workers=2, multiprocessing_context=context)
    with pytest.raises(ValueError, match=r"shard was \[0, 1\], now \[0, 2\].*num_workers=0.*StatefulDataLoader"):
        next(iter(loader))
    made.load_state_dict({**batches.state_at(0, 3), "seed": 5})
    with pytest.raises(ValueError, match=r"seed was 5, now 0$"):
        next(iter(made))


def test_stateful_data_loaders_save_and_restore(dataset: Dataset) -> None:
    """Of torchdata, which knows what training had: samples with a sampler, and batches, both with workers."""
    torchdata = pytest.importorskip("torchdata.stateful_dataloader")
    samples = dataset.transitions()
    made = samples.as_torch_dataset()

    def sampled() -> Any:
        return torchdata.StatefulDataLoader(made, 7, sampler=samples.torch_sampler(seed=4), num_workers=2)

    def batched() -> Any:
        batches = samples.batches(7, shuffle="global", seed=4).as_torch_dataset()
        return torchdata.StatefulDataLoader(batches, batch_size=None, num_workers=2)

    for make in (sampled, batched):
        whole = [_numbers(loader) for loader in [make()] for _ in range(2)]
        loader = make()
        running = iter(loader)
        begun = [int(number) for _ in range(5) for number in next(running)["observation"]]
        resumed = make()
        resumed.load_state_dict(loader.state_dict())
        assert begun + _numbers(resumed) == whole[0]
        assert _numbers(resumed) == whole[1]


# Mixtures.


def _first_numbers(batches: Any, count: int) -> list[list[int]]:
    return [batch["observation"].tolist() for batch in itertools.islice(batches, count)]


@pytest.mark.thorough
def test_mixtures_come_in_order_without_workers(dataset: Dataset, tmp_path: Path) -> None:
    """The same batches as without PyTorch."""
    mixture = rlds_kit.mix({dataset: 0.7, numbered(tmp_path, (30, 9), first=1000): 0.3})
    made = mixture.transitions().batches(10, shuffle="global").as_torch_dataset()
    expected = mixture.transitions().batches(10, shuffle="global")
    assert _first_numbers(DataLoader(made, batch_size=None), 20) == _first_numbers(expected, 20)


def test_workers_mix_parts_of_every_dataset(dataset: Dataset, tmp_path: Path) -> None:
    """With the same shares; a new loop of the DataLoader meets another order."""
    mixture = rlds_kit.mix({dataset: 0.5, numbered(tmp_path, (30, 9), first=1000): 0.5})
    made = mixture.transitions().batches(10, shuffle="global").as_torch_dataset()
    loops = [_first_numbers(DataLoader(made, batch_size=None, num_workers=2), 8) for _ in range(2)]
    for batches in loops:
        assert [sum(number >= 1000 for number in batch) for batch in batches] == [5] * 8
    numbers = {number for batch in loops[0] for number in batch}
    assert len({number for number in numbers if number >= 1000}) == 37  # of which each worker had half
    assert loops[0] != loops[1]
