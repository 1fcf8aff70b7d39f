"""Opening a dataset: its episodes and steps, views, snapshots, threads and pickles."""

import itertools
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.base.errors import DamageWarning
from rlds_kit.riegeli.array_record import last_chunk
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from tests.storage.truth import GivingRecorder, assert_prefix, assert_same_steps, assert_whole, same

DECLARED: Final = specs.Dict({"observation": specs.Array((), np.int64), "reward": specs.Array((), np.float64)})
POLICY: Final = FlushPolicy(block_rows=4, interval=None)


def _append(episode: GivingRecorder, rows: int) -> None:
    for row in range(len(episode.given), len(episode.given) + rows):
        n = episode.given.metadata["n"]
        observed = {"observation": n * 100 + row, "info": {"a/b": row, "text": str(row)}}
        episode.append(observed, {"reward": row / 2} if row else None)


def _record(directory: Path, lengths: list[int], first: int = 0, **options: Any) -> list[GivingRecorder]:
    """Records episodes one after the other."""
    done = []
    with Recorder(directory, DECLARED, policy=POLICY, **options) as recorder:
        for n, length in enumerate(lengths, first):
            episode = GivingRecorder(recorder, metadata={"n": n, "score": n * n})
            _append(episode, length)
            episode.end(EpisodeEnd.TERMINATED)
            done.append(episode)
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[GivingRecorder]]:
    """A dataset of five episodes in three shards."""
    path = tmp_path_factory.mktemp("dataset")
    return path, _record(path, [3, 9, 1, 6, 5], max_shard_episodes=2)


@pytest.fixture
def dataset(recorded: tuple[Path, list[GivingRecorder]]) -> Dataset:
    """The same, opened."""
    return rlds_kit.open(recorded[0])


# Episodes and steps.


def test_episodes_have_length_index_and_negative_index(dataset: Dataset) -> None:
    """Episodes are a sequence in the order they were recorded."""
    assert len(dataset.episodes) == 5
    assert [episode.metadata["n"] for episode in dataset.episodes] == [0, 1, 2, 3, 4]
    assert dataset.episodes[-1].id == dataset.episodes[4].id
    assert dataset.lengths() == [3, 9, 1, 6, 5]


@pytest.mark.parametrize("index", [5, -6, 10**9])
def test_there_is_no_other_episode(dataset: Dataset, index: int) -> None:
    """An index out of range is an IndexError that says how many there are."""
    with pytest.raises(IndexError, match="5 episodes"):
        dataset.episodes[index]


@pytest.mark.parametrize("cut", [slice(1, 3), slice(None, None, -1), slice(-2, None), slice(4, 1), slice(0, 99, 2)])
def test_episodes_are_sliced(dataset: Dataset, cut: slice) -> None:
    """A slice of the episodes is again a sequence of episodes."""
    assert [episode.metadata["n"] for episode in dataset.episodes[cut]] == list(range(5))[cut]
    assert len(dataset.episodes[cut]) == len(range(5)[cut])


def test_steps_have_length_index_and_slices(dataset: Dataset, recorded: tuple[Path, list[GivingRecorder]]) -> None:
    """`ds.steps` is all steps of all episodes, one after the other."""
    expected = [step for episode in recorded[1] for step in episode.given.steps()]
    assert len(dataset.steps) == 24
    assert_same_steps([dataset.steps[index] for index in range(24)], expected)
    assert_same_steps([dataset.steps[index] for index in range(-24, 0)], expected)
    assert_same_steps(dataset.steps[2:14:3], expected[2:14:3])
    assert_same_steps(list(dataset.steps), expected)
    for index in (24, -25):
        with pytest.raises(IndexError, match="24 steps"):
            dataset.steps[index]


def test_an_episode_is_sliced(dataset: Dataset, recorded: tuple[Path, list[GivingRecorder]]) -> None:
    """Consecutive steps of an episode are an episode whose flags are those of the whole."""
    episode, given = dataset.episodes[1], recorded[1][1].given
    part = episode[2:7]
    assert part.length == 5
    assert_same_steps(list(part.steps), given.steps()[2:7])
    assert part["observation"].tolist() == [102, 103, 104, 105, 106]
    assert part["is_first"].tolist() == [False] * 5
    assert episode[5:]["is_last"].tolist() == [False, False, False, True]
    assert part[1:3]["observation"].tolist() == [103, 104]
    assert_same_steps([episode[-1]], given.steps()[-1:])
    assert episode[3:3].length == 0
    with pytest.raises(IndexError, match="consecutive"):
        episode[::2]


