"""Saved states: a loader that is interrupted anywhere continues as if it had not been interrupted."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.loader.batches import Batches
from rlds_kit.loader.samples import Samples
from rlds_kit.storage.recorder import Recorder
from tests.loader.recording import NUMBERED, numbered, plans, record_numbered, recorded
from tests.loader.truth import flat, numbers_of, same_batches

LENGTHS = (9, 1, 20, 8, 12)
SHUFFLES: tuple[Any, ...] = (None, "global", "blocks")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Five episodes in three shards."""
    return numbered(tmp_path_factory.mktemp("dataset"), LENGTHS)


def _through_json(state: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(state)))


def _state_after(batches: Batches, count: int) -> dict[str, Any]:
    """The state of a loop that was left after so many batches."""
    for number, _ in enumerate(batches, 1):
        if number == count:
            break
    return _through_json(batches.state_dict())


@pytest.mark.parametrize("drop_remainder", [False, True])
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_loop_can_be_interrupted_after_any_batch(dataset: Dataset, shuffle: Any, drop_remainder: bool) -> None:
    """Another loader, with other memory and threads, gives the rest of the epoch and then the next one."""
    samples = dataset.transitions(2, 0.9)
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 4, "drop_remainder": drop_remainder}
    uninterrupted = samples.batches(8, memory=4_000, **options)
    epochs = [list(uninterrupted) for _ in range(3)]
    for epoch in range(2):
        for count in range(1, len(epochs[0]) + 1):
            first = samples.batches(8, memory=4_000, **options)
            for _ in range(epoch):
                list(first)
            state = _state_after(first, count)
            second = samples.batches(8, memory=100_000 if count % 2 else 1, threads=count % 4 + 1, **options)
            second.load_state_dict(state)
            assert second.epoch == epoch + (count == len(epochs[0]))
            assert same_batches([*second], epochs[epoch][count:] or epochs[epoch + 1])
            if count < len(epochs[0]):
                assert same_batches([*second], epochs[epoch + 1])


@given(
    plan=plans(max_episodes=4, max_length=20),
    shuffle=st.sampled_from(SHUFFLES),
    shard=st.sampled_from([(0, 1), (0, 2), (1, 2)]),
    data=st.data(),
)
@settings(max_examples=25)
def test_any_loader_of_any_dataset_can_be_interrupted(plan: Any, shuffle: Any, shard: Any, data: st.DataObject) -> None:
    """Bit for bit, whatever was recorded."""
    with recorded(plan) as dataset:
        samples = data.draw(st.sampled_from([dataset.windows(3, 2, "zero"), dataset.transitions(3, 0.5)]))
        memory = st.sampled_from((1, 2_000, 1 << 20))
        options: dict[str, Any] = {"shuffle": shuffle, "shard": shard, "seed": data.draw(st.integers())}
        first = samples.batches(5, memory=data.draw(memory), **options)
        whole = list(first)
        count = data.draw(st.integers(0, len(whole)))
        again = samples.batches(5, memory=data.draw(memory), **options)
        fresh = samples.batches(5, memory=first._samples.options.memory, **options)
        again.load_state_dict(_state_after(fresh, count) if count else _through_json(fresh.state_dict()))
        rest = list(again)
        assert same_batches(rest, whole[count:] if count < len(whole) else list(first))


def test_saving_a_state_changes_nothing(dataset: Dataset) -> None:
    """A state can be requested at any time, before, in and after a loop, and restored at the same position."""
    batches = dataset.transitions().batches(10, shuffle="global")
    expected = list(dataset.transitions().batches(10, shuffle="global"))
    before = batches.state_dict()
    states = []
    for _ in batches:
        states.append(batches.state_dict())  # noqa: PERF401  one after each batch
    for count, state in enumerate([before, *states[:-1]]):
        batches.load_state_dict(state)
        assert batches.state_dict() == state
        assert same_batches(list(batches), expected[count:])


