"""Batches: every sample once an epoch, split between workers, and the same whatever threads and memory there are."""

import gc
import itertools
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit import Dataset
from rlds_kit.loader import batches as batches_module
from rlds_kit.loader import read_ahead
from rlds_kit.loader.plan import RUN_STEPS, Options
from rlds_kit.loader.pool import Pool
from rlds_kit.loader.read_ahead import GatherAhead
from rlds_kit.loader.samples import Samples
from tests.loader.recording import numbered, plain, plans, recorded, select_all
from tests.loader.truth import flat, numbers_of, same_batches

LENGTHS = (17, 1, 40, 8, 23, 2)
SHUFFLES: tuple[Any, ...] = (None, "global", "blocks")
shuffles = st.sampled_from(SHUFFLES)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Six episodes in three shards, in blocks of four steps."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


def _kinds(dataset: Dataset) -> list[Samples]:
    return [
        dataset.windows(3),
        dataset.windows(5, 2, "repeat"),
        dataset.chunks({"observation": [-1, 0], "action": range(3)}),
        dataset.transitions(3, 0.9),
    ]


# Every sample once.


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("memory", [None, 1, 10_000])
def test_every_sample_comes_once_an_epoch(dataset: Dataset, shuffle: Any, memory: int | None) -> None:
    """Of windows, chunks and transitions alike; batches are full but for the last."""
    for samples in _kinds(dataset):
        everything = numbers_of([samples.gather(range(len(samples)))])
        batches = samples.batches(8, shuffle=shuffle, memory=memory)
        for _ in range(2):
            epoch = list(batches)
            assert sorted(numbers_of(epoch)) == sorted(everything)
            sizes = [len(batch["valid"]["observation"]) for batch in epoch]
            assert sizes == [8] * (len(samples) // 8) + [len(samples) % 8] * bool(len(samples) % 8)
            assert len(batches) == len(epoch)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_batches_are_gathered_samples(dataset: Dataset, shuffle: Any) -> None:
    """What comes in a batch is what `gather` gives for the same samples, bit for bit."""
    for samples in _kinds(dataset):
        place = {number: at for at, number in enumerate(numbers_of([samples.gather(range(len(samples)))]))}
        for batch in samples.batches(10, shuffle=shuffle, seed=3, memory=5_000):
            wanted = samples.gather([place[number] for number in numbers_of([batch])])
            assert same_batches([batch], [wanted])


@given(plan=plans(max_episodes=4, max_length=20), shuffle=shuffles, size=st.integers(1, 40), data=st.data())
@settings(max_examples=25)
def test_batches_of_any_dataset(plan: Any, shuffle: Any, size: int, data: st.DataObject) -> None:
    """Whatever was recorded: each sample once, and equal batches with any number of threads and, in place, memory."""
    with recorded(plan) as dataset:
        samples = select_all(dataset, plan.kinds).windows(data.draw(st.integers(1, 5)), pad="zero")
        threads, memory = data.draw(st.integers(1, 4)), data.draw(st.sampled_from((1, 3_000, 1 << 20)))
        one = list(samples.batches(size, shuffle=shuffle, threads=threads, memory=memory))
        other = list(samples.batches(size, shuffle=shuffle, threads=1, memory=memory))
        assert same_batches(one, other)
        assert sum(len(batch["mask"]) for batch in one) == len(samples)
        if shuffle is None and one:
            whole = samples.gather(range(len(samples)))
            for begin, batch in zip(itertools.count(0, size), one, strict=False):
                assert same_batches([batch], [samples.gather(range(len(samples))[begin : begin + size])])
            assert len(whole["mask"]) == len(samples)


def test_order_without_shuffle_is_that_of_the_data(dataset: Dataset) -> None:
    batches = dataset.select("observation").windows(1).batches(16)
    assert numbers_of(batches) == numbers_of(batches) == list(range(sum(LENGTHS)))


@pytest.mark.parametrize("shuffle", ["global", "blocks"])
def test_epochs_and_seeds_differ(dataset: Dataset, shuffle: Any) -> None:
    """The same seed gives the same epochs; another seed, or the next epoch, another order."""
    samples = dataset.transitions()
    orders: dict[tuple[int, int], tuple[int, ...]] = {}
    for seed in (0, 1):
        batches = samples.batches(16, shuffle=shuffle, seed=seed)
        orders |= {(seed, epoch): tuple(numbers_of(batches)) for epoch in range(3)}
    assert len(set(orders.values())) == 6
    again = samples.batches(5, shuffle=shuffle, seed=1)
    assert [tuple(numbers_of(again)) for _ in range(3)] == [orders[1, epoch] for epoch in range(3)]


def test_global_shuffle_on_disk_order(dataset: Dataset) -> None:
    """The first samples of a seed, for ever."""
    first = numbers_of([next(iter(dataset.transitions().batches(10, shuffle="global", seed=1)))])
    assert first == [2, 3, 32, 37, 84, 31, 7, 60, 6, 23]
    first = numbers_of([next(iter(dataset.transitions().batches(10, shuffle="blocks", seed=1)))])
    assert first == [25, 68, 27, 2, 15, 28, 56, 18, 36, 19]


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_threads_do_not_show(dataset: Dataset, shuffle: Any) -> None:
    """Any number of them gives the same batches."""
    samples = dataset.windows(3)
    for memory in (None, 1, 10_000):
        found = [list(samples.batches(7, shuffle=shuffle, threads=n, memory=memory)) for n in (1, 2, 3, 4)]
        assert all(same_batches(found[0], other) for other in found[1:])


@pytest.mark.parametrize("shuffle", [None, "global"])
def test_memory_does_not_show(dataset: Dataset, shuffle: Any) -> None:
    """However little there is, the batches are the same."""
    samples = dataset.transitions(4, 0.97)
    found = [list(samples.batches(7, shuffle=shuffle, memory=memory)) for memory in (None, 1, 1000, 10_000, 100_000)]
    assert all(same_batches(found[0], other) for other in found[1:])


@pytest.mark.thorough
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_memory_is_bounded(tmp_path: Path, shuffle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pieces are in memory at a time, the current one and the next, and together they are within the limit."""
    samples = numbered(tmp_path, LENGTHS, shades=16).windows(2)
    monkeypatch.setattr(Samples, "random_access", lambda *_: None)
    memory = 40 * samples.weights.row_bytes  # less than half of the dataset
    gc.collect()
    before, sizes = _sizes_of_pools(), []
    for _ in samples.batches(4, shuffle=shuffle, memory=memory):
        found = {key: size for key, size in _sizes_of_pools().items() if key not in before}
        assert len(found) <= 2
        sizes.append(sum(found.values()))
    whole_run = 2 * (RUN_STEPS[0] + 1) * samples.weights.row_bytes  # a run of blocks is never cut
    assert memory / 3 < max(sizes) <= (whole_run if shuffle == "blocks" else memory)


def _sizes_of_pools() -> dict[int, int]:
    """The bytes of each pool that is in memory."""
    pools = [each for each in gc.get_objects() if type(each) is Pool]
    return {id(pool): sum(array.nbytes for array, _ in pool.arrays().values()) for pool in pools}


# Loops.


def test_each_loop_is_an_epoch(dataset: Dataset) -> None:
    """The next loop continues with the next epoch, also after an interrupted loop."""
    samples = dataset.transitions()
    reference = samples.batches(8, shuffle="global", seed=2)
    epochs = [list(reference) for _ in range(4)]
    batches = samples.batches(8, shuffle="global", seed=2)
    assert batches.epoch == 0
    assert same_batches(list(batches), epochs[0])
    assert batches.epoch == 1
    for number, batch in enumerate(batches):
        assert same_batches([batch], [epochs[1][number]])
        if number == 2:
            break
    assert batches.epoch == 1
    assert same_batches(list(batches), epochs[2])
    assert same_batches(list(batches), epochs[3])
    assert batches.epoch == 4


def test_two_iterators_at_once_are_independent(dataset: Dataset) -> None:
    """Each goes through an epoch of its own; the state is that of the latest one."""
    batches = dataset.transitions().batches(8, shuffle="global", seed=2)
    reference = dataset.transitions().batches(8, shuffle="global", seed=2)
    first_epoch, second_epoch = list(reference), list(reference)
    older = iter(batches)
    some = [next(older), next(older)]
    latest = iter(batches)
    assert same_batches([next(latest)], second_epoch[:1])
    some += [next(older)]
    state = batches.state_dict()
    assert (state["epoch"], state["samples_done"]) == (1, 8)
    assert same_batches([*some, *older], first_epoch)
    assert same_batches(list(latest), second_epoch[1:])
    assert batches.epoch == 2


def test_one_loop_in_another(dataset: Dataset) -> None:
    """Iterators that are made together go through the same epoch."""
    batches = dataset.transitions().batches(20, shuffle="blocks")
    pairs = [(one, other) for one, other in zip(batches, batches, strict=True)]
    assert all(same_batches([one], [other]) for one, other in pairs)
    assert len(pairs) == len(batches)


def test_an_empty_dataset_has_no_batches(tmp_path: Path) -> None:
    """Loops end at once, and a state can be saved."""
    dataset = numbered(tmp_path, [3]).where(lambda _: False)
    for shuffle in SHUFFLES:
        batches = dataset.windows(2).batches(4, shuffle=shuffle)
        assert len(batches) == 0
        assert list(batches) == list(batches) == []
        batches.load_state_dict(batches.state_dict())
        assert list(batches) == []


# What is handed out.


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_batches_are_the_callers(dataset: Dataset, shuffle: Any) -> None:
    """Writing into one changes no other: windows overlap, and episodes are read again."""
    samples = dataset.windows(5)
    expected = list(samples.batches(6, shuffle=shuffle))
    for batch, wanted in zip(samples.batches(6, shuffle=shuffle), expected, strict=True):
        assert same_batches([batch], [wanted])
        arrays = list(flat(batch).values())
        for array in arrays:
            assert array.flags.writeable
            array[...] = 1
        assert not any(np.may_share_memory(one, other) for one, other in itertools.combinations(arrays, 2))


def test_values_of_any_size_are_the_callers_too() -> None:
    """Arrays of several shapes, and nests, are copied like all others."""
    with recorded(plain(12, observation="ragged", info="several types")) as dataset:
        samples = select_all(dataset, ("observation", "info")).windows(3)
        expected = list(samples.batches(2))
        for batch, wanted in zip(samples.batches(2), expected, strict=True):
            assert same_batches([batch], [wanted])
            for value in batch["observation"].reshape(-1):
                value[...] = -1
            for value in batch["info"].reshape(-1):
                if isinstance(value, dict | list):
                    value.clear()


# Many at once.


def test_two_loaders_in_two_threads(dataset: Dataset) -> None:
    """Loaders of the same samples do not disturb each other."""
    samples = dataset.windows(4)
    expected = list(samples.batches(5, shuffle="global"))
    found: dict[int, list[Any]] = {}

    def loop(number: int) -> None:
        found[number] = list(samples.batches(5, shuffle="global", memory=2_000))

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same_batches(expected, found[number]) for number in range(4))


def test_mean_place_of_every_sample(dataset: Dataset) -> None:
    """Over many epochs each sample comes about equally early: no worker sees only some of the data."""
    batches = dataset.select("observation").windows(1).batches(64, shuffle="global", seed=9)
    epochs, size = 60, sum(LENGTHS)
    places = np.array([np.argsort(numbers_of(batches)) for _ in range(epochs)]).mean(axis=0)
    deviation = math.sqrt((size**2 - 1) / 12 / epochs)
    assert np.abs(places - (size - 1) / 2).max() < 5 * deviation


def test_loaders_can_be_sent_to_other_processes(dataset: Dataset) -> None:
    """What travels is where the episodes are, and how far the loop has come."""
    samples = dataset.transitions(3, 0.9)
    whole = list(samples.batches(8, shuffle="blocks"))
    batches = samples.batches(8, shuffle="blocks")
    assert len(list(zip(range(2), batches, strict=False))) == 2
    sent = pickle.dumps(batches)
    assert len(sent) < 20_000
    arrived = pickle.loads(sent)  # noqa: S301  our own
    arrived.load_state_dict(batches.state_dict())
    assert same_batches(list(arrived), whole[2:])
    again = pickle.loads(pickle.dumps(samples))  # noqa: S301  our own
    assert same_batches([again.gather(range(10))], [samples.gather(range(10))])


def _noted_workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of threads of the loops that follow."""
    made: list[int] = []

    def executor(workers: int, name: str) -> ThreadPoolExecutor:
        made.append(workers)
        return ThreadPoolExecutor(workers, name)

    monkeypatch.setattr(batches_module, "ThreadPoolExecutor", executor)
    return made


def _noted_groups(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Batches of a group, and groups that are read ahead, of the loops that follow."""
    planned: list[tuple[int, int]] = []

    class Noting(GatherAhead):
        def __init__(self, *arguments: Any) -> None:
            planned.append(arguments[-2:])
            super().__init__(*arguments)

    monkeypatch.setattr(batches_module, "GatherAhead", Noting)
    return planned


def test_heavy_batches_of_a_cache_have_half_of_the_threads(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the caller sets their number; the same batches come."""
    made = _noted_workers(monkeypatch)
    monkeypatch.setattr(batches_module, "LIGHT_ROW", 1)
    monkeypatch.setattr(Options, "workers", property(lambda options: options.threads or 4))
    expected = numbers_of(dataset.windows(3).batches(8, shuffle="global"))
    assert made == [4]
    monkeypatch.setattr(batches_module, "HEAVY_BATCH", 1)
    for threads in (None, 3):
        assert numbers_of(dataset.windows(3).batches(8, shuffle="global", threads=threads)) == expected
    assert numbers_of(dataset.windows(3).batches(8, shuffle="blocks"))
    assert made == [4, 2, 3, 4]


def test_of_heavy_batches_one_is_read_ahead(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are new memory; of light ones two are read ahead by each thread."""
    planned = _noted_groups(monkeypatch)
    monkeypatch.setattr(Options, "workers", property(lambda _: 4))
    monkeypatch.setattr(batches_module, "LIGHT_ROW", 1)
    expected = numbers_of(dataset.windows(3).batches(8, shuffle="global"))
    monkeypatch.setattr(batches_module, "HEAVY_BATCH", 1)
    assert numbers_of(dataset.windows(3).batches(8, shuffle="global")) == expected
    assert [ahead for _, ahead in planned] == [8, 1]


def test_heavy_batches_that_are_decoded_have_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each decodes a group of batches, as far as there is memory: a quarter of it if columns are cached."""
    made, planned = _noted_workers(monkeypatch), _noted_groups(monkeypatch)
    monkeypatch.setattr(batches_module, "HEAVY_BATCH", 1)
    monkeypatch.setattr(batches_module, "LIGHT_ROW", 1)
    monkeypatch.setattr(read_ahead, "GATHERED_BYTES", 1)
    monkeypatch.setattr(Options, "workers", property(lambda _: 4))
    with recorded(plain(60, 60, observation="noisy image", block_rows=4)) as dataset:
        samples = dataset.select("observation").windows(1)
        names = ("observation", "episode", "step")
        for rows in (35, 80, 1000):
            batches = [*samples.batches(2, shuffle="global", memory=rows * 1920)]
            found = {name: np.concatenate([each[name] for each in batches]) for name in names}
            gathered = samples.gather(found["episode"] * 60 + found["step"])
            assert np.array_equal(gathered["observation"], found["observation"])
    assert made == [4, 4, 2]
    assert planned == [(3, 5), (4, 4), (1, 1)]


@given(
    batch=st.integers(1, 600),
    sample=st.integers(1, 1 << 20),
    memory=st.integers(1, 1 << 28),
    workers=st.integers(1, 9),
    is_copied=st.booleans(),
)
def test_groups_that_are_read_ahead_are_within_the_memory(
    batch: int, sample: int, memory: int, workers: int, is_copied: bool
) -> None:
    """With what is left of the group before, if that may be large; and each thread has one, if there is memory."""
    access = read_ahead.RandomAccess(np.copy, memory, is_copied)  # type: ignore[arg-type]  # not called
    group, ahead = read_ahead.groups_ahead(batch, sample, access, workers)
    left = 0 if is_copied else group - 1
    assert group >= 1
    assert ahead >= 0
    assert (ahead * group + left) * batch * sample <= memory
    assert group == 1 or group * batch * sample <= (read_ahead.GATHERED_BYTES if is_copied else memory)
    if not is_copied:
        assert group <= max(4, read_ahead.GATHERED_BYTES // sample // batch)
        assert ahead >= min(workers, memory // sample // batch)


def test_both_ways_of_a_global_shuffle_give_the_same_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces and without them, also where the other was interrupted."""
    with recorded(plain(60, 30, 7, observation="noisy image")) as dataset:
        for samples in _kinds(dataset):
            direct = samples.batches(7, shuffle="global", seed=3, memory=1 << 14)
            epochs = [list(direct) for _ in range(2)]
            with monkeypatch.context() as patched:
                patched.setattr(Samples, "random_access", lambda *_: None)
                pieces = samples.batches(7, shuffle="global", seed=3, memory=1 << 14)
                assert same_batches(list(pieces), epochs[0])
                pieces.load_state_dict(direct.state_at(1, 2))
                assert same_batches(list(pieces), epochs[1][2:])
            direct.load_state_dict(pieces.state_at(0, 3))
            assert same_batches(list(direct), epochs[0][3:])