@pytest.mark.parametrize("index", [9, -10])
def test_there_is_no_other_step(dataset: Dataset, index: int) -> None:
    """An index out of range is an IndexError that says how many there are."""
    with pytest.raises(IndexError, match="9 steps"):
        dataset.episodes[1].steps[index]


def test_a_field_that_is_not_there_is_a_key_error(dataset: Dataset) -> None:
    """A typing error in a field's name names those that are there."""
    with pytest.raises(KeyError, match="observation, reward"):
        dataset.episodes[0]["rewards"]
    with pytest.raises(KeyError, match="observation"):
        dataset.select("rewards")


def test_the_last_step_alone_has_no_discount(tmp_path: Path) -> None:
    """The error names the other fields, not the one that only earlier steps have."""
    with Recorder(tmp_path, DECLARED) as recorder:
        written = GivingRecorder(recorder)
        written.append({"observation": 0}, None)
        written.append({"observation": 1}, {"reward": 1.0, "discount": 0.5})
        written.end(EpisodeEnd.TERMINATED)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert episode["discount"].tolist() == [0.5, 0.0]
    with pytest.raises(KeyError, match="has the field 'discount'; others are observation, reward, is_first") as caught:
        episode[1:]["discount"]
    assert "discount" not in str(caught.value).partition("others are")[2]


def test_iterators_are_independent(dataset: Dataset) -> None:
    """Two iterators over the same episodes or steps do not advance each other."""
    episodes, steps = dataset.episodes, dataset.steps
    assert all(a.id == b.id for a, b in zip(episodes, episodes, strict=True))
    assert all(same(a, b) for a, b in zip(steps, steps, strict=True))
    assert len(list(itertools.product(episodes, episodes))) == 25
    one = dataset.episodes[3].steps
    assert [[a["observation"] - b["observation"] for b in one] for a in one] == [
        [i - j for j in range(6)] for i in range(6)
    ]


# Views.


def test_where_keeps_episodes_by_metadata(dataset: Dataset) -> None:
    """`where` calls the predicate immediately, once for each episode, and returns a view of the matching ones."""
    asked: list[int] = []

    def wanted(metadata: dict[str, Any]) -> bool:
        asked.append(metadata["n"])
        return bool(metadata["score"] > 3)

    view = dataset.where(wanted)
    assert asked == [0, 1, 2, 3, 4]
    assert [episode.metadata["n"] for episode in view.episodes] == [2, 3, 4]
    assert [episode.metadata["n"] for episode in view.where(lambda m: m["n"] % 2 == 0).episodes] == [2, 4]
    assert len(view.steps) == 12
    assert len(dataset.episodes) == 5
    assert len(dataset.where(lambda _: False).steps) == 0


def test_select_reads_some_fields_only(dataset: Dataset) -> None:
    """A view of some fields has no others, in steps and stacked."""
    view = dataset.select("reward", "is_last")
    assert view.episodes[0].fields == ("reward", "is_last")
    assert view.steps[2] == {"reward": 0.0, "is_last": True}
    assert view.episodes[0]["reward"].tolist() == [0.5, 1.0, 0.0]
    with pytest.raises(KeyError, match="was not selected"):
        view.episodes[0]["observation"]
    assert "observation" in dataset.steps[0]


def test_a_view_is_a_view(dataset: Dataset) -> None:
    """Views of views combine the selections of each."""
    view = dataset.where(lambda metadata: metadata["n"] > 2).select("observation")
    assert [episode["observation"].tolist() for episode in view.episodes] == [
        list(range(300, 306)),
        list(range(400, 405)),
    ]


def test_names_with_slashes_are_found_in_a_nest(dataset: Dataset) -> None:
    """A key with a slash is escaped in a path, and a step has it as it was."""
    assert dataset.episodes[0]["info/a~1b"].tolist() == [0, 1, 2]
    assert dataset.episodes[0]["info"]["a/b"].tolist() == [0, 1, 2]
    assert dataset.episodes[0].steps[1]["info"] == {"a/b": 1, "text": "1"}