@pytest.mark.parametrize("drop_remainder", [False, True])
def test_a_state_at_any_batch(dataset: Dataset, drop_remainder: bool) -> None:
    """What reads ahead counts for itself: the state is that of a loop which has come so far."""
    batches = dataset.transitions().batches(8, shuffle="global", drop_remainder=drop_remainder, shard=(1, 2))
    for epoch in range(2):
        assert batches.state_at(epoch, 0) == batches.state_dict()
        for count, _ in enumerate(batches, 1):
            assert batches.state_at(epoch, count) == batches.state_dict()
    assert batches.state_at(*divmod(2 * len(batches) + 1, len(batches))) == batches.state_at(2, 1)


@pytest.mark.parametrize(("epoch", "count"), [(-1, 0), (0, -1), (0, 1000)])
def test_a_state_that_no_loop_can_have(dataset: Dataset, epoch: int, count: int) -> None:
    """There are no batches before the first, or after the last of an epoch."""
    with pytest.raises(ValueError, match="expected"):
        dataset.transitions().batches(8).state_at(epoch, count)


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("shard", [(0, 1), (1, 3)])
def test_parts_of_batches_are_everything(dataset: Dataset, shuffle: Any, shard: tuple[int, int]) -> None:
    """Workers of a worker have what it has, in whichever epoch they begin."""
    whole = dataset.transitions().batches(4, shuffle=shuffle, shard=shard)
    for epoch in range(3):
        parts = [whole.sharded(index, 3, epoch) for index in range(3)]
        assert sorted(number for part in parts for number in numbers_of(part)) == sorted(numbers_of(whole))
        assert {part.epoch for part in parts} == {epoch + 1}


def test_an_iterator_that_gave_nothing_takes_nothing(dataset: Dataset) -> None:
    """Making an iterator and dropping it does not skip the rest of a restored epoch."""
    samples = dataset.transitions()
    expected = list(samples.batches(10, shuffle="global"))
    batches = samples.batches(10, shuffle="global")
    batches.load_state_dict(_state_after(samples.batches(10, shuffle="global"), 2))
    iter(batches)
    assert same_batches(list(batches), expected[2:])


def test_a_restored_loop_that_is_broken_off_goes_on_with_the_next_epoch(dataset: Dataset) -> None:
    samples = dataset.transitions()
    reference = samples.batches(10, shuffle="global")
    list(reference)
    second_epoch = list(reference)
    batches = samples.batches(10, shuffle="global")
    batches.load_state_dict(_state_after(samples.batches(10, shuffle="global"), 2))
    for _ in batches:
        break
    assert same_batches(list(batches), second_epoch)


_PROGRAM = """
import json, sys
import rlds_kit
from tests.loader.test_state import digest
state = json.load(sys.stdin)
batches = rlds_kit.open(sys.argv[1]).transitions().batches(7, shuffle=sys.argv[2], seed=3, memory=3000, threads=3)
batches.load_state_dict(state)
print(digest(list(batches)))
"""


