"""Mixtures: exact shares of several datasets, that resume, and that workers divide."""

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.loader.mixture import shares
from tests.loader.recording import numbered, plain, recorded
from tests.loader.truth import flat, loader_threads, numbers_of, same_batches

SHUFFLES: tuple[Any, ...] = (None, "global", "blocks")
LARGE, SMALL, TINY = 1000, 2000, 3000
"""The first step's number of each dataset, which identifies its samples."""


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> list[Dataset]:
    """Three datasets with 90, 30 and 4 transitions."""
    lengths = {LARGE: (41, 51), SMALL: (11, 21), TINY: (5,)}
    return [numbered(tmp_path_factory.mktemp(str(first)), those, first=first) for first, those in lengths.items()]


def _take(batches: Iterable[Any], count: int) -> list[Any]:
    return list(itertools.islice(batches, count))


@given(
    weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6),
    begin=st.integers(0, 10**12),
    count=st.integers(1, 200),
)
def test_shares_are_exact(weights: list[float], begin: int, count: int) -> None:
    """At any time each dataset has given its share, but for less than one sample for each other dataset."""
    normal = [weight / sum(weights) for weight in weights]
    positions = np.arange(begin, begin + count)
    chosen, before = shares(positions, normal)
    assert (before.sum(axis=0) == positions).all()
    error = np.abs(before - positions * np.array(normal)[:, None])
    assert error.max() < max(1, len(weights) - 1) + 1e-3
    following = shares(positions + 1, normal)[1]
    assert np.array_equal(following - before, np.arange(len(weights))[:, None] == chosen)