# Snapshots.


def test_a_snapshot_does_not_change(tmp_path: Path) -> None:
    """What is recorded after opening is not seen; `refresh` sees it, after what was known."""
    first = _record(tmp_path, [2, 3])
    dataset = rlds_kit.open(tmp_path)
    second = _record(tmp_path, [4], first=2)
    assert_whole(dataset, [one.given for one in first])
    fresh = dataset.refresh()
    assert_whole(fresh, [one.given for one in first + second])
    assert [episode.metadata["n"] for episode in fresh.episodes] == [0, 1, 2]
    assert [episode.id for episode in dataset.episodes] == [episode.id for episode in fresh.episodes][:2]


def test_refresh_keeps_the_index_of_every_episode(tmp_path: Path) -> None:
    """New episodes come last, even if their shard comes first by name or their writer began first."""
    early = Recorder(tmp_path, DECLARED, policy=POLICY)
    slow = GivingRecorder(early, metadata={"n": 7})
    _append(slow, 5)
    early.flush()
    _record(tmp_path, [2, 2])
    dataset = rlds_kit.open(tmp_path)
    assert [episode.metadata["n"] for episode in dataset.episodes] == [0, 1]
    slow.end(EpisodeEnd.TRUNCATED)
    early.close()
    for turn in range(3):
        _record(tmp_path, [1], first=10 + turn)
        dataset = dataset.refresh()
        assert [episode.metadata["n"] for episode in dataset.episodes] == [0, 1, 7, *range(10, 11 + turn)]


def test_where_and_select_survive_refresh(tmp_path: Path) -> None:
    """The episodes of a view keep their index, too, and its fields stay selected."""
    _record(tmp_path, [2, 3, 4])
    view = rlds_kit.open(tmp_path).where(lambda metadata: metadata["n"] != 1).select("reward")
    _record(tmp_path, [5], first=3)
    fresh = view.refresh()
    assert fresh.lengths()[:2] == [2, 4]
    assert fresh.episodes[1].fields == ("reward",)


def test_an_open_episode_is_listed_only_on_demand(tmp_path: Path) -> None:
    """While an episode is being recorded its end is None, and it is not in the dataset unless `include_open` is set."""
    with Recorder(tmp_path, DECLARED, policy=POLICY) as recorder:
        ended, running = (GivingRecorder(recorder, metadata={"n": n}) for n in range(2))
        _append(ended, 3)
        ended.end(EpisodeEnd.TERMINATED)
        _append(running, 6)
        recorder.flush()
        assert_whole(rlds_kit.open(tmp_path), [ended.given])
        dataset = rlds_kit.open(tmp_path, include_open=True)
        read = dataset.episodes[1]
        assert (read.id, read.end, read.length) == (running.episode.id, None, 6)
        assert read["is_last"].tolist() == [False] * 6
        assert read["observation"].tolist() == [100, 101, 102, 103, 104, 105]
        assert "open" in repr(read)
        _append(running, 3)
        recorder.flush()
        assert dataset.refresh().lengths() == [3, 9]
        assert read.length == 6
        running.end(EpisodeEnd.TRUNCATED)
    assert_whole(dataset.refresh(), [ended.given, running.given])
    assert read.end is None


def test_an_open_episode_that_is_discarded_leaves_the_others_in_place(tmp_path: Path) -> None:
    """A discarded episode disappears from a refreshed snapshot; no other one takes its place in a view."""
    with Recorder(tmp_path, DECLARED, policy=POLICY) as recorder:
        episodes = [GivingRecorder(recorder, metadata={"n": n}) for n in range(4)]
        for episode in episodes:
            _append(episode, 3)
        recorder.flush()
        view = rlds_kit.open(tmp_path, include_open=True).where(lambda metadata: metadata["n"] >= 1)
        episodes[1].episode.discard()
        recorder.flush()
        assert [episode.metadata["n"] for episode in view.refresh().episodes] == [2, 3]