def digest(batches: list[Any]) -> str:
    """Identifies the content of batches."""
    found = hashlib.sha256()
    for batch in batches:
        for path, array in sorted(flat(batch).items()):
            found.update(f"{path} {array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("shuffle", ["global", "blocks"])
def test_another_process_goes_on(dataset: Dataset, shuffle: Any) -> None:
    """A state is all that it needs besides the data."""
    samples = dataset.transitions()
    whole = list(samples.batches(7, shuffle=shuffle, seed=3))
    state = _state_after(samples.batches(7, shuffle=shuffle, seed=3), 3)
    command = [sys.executable, "-c", _PROGRAM, str(dataset.path), shuffle]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, input=json.dumps(state), capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == digest(whole[3:])


# Datasets that grow.


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_what_was_recorded_since_is_left_out(tmp_path: Path, shuffle: Any) -> None:
    """The rest of the epoch, and those after it, are of the snapshot that the state was saved with."""
    samples = numbered(tmp_path, LENGTHS).windows(2)
    batches = samples.batches(8, shuffle=shuffle)
    state = _state_after(batches, 2)
    reference = samples.batches(8, shuffle=shuffle)
    first_epoch, second_epoch = list(reference), list(reference)
    grown = numbered(tmp_path, [30, 5], first=sum(LENGTHS))
    assert len(grown.windows(2)) > len(samples)
    restored = grown.windows(2).batches(8, shuffle=shuffle)
    restored.load_state_dict(state)
    assert len(restored) == len(first_epoch)
    assert same_batches(list(restored), first_epoch[2:])
    assert same_batches(list(restored), second_epoch)
    again = grown.windows(2).batches(8, shuffle=shuffle)
    again.load_state_dict(_through_json(restored.state_dict()))
    assert same_batches(list(again), list(reference))


def _grow_at_the_end(directory: Path) -> Callable[[], None]:
    numbered(directory, [10, 7])

    def grow() -> None:
        numbered(directory, [5], first=17)

    return grow


def _grow_an_older_shard(directory: Path) -> Callable[[], None]:
    """The shard of the writer that began first gets an episode: it comes before those of the other writer."""
    older = Recorder(directory, NUMBERED)
    record_numbered(older, 10, 0)
    older.flush()
    numbered(directory, [7], first=10)

    def grow() -> None:
        record_numbered(older, 5, 17)
        older.close()

    return grow


def _end_an_older_episode(directory: Path) -> Callable[[], None]:
    """An episode that began first ends last, as in a vector environment: it comes before those that were there."""
    recorder = Recorder(directory, NUMBERED)
    slow = recorder.start_episode()
    slow.append({"observation": 17, "image": np.zeros((16, 16), np.uint8)})
    recorder.flush()
    record_numbered(recorder, 10, 0)
    record_numbered(recorder, 7, 10)
    recorder.flush()

    def grow() -> None:
        slow.end(EpisodeEnd.TERMINATED)
        recorder.close()

    return grow


@pytest.mark.parametrize("begin", [_grow_at_the_end, _grow_an_older_shard, _end_an_older_episode])
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_it_does_not_matter_where_a_dataset_grew(
    tmp_path: Path, begin: Callable[[Path], Callable[[], None]], shuffle: Any
) -> None:
    """New episodes may come before old ones when the dataset is opened again; `episode` says where they are now."""
    grow = begin(tmp_path)
    samples = rlds_kit.open(tmp_path).windows(2)
    assert len(samples) == 9 + 6
    whole = list(samples.batches(4, shuffle=shuffle, seed=1))
    state = _state_after(samples.batches(4, shuffle=shuffle, seed=1), 1)
    grow()
    grown = rlds_kit.open(tmp_path)
    assert len(grown.episodes) == 3
    batches = grown.windows(2).batches(4, shuffle=shuffle, seed=1)
    batches.load_state_dict(state)
    rest = list(batches)
    for batch in rest:
        places = zip(batch["episode"].tolist(), batch["step"].tolist(), strict=True)
        first = [int(grown.episodes[episode]["observation"][step]) for episode, step in places]
        assert first == numbers_of([batch])
    assert same_batches([_without_episode(batch) for batch in rest], [_without_episode(batch) for batch in whole[1:]])


def _without_episode(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: array for name, array in batch.items() if name != "episode"}


def test_a_refreshed_view_restores_too(tmp_path: Path) -> None:
    """`refresh` keeps the episodes that were there."""
    dataset = numbered(tmp_path, [10, 7])
    whole = list(dataset.windows(2).batches(4))
    state = _state_after(dataset.windows(2).batches(4), 1)
    numbered(tmp_path, [6], first=17)
    batches = dataset.refresh().windows(2).batches(4)
    batches.load_state_dict(state)
    assert same_batches(list(batches), whole[1:])


def test_a_field_that_has_changed_its_kind_since_is_an_error(tmp_path: Path) -> None:
    """New episodes made an array of numbers one of objects: the rest of the epoch would be of another dtype."""

    def record(lives: object) -> Dataset:
        with Recorder(tmp_path, specs.Dict({"observation": specs.Array((), np.int64)})) as recorder:
            episode = recorder.start_episode()
            for row in range(6):
                episode.append({"observation": row, "info": {"lives": lives}})
            episode.end(EpisodeEnd.TRUNCATED)
        return rlds_kit.open(tmp_path).select("info/lives")

    before = record(3)
    state = _state_after(before.windows(1).batches(2), 1)
    after = record("three")
    with pytest.raises(ValueError, match=r"info/lives.*int64.*now.*object"):
        after.windows(1).batches(2).load_state_dict(state)


# States of something else.


def _loader(samples: Samples, **options: Any) -> Batches:
    return samples.batches(**{"batch_size": 8, "shuffle": "global", "seed": 1, **options})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda ds: _loader(ds.windows(2), batch_size=9), "batch_size was 8, now 9"),
        (lambda ds: _loader(ds.windows(2), shuffle="blocks"), "shuffle was 'global', now 'blocks'"),
        (lambda ds: _loader(ds.windows(2), shuffle=None), "shuffle was 'global', now None"),
        (lambda ds: _loader(ds.windows(2), seed=2), "seed was 1, now 2"),
        (lambda ds: _loader(ds.windows(2), drop_remainder=True), "drop_remainder was False, now True"),
        (lambda ds: _loader(ds.windows(2), shard=(0, 2)), r"shard was \[0, 1\], now \[0, 2\]"),
        (lambda ds: _loader(ds.windows(3)), r"samples was .Windows\(length=2.*now .Windows\(length=3"),
        (lambda ds: _loader(ds.windows(2, 2)), "samples was .*stride=1.*stride=2"),
        (lambda ds: _loader(ds.windows(2, pad="zero")), "samples was .*pad='none'.*pad='zero'"),
        (lambda ds: _loader(ds.transitions()), "samples was .Windows.*now .Transitions"),
        (lambda ds: _loader(ds.chunks({"observation": [0]})), "samples was .Windows.*now .Chunks"),
        (lambda ds: _loader(ds.select("observation").windows(2)), "fields was"),
        (lambda ds: _loader(ds.windows(2, dtypes={"image": "float32"})), "image.*uint8.*now.*float32"),
        (lambda ds: _loader(ds.take(range(4)).windows(2)), "does not have all the episodes"),
        (lambda ds: _loader(ds.where(lambda metadata: metadata["first"]).windows(2)), "does not have all the episodes"),
    ],
)
def test_a_state_of_another_loader_is_refused(
    dataset: Dataset, other: Callable[[Dataset], Batches], message: str
) -> None:
    """The error names what differs; the loader is as it was before."""
    state = _state_after(_loader(dataset.windows(2)), 2)
    batches = other(dataset)
    before = batches.state_dict()
    with pytest.raises(ValueError, match=message):
        batches.load_state_dict(state)
    assert batches.state_dict() == before