def test_equal_shares_take_turns() -> None:
    """No dataset waits longer than it must."""
    chosen, _ = shares(np.arange(12), [1 / 3] * 3)
    assert all(set(chosen[at : at + 3].tolist()) == {0, 1, 2} for at in range(0, 12, 3))


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_each_dataset_has_its_share(datasets: list[Dataset], shuffle: Any) -> None:
    """However large it is: small ones are repeated, each epoch in another order."""
    mixed = rlds_kit.mix(dict(zip(datasets, (2, 1, 1), strict=True)))
    batches = mixed.transitions().batches(8, shuffle=shuffle)
    numbers = numbers_of(_take(batches, 50))
    count = Counter(number // 1000 * 1000 for number in numbers)
    assert {first: abs(count[first] - share) <= 1 for first, share in ((LARGE, 200), (SMALL, 100), (TINY, 100))} == {
        LARGE: True,
        SMALL: True,
        TINY: True,
    }
    of_large = [number for number in numbers if number < SMALL]
    assert len(set(of_large[:90])) == 90
    of_tiny = [number for number in numbers if number >= TINY]
    epochs = [tuple(of_tiny[at : at + 4]) for at in range(0, 96, 4)]
    assert all(sorted(epoch) == [TINY, TINY + 1, TINY + 2, TINY + 3] for epoch in epochs)
    assert (len(set(epochs)) == 1) is (shuffle is None)


def test_a_dataset_gives_its_samples_in_its_own_order(datasets: list[Dataset]) -> None:
    """That of its own loader with a seed of its own: datasets of equal size do not go in step."""
    twin = rlds_kit.open(datasets[1].path)
    mixed = rlds_kit.mix({datasets[1]: 1, twin: 1}).transitions().batches(60, shuffle="global", seed=5)
    numbers = numbers_of(_take(mixed, 1))
    one, other = numbers[::2], numbers[1::2]
    assert sorted(one) == sorted(other)
    assert one != other
    alone = numbers_of(datasets[1].transitions().batches(60, shuffle="global", seed=5))
    assert alone in (one, other)


def test_batches_are_those_of_the_datasets(datasets: list[Dataset]) -> None:
    """Every field of every sample, with windows, chunks and transitions alike."""
    for method, arguments in (
        ("windows", (3,)),
        ("chunks", ({"observation": [0, 1], "action": [0]},)),
        ("transitions", (2, 0.9)),
    ):
        mixed = getattr(rlds_kit.mix({datasets[0]: 1, datasets[1]: 1}), method)(*arguments).batches(10)
        batch = flat(_take(mixed, 1)[0])
        parts = [flat(getattr(dataset, method)(*arguments).gather(range(5))) for dataset in datasets[:2]]
        is_small = (batch["observation"].reshape(10, -1)[:, 0] >= SMALL).tolist()
        for path, array in batch.items():
            places = [iter(part[path]) for part in parts]
            assert all(np.array_equal(row, next(places[number])) for row, number in zip(array, is_small, strict=True))


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("size", [1, 7])
def test_a_mixture_can_be_interrupted_anywhere(datasets: list[Dataset], shuffle: Any, size: int) -> None:
    """Another loader, with other threads and memory, continues bit for bit, and so does the next loop."""
    mixed = rlds_kit.mix(dict(zip(datasets, (3, 2, 0.3), strict=True))).transitions(2, 0.9)
    expected = _take(mixed.batches(size, shuffle=shuffle, seed=3, memory=9_000), 40)
    for count in range(0, 33, 4):
        first = mixed.batches(size, shuffle=shuffle, seed=3, memory=9_000)
        assert same_batches(_take(first, count), expected[:count])
        state = json.loads(json.dumps(first.state_dict()))
        second = mixed.batches(size, shuffle=shuffle, seed=3, memory=(1, 1 << 20)[count % 8 // 4], threads=3)
        second.load_state_dict(state)
        assert same_batches(_take(second, 5), expected[count : count + 5])
        assert same_batches(_take(first, 3), expected[count : count + 3])


def test_threads_and_memory_do_not_show(datasets: list[Dataset]) -> None:
    """The same batches with any."""
    mixed = rlds_kit.mix({datasets[0]: 1, datasets[2]: 1}).windows(2)
    expected = _take(mixed.batches(9, shuffle="global"), 12)
    for threads, memory in ((1, 1), (3, 10_000), (4, None)):
        assert same_batches(_take(mixed.batches(9, shuffle="global", threads=threads, memory=memory), 12), expected)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_workers_divide_every_dataset(datasets: list[Dataset], shuffle: Any) -> None:
    """Together they have each sample of a dataset once in each of its epochs."""
    mixed = rlds_kit.mix({datasets[0]: 3, datasets[1]: 1}).transitions()
    found: list[int] = []
    for index in range(2):
        numbers = numbers_of(_take(mixed.batches(4, shuffle=shuffle, shard=(index, 2)), 15))
        assert len([number for number in numbers if number >= SMALL]) == 15
        found += [number for number in numbers if number < SMALL][:45]
        found += [number for number in numbers if number >= SMALL][:15]
    once = [*numbers_of(datasets[0].transitions().batches(99)), *numbers_of(datasets[1].transitions().batches(99))]
    assert sorted(found) == sorted(once)


def test_two_iterators_at_once(datasets: list[Dataset]) -> None:
    """Each goes its own way; the state is that of the latest one."""
    batches = rlds_kit.mix({datasets[0]: 1, datasets[1]: 2}).transitions().batches(6, shuffle="global")
    expected = _take(rlds_kit.mix({datasets[0]: 1, datasets[1]: 2}).transitions().batches(6, shuffle="global"), 6)
    older = iter(batches)
    assert same_batches([next(older)], expected[:1])
    latest = iter(batches)
    assert same_batches([next(older), next(older)], expected[1:3])
    assert same_batches([next(latest)], expected[1:2])
    next(older)
    assert batches.state_dict()["samples_done"] == 12
    del older, latest
    assert same_batches(_take(batches, 2), expected[2:4])
    assert not loader_threads()


def test_transforms_make_datasets_alike() -> None:
    """Each gets the batches of its dataset, of any number of samples."""
    with recorded(plain(9, observation="image")) as images, recorded(plain(9, observation="scalar")) as scalars:

        def flatten(batch: dict[str, Any]) -> dict[str, Any]:
            means = {name: batch[name].mean(axis=(1, 2, 3)).astype(np.int64) for name in _OBSERVED}
            return {**batch, **means}

        mixed = rlds_kit.mix({images: 1, scalars: 1}, {images: flatten}).transitions()
        batch = _take(mixed.batches(5), 1)[0]
        assert batch["observation"].shape == (5,)
        means = images.episodes[0]["observation"].mean(axis=(1, 2, 3)).astype(np.int64)
        assert set(means[:2].tolist()) <= set(batch["observation"].tolist())


_OBSERVED = ("observation", "next_observation")


@pytest.mark.parametrize("size", [1, 4])
def test_datasets_that_are_not_alike_are_an_error(size: int) -> None:
    """Whatever is in a batch: it names the field, both datasets, and what to do."""
    with recorded(plain(9, observation="image")) as images, recorded(plain(9, observation="scalar")) as scalars:
        batches = rlds_kit.mix({images: 1, scalars: 1}).transitions().batches(size)
        message = r"field 'observation' is (uint8|int64) of shape .* but (uint8|int64) .*transform.*select"
        with pytest.raises(ValueError, match=message) as raised:
            _take(batches, 3)
        assert str(images.path) in str(raised.value)
        assert str(scalars.path) in str(raised.value)
        lacking = rlds_kit.mix({images: 1, images.select("action", "reward"): 1}).transitions().batches(size)
        with pytest.raises(ValueError, match=r"observation' is .*missing"):
            _take(lacking, 3)


def test_a_transform_keeps_the_number_of_samples(datasets: list[Dataset]) -> None:
    """One sample for several would be stretched over their places."""

    def first_only(batch: dict[str, Any]) -> dict[str, Any]:
        return {name: batch[name][:1] for name in ("observation", "action")}

    batches = rlds_kit.mix({datasets[0]: 1}, {datasets[0]: first_only}).transitions().batches(4)
    with pytest.raises(ValueError, match="expected a transform to keep 4 samples, got 1"):
        _take(batches, 1)


def test_a_dataset_may_come_twice_as_views(datasets: list[Dataset]) -> None:
    """For instance good episodes more often than the others."""
    dataset = datasets[0]
    long, short = dataset.take([1]), dataset.take([0])
    numbers = numbers_of(_take(rlds_kit.mix({long: 3, short: 1}).transitions().batches(40), 1))
    assert sum(number >= LARGE + 41 for number in numbers) == 30


def test_damage_is_an_error_in_the_loop(tmp_path: Path, datasets: list[Dataset]) -> None:
    broken = numbered(tmp_path, [60])
    name, entry = broken._all[0]
    data = bytearray((tmp_path / name).read_bytes())
    data[(int(entry.blocks[5]) + int(entry.blocks[6])) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    batches = rlds_kit.mix({datasets[0]: 1, rlds_kit.open(tmp_path): 1}).transitions().batches(6, memory=1)
    with pytest.raises(rlds_kit.DamagedError):
        _take(batches, 50)
    assert not loader_threads()


# Bad input.


@pytest.mark.parametrize("weight", [0, -1.0, float("nan"), float("inf"), "3"])
def test_weights_are_positive(datasets: list[Dataset], weight: float) -> None:
    """The error says what was given, and for which dataset."""
    with pytest.raises(ValueError, match=rf"expected positive weights, got {weight!r} for <Dataset"):
        rlds_kit.mix({datasets[0]: 1, datasets[1]: weight})


def test_datasets_have_names_of_their_own_in_no_list(datasets: list[Dataset]) -> None:
    """A list has no weights, and a single transform is of no dataset: the error shows a dict."""
    with pytest.raises(TypeError, match=r"expected weights by dataset, a dict .*, got \[<Dataset"):
        rlds_kit.mix(datasets)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TypeError, match="expected transforms by dataset, a dict"):
        rlds_kit.mix({datasets[0]: 1}, lambda batch: batch)  # type: ignore[arg-type]  # the mistake


def test_weights_may_be_numbers_of_numpy(datasets: list[Dataset]) -> None:
    """A state has only values that JSON can represent, for any weights."""
    weights: Any = {datasets[0]: np.float32(0.75), datasets[1]: np.int64(2)}
    state = rlds_kit.mix(weights).transitions().batches(4).state_dict()
    assert json.loads(json.dumps(state)) == state


def test_there_must_be_something_to_mix(datasets: list[Dataset]) -> None:
    """Datasets, samples of each, and enough of them for all workers."""
    with pytest.raises(ValueError, match="expected at least one dataset to mix, got none"):
        rlds_kit.mix({})
    with pytest.raises(ValueError, match="there is a transform, but no weight, for <Dataset"):
        rlds_kit.mix({datasets[0]: 1}, {datasets[1]: lambda batch: batch})
    with pytest.raises(ValueError, match=r"has no samples of Windows\(length=50.*leave it out of the mixture"):
        rlds_kit.mix({datasets[0]: 1, datasets[2]: 1}).windows(50)
    with pytest.raises(ValueError, match="fewer samples than the 9 workers"):
        rlds_kit.mix({datasets[0]: 1, datasets[2]: 1}).transitions().batches(4, shard=(0, 9))


def test_a_state_of_another_mixture_is_refused(datasets: list[Dataset], tmp_path: Path) -> None:
    """Other weights, options or data; the error says what differs, and the loader is as it was."""
    large, small, _ = datasets
    batches = rlds_kit.mix({large: 1, small: 1}).transitions().batches(4, shuffle="global", seed=1)
    _take(batches, 3)
    state = batches.state_dict()
    others = {
        r"weights were \[0.5, 0.5\], now \[0.25, 0.75\]": rlds_kit.mix({large: 1, small: 3}).transitions().batches(4),
        "weights were": rlds_kit.mix({large: 1}).transitions().batches(4),
        "seed was 1, now 2": rlds_kit.mix({large: 1, small: 1}).transitions().batches(4, shuffle="global", seed=2),
        "samples was": rlds_kit.mix({large: 1, small: 1}).windows(2).batches(4, shuffle="global", seed=1),
        "does not have all the episodes": rlds_kit.mix({large: 1, numbered(tmp_path, [11, 21]): 1})
        .transitions()
        .batches(4, shuffle="global", seed=1),
        "version": None,
    }
    for message, other in others.items():
        target = other or batches
        before = target.state_dict()
        with pytest.raises(ValueError, match=message):
            target.load_state_dict(state if other else {})
        assert target.state_dict() == before


def test_states_of_mixtures_and_of_single_datasets_are_not_mixed_up(datasets: list[Dataset]) -> None:
    """Each error names the kind of the state."""
    mixed = rlds_kit.mix({datasets[0]: 1}).transitions().batches(4)
    single = datasets[0].transitions().batches(4)
    with pytest.raises(ValueError, match="of one dataset's batches, not of a mixture's"):
        mixed.load_state_dict(single.state_dict())
    with pytest.raises(ValueError, match="of a mixture, not of one dataset's batches"):
        single.load_state_dict(mixed.state_dict())


def test_what_was_recorded_since_is_left_out(tmp_path: Path, datasets: list[Dataset]) -> None:
    """A restored mixture is of the snapshots that it was saved with."""
    growing = numbered(tmp_path, [8, 9])
    batches = rlds_kit.mix({growing: 1, datasets[0]: 1}).transitions().batches(5, shuffle="global")
    expected = _take(rlds_kit.mix({growing: 1, datasets[0]: 1}).transitions().batches(5, shuffle="global"), 20)
    _take(batches, 4)
    grown = numbered(tmp_path, [30], first=17)
    again = rlds_kit.mix({grown: 1, datasets[0]: 1}).transitions().batches(5, shuffle="global")
    again.load_state_dict(batches.state_dict())
    assert same_batches(_take(again, 16), expected[4:])