PROGRAM: Final = """
import os, signal, sys
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.storage.test_dataset import DECLARED, POLICY, GivingRecorder, _append
from pathlib import Path
recorder = Recorder(Path(sys.argv[1]), DECLARED, policy=POLICY)
episode = GivingRecorder(recorder, metadata={"n": 5})
_append(episode, 6)
recorder.flush()
print("ready", flush=True)
sys.stdin.read()
os._exit(1)
"""


def test_an_episode_is_incomplete_when_its_writer_is_dead(tmp_path: Path) -> None:
    """As long as another process records it, the end is None; if that process dies without an end, it is INCOMPLETE."""
    writer = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"ready\n"
    dataset = rlds_kit.open(tmp_path, include_open=True)
    assert [episode.end for episode in dataset.episodes] == [None]
    assert len(rlds_kit.open(tmp_path).episodes) == 0
    writer.communicate()
    (episode,) = dataset.refresh().episodes
    with Recorder(tmp_path / "elsewhere", DECLARED) as recorder:
        truth = GivingRecorder(recorder, metadata={"n": 5})
        _append(truth, 6)
    assert_prefix(episode, truth.given, 6)
    assert [episode.end for episode in rlds_kit.open(tmp_path).episodes] == [EpisodeEnd.INCOMPLETE]


def test_a_dataset_that_is_being_recorded_can_be_read_all_the_time(tmp_path: Path) -> None:
    """A reader that refreshes while a writer is active sees only complete rows; episodes never change their index."""
    stop = threading.Event()
    given: list[GivingRecorder] = []

    def write() -> None:
        with Recorder(tmp_path, DECLARED, policy=POLICY, max_shard_episodes=3) as recorder:
            for n in range(200):  # a reader that gets little of the processor must not face thousands
                if stop.is_set():
                    return
                given.append(GivingRecorder(recorder, metadata={"n": n}))
                _append(given[-1], 7)
                given[-1].end(EpisodeEnd.TERMINATED)

    Recorder(tmp_path, DECLARED).close()
    thread = threading.Thread(target=write)
    thread.start()
    try:
        dataset = rlds_kit.open(tmp_path, include_open=True)
        known: list[uuid.UUID] = []
        while len(known) < 30:
            dataset = dataset.refresh()
            ids = [episode.id for episode in dataset.episodes]
            assert ids[: len(known)] == known
            known = ids
            for episode in dataset.episodes[-3:]:
                n = episode.metadata["n"]
                assert episode["observation"].tolist() == [n * 100 + row for row in range(episode.length)]
    finally:
        stop.set()
        thread.join()
    assert_whole(dataset.refresh(), [one.given for one in given])


def test_the_number_of_open_files_is_bounded(tmp_path: Path) -> None:
    """A dataset of more shards than may be open at once is read all the same."""
    _record(tmp_path, [2] * 150, max_shard_episodes=1)
    dataset = rlds_kit.open(tmp_path)
    for _ in range(2):
        assert [episode["observation"][1] for episode in dataset.episodes] == [n * 100 + 1 for n in range(150)]
    if sys.platform == "linux":
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        assert sum(link.readlink().is_relative_to(tmp_path) for link in links) <= 130


# Pickles and threads.


@pytest.mark.parametrize("view", [lambda ds: ds, lambda ds: ds.where(lambda m: m["n"] > 1).select("reward")])
def test_a_dataset_is_pickled(dataset: Dataset, view: Callable[[Dataset], Dataset]) -> None:
    """What travels is where the episodes are; the copy reads the same."""
    original = view(dataset)
    copy = pickle.loads(pickle.dumps(original))  # noqa: S301  our own
    assert [episode.id for episode in copy.episodes] == [episode.id for episode in original.episodes]
    assert_same_steps(list(copy.steps), list(original.steps))
    assert copy.content_digest == original.content_digest


def test_a_pickle_does_not_hold_the_data(tmp_path: Path) -> None:
    """Reading a dataset does not make its pickle larger."""
    _record(tmp_path, [50] * 3)
    dataset = rlds_kit.open(tmp_path)
    before = len(pickle.dumps(dataset))
    list(dataset.steps)
    assert len(pickle.dumps(dataset)) < before + 1_000