def test_a_state_of_another_dataset_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    """Also if the content is equal: episodes are identified by their ids."""
    state = _state_after(_loader(dataset.windows(2)), 2)
    with pytest.raises(ValueError, match="does not have all the episodes"):
        _loader(numbered(tmp_path, LENGTHS).windows(2)).load_state_dict(state)


def test_an_open_episode_that_went_on_is_other_data(tmp_path: Path) -> None:
    """A state stands for the steps that there were, and no snapshot of those can be made any more."""
    with Recorder(tmp_path, NUMBERED) as recorder:
        episode = recorder.start_episode()
        row = {"observation": 0, "image": np.zeros((16, 16), np.uint8)}
        for number in range(6):
            episode.append(row, {"action": 0, "reward": 0.0} if number else None)
        recorder.flush()
        state = _state_after(_loader(rlds_kit.open(tmp_path, include_open=True).windows(2), batch_size=2), 1)
        episode.append(row, {"action": 0, "reward": 0.0})
        recorder.flush()
        batches = _loader(rlds_kit.open(tmp_path, include_open=True).windows(2), batch_size=2)
        with pytest.raises(ValueError, match="with the lengths that they had"):
            batches.load_state_dict(state)


@pytest.mark.parametrize("state", [None, "state.json", 3])
def test_what_is_no_state_is_refused(dataset: Dataset, state: Any) -> None:
    """The error says where states come from."""
    with pytest.raises(TypeError, match="expected a loader's state, the dict that `state_dict` gives, got"):
        dataset.transitions().batches(4).load_state_dict(state)


@pytest.mark.parametrize("state", [{}, {"version": 0}, {"version": "1"}, {"version": 2, "epoch": 0}])
def test_a_state_of_another_version_is_refused(dataset: Dataset, state: dict[str, Any]) -> None:
    """Or what is no state at all."""
    with pytest.raises(ValueError, match="expected a loader's state of version 1, got"):
        dataset.windows(2).batches(8).load_state_dict(state)


def test_types_of_numbers_do_not_matter(dataset: Dataset) -> None:
    """NumPy's integers give the same order and state as Python's, and JSON can represent it."""
    one = dataset.windows(np.int64(2), np.int8(1)).batches(np.int32(8), shuffle="global", seed=np.int64(3))  # type: ignore[arg-type]
    other = dataset.windows(2).batches(8, shuffle="global", seed=3)
    assert json.dumps(one.state_dict()) == json.dumps(other.state_dict())
    assert same_batches(list(one), list(other))
    a = dataset.transitions(gamma=1).batches(8, shard=(np.int64(0), np.int64(2)))  # type: ignore[arg-type]
    a.load_state_dict(dataset.transitions(gamma=1.0).batches(8, shard=(0, 2)).state_dict())
    offsets = {"observation": np.arange(-1, 1)}
    dataset.chunks(offsets).batches(8).load_state_dict(dataset.chunks({"observation": [-1, 0]}).batches(8).state_dict())


def test_a_loop_that_was_begun_keeps_its_samples(dataset: Dataset, tmp_path: Path) -> None:
    """A state that is loaded meanwhile applies to the next loop, not to one that was created before."""
    fewer = numbered(tmp_path / "fewer", LENGTHS[:2])
    batches = dataset.transitions().batches(4, shuffle="global")
    expected = list(dataset.transitions().batches(4, shuffle="global"))
    begun = iter(batches)
    with pytest.raises(ValueError, match="episodes"):
        batches.load_state_dict(fewer.transitions().batches(4, shuffle="global").state_dict())
    batches.load_state_dict(_state_after(dataset.transitions().batches(4, shuffle="global"), 2))
    assert same_batches(list(begun), expected)
    assert same_batches(list(batches), expected[2:])


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_loop_that_was_begun_has_a_cache_of_its_own(tmp_path: Path, shuffle: Any) -> None:
    """The state has fewer episodes, and the loop after it fills the cache before the one that was begun first."""
    samples = numbered(tmp_path, LENGTHS).windows(2)
    state = samples.batches(8, shuffle=shuffle).state_dict()
    grown = numbered(tmp_path, [30, 5], first=sum(LENGTHS)).windows(2)
    batches, expected = grown.batches(8, shuffle=shuffle), list(grown.batches(8, shuffle=shuffle))
    begun = iter(batches)
    batches.load_state_dict(state)
    assert same_batches(list(batches), list(samples.batches(8, shuffle=shuffle)))
    assert same_batches(list(begun), expected)