def test_several_threads_read_at_once(tmp_path: Path) -> None:
    """Threads that read the same dataset, in any order, each get the truth."""
    given = [one.given for one in _record(tmp_path, [40] * 12, max_shard_episodes=4)]
    dataset = rlds_kit.open(tmp_path)
    expected = [one.steps() for one in given]
    wrong: list[object] = []

    def read(seed: int) -> None:
        dice = np.random.default_rng(seed)
        for _ in range(150):
            number, row = int(dice.integers(12)), int(dice.integers(40))
            if not same(dataset.episodes[number].steps[row], expected[number][row]):
                wrong.append((number, row))
        stacked = {number: dataset.episodes[number]["observation"] for number in dice.permutation(12).tolist()}
        wrong.extend(number for number, array in stacked.items() if not same(array, np.arange(40) + number * 100))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Order and identity.


def test_a_new_snapshot_orders_episodes_by_shard_and_start(tmp_path: Path) -> None:
    """Opened anew, episodes come by the name of their shard and, within one, by their start."""
    with Recorder(tmp_path, DECLARED, policy=POLICY, max_shard_episodes=2) as recorder:
        episodes = [GivingRecorder(recorder, metadata={"n": n}) for n in range(5)]
        for episode in reversed(episodes):
            _append(episode, 4 + episode.given.metadata["n"])
            recorder.flush()
        for episode in reversed(episodes):
            episode.end(EpisodeEnd.TERMINATED)
    for include_open in (False, True):
        dataset = rlds_kit.open(tmp_path, include_open=include_open)
        assert [episode.metadata["n"] for episode in dataset.episodes] == [4, 3, 2, 1, 0]


def test_the_datasets_digest_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """Equal episodes, recorded in another order into other shards, have the same digest."""
    digests = set()
    for turn, order in enumerate(([0, 1, 2], [2, 0, 1])):
        with Recorder(tmp_path / str(turn), DECLARED, max_shard_episodes=turn + 1) as recorder:
            for n in order:
                episode = GivingRecorder(recorder, metadata={"n": n})
                _append(episode, 5 + n)
                episode.end(EpisodeEnd.TERMINATED)
        digests.add(rlds_kit.open(tmp_path / str(turn)).content_digest)
    assert len(digests) == 1


def test_take_gives_the_episodes_of_these_numbers_in_this_order(tmp_path: Path) -> None:
    """Negative numbers count from the end, and the same episode is not given twice."""
    _record(tmp_path, [3, 4, 5, 6])
    dataset = rlds_kit.open(tmp_path)
    ids = [episode.id for episode in dataset.episodes]
    assert [episode.id for episode in dataset.take([2, 0, -1]).episodes] == [ids[2], ids[0], ids[3]]
    assert len(dataset.take([]).episodes) == 0
    with pytest.raises(IndexError, match="once"):
        dataset.take([1, -3])
    with pytest.raises(IndexError):
        dataset.take([4])


def test_split_parts_the_episodes_once_and_for_all(tmp_path: Path) -> None:
    """Parts are disjoint and complete, and an episode stays in its part when others are added."""
    _record(tmp_path, [2] * 40)
    before = rlds_kit.open(tmp_path).split({"train": 0.75, "test": 0.25})
    ids = {name: {episode.id for episode in part.episodes} for name, part in before.items()}
    assert len(ids["train"]) + len(ids["test"]) == 40
    assert not ids["train"] & ids["test"]
    _record(tmp_path, [2] * 40, first=40)
    after = rlds_kit.open(tmp_path).split({"train": 0.75, "test": 0.25})
    assert ids["train"] < {episode.id for episode in after["train"].episodes}
    assert ids["test"] < {episode.id for episode in after["test"].episodes}


def test_a_field_that_only_a_damaged_header_declares_can_be_selected(tmp_path: Path) -> None:
    """Where a header is damaged, it is not known which fields there are."""
    _record(tmp_path, [2, 2], max_shard_episodes=1)
    with pytest.raises(KeyError, match="unknown"):
        rlds_kit.open(tmp_path).select("unknown")
    first = shards_in(tmp_path)[0]
    index = last_chunk(ShardFile(first))
    assert index is not None
    data = bytearray(first.read_bytes()[:index])
    data[130] ^= 1
    first.write_bytes(data)
    with pytest.warns(DamageWarning):
        dataset = rlds_kit.open(tmp_path)
    assert dataset.select("unknown").selected == ("unknown",)
