"""Windows of consecutive steps, against a loop over every episode's steps."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, EpisodeEnd
from rlds_kit.loader.windows import Pad
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.loader.recording import NUMBERED, EpisodePlan, Plan, numbered, plain, plans, recorded, select_all
from tests.loader.truth import assert_batch, flat, true_episodes, windows
from tests.repetitions import repetitions
from tests.storage.truth import same

pads = st.sampled_from(("none", "zero", "repeat"))


@pytest.mark.sweep
@given(plan=plans(), length=st.integers(1, 12), stride=st.integers(1, 14), pad=pads)
@settings(max_examples=repetitions(60, least=24))
def test_windows_are_what_a_loop_over_the_steps_gives(plan: Plan, length: int, stride: int, pad: str) -> None:
    """Every value, mask and flag of every window of any dataset, and how many windows there are."""
    with recorded(plan) as dataset:
        _check(dataset, plan, length, stride, pad)


@given(plan=plans(max_episodes=3), length=st.integers(1, 6), pad=pads)
@settings(max_examples=15)
def test_windows_of_episodes_that_are_being_recorded(plan: Plan, length: int, pad: str) -> None:
    """An open episode has windows of its existing steps; its latest step is not its last."""
    with recorded(plan, include_open=True) as dataset:
        _check(dataset, plan, length, 1, pad)


def _check(dataset: Dataset, plan: Plan, length: int, stride: int, pad: str) -> None:
    samples = select_all(dataset, plan.kinds).windows(length, stride, pad)  # type: ignore[arg-type]  # one of the literals
    expected = windows(true_episodes(dataset, plan.kinds), length, stride, pad)
    assert len(samples) == len(expected)
    assert_batch(samples.gather(range(len(samples))), expected, dataset.spec)


def test_a_window_longer_than_an_episode_needs_padding() -> None:
    """Without padding there is none; with padding, each start has a window whose mask shows the existing steps."""
    with recorded(plain(3, 1, observation="scalar")) as dataset:
        assert len(dataset.windows(4)) == 0
        assert list(dataset.windows(4).batches(2)) == []
        padded = dataset.windows(4, pad="zero")
        assert len(padded) == 4
        assert padded.gather(range(4))["mask"].sum(axis=1).tolist() == [3, 2, 1, 1]
        assert len(dataset.windows(3)) == 1


def test_padding_is_zeros_or_the_last_step_again() -> None:
    """Beyond an episode's end stand zeros of the dtype, which for text is the empty one, or its last step."""
    with recorded(plain(2, observation="fixed text")) as dataset:
        (zero, *_) = dataset.windows(3, pad="zero").gather([0])["observation"]
        (again, *_) = dataset.windows(3, pad="repeat").gather([0])["observation"]
        last = dataset.episodes[0]["observation"][-1]
        assert zero[2].tolist() == ["", ""]
        assert again[2].tolist() == last.tolist()


@pytest.mark.parametrize("pad", ["zero", "repeat"])
def test_flags_are_false_where_there_is_no_step(pad: Pad) -> None:
    """An episode has one first and one last step, however many rows of a window lie beyond its end."""
    with recorded(plain(2, observation="scalar")) as dataset:
        windows = dataset.windows(4, pad=pad).gather([0, 1])
        assert windows["is_first"].tolist() == [[True, False, False, False], [False] * 4]
        assert windows["is_last"].tolist() == [[False, True, False, False], [True, False, False, False]]
        chunks = dataset.chunks({"is_first": [-1, 0, 1], "is_last": [-1, 0, 1]}, pad=pad).gather([0, 1])
        assert chunks["is_first"].tolist() == [[False, True, False], [True, False, False]]
        assert chunks["is_last"].tolist() == [[False, False, True], [False, True, False]]


def test_no_window_reaches_over_a_gap() -> None:
    """Windows begin anew where steps were left out."""
    episode = EpisodePlan(9, gaps=frozenset({3, 4}))
    with recorded(Plan((episode,), observation="scalar", is_scheduled=True)) as dataset:
        indices = dataset.select("step_index").windows(2).gather(range(len(dataset.windows(2))))["step_index"]
        assert len(indices) == 2 + 0 + 4
        assert (np.diff(indices) == 1).all()
        assert dataset.windows(4).gather([0])["mask"].all()
        assert len(dataset.windows(6)) == 0


def test_a_missing_last_observation_is_no_gap() -> None:
    """The last action of data whose final observation is missing has its step, also where steps have numbers."""
    for is_scheduled in (False, True):
        plan = Plan((EpisodePlan(4, lacks_observation=True),), is_scheduled=is_scheduled)
        with recorded(plan) as dataset:
            valid = dataset.windows(4).gather([0])["valid"]
            assert valid["observation"].tolist() == [[True, True, True, False]]
            assert valid["action"].tolist() == [[True, True, True, False]]


@pytest.mark.parametrize("ending", list(EpisodeEnd))
def test_flags_of_windows_are_those_of_the_steps(ending: EpisodeEnd) -> None:
    """`is_terminal` is set on the last step of a terminated episode only."""
    with recorded(Plan((EpisodePlan(3, ending),))) as dataset:
        batch = dataset.windows(3).gather([0])
        assert batch["is_first"].tolist() == [[True, False, False]]
        assert batch["is_last"].tolist() == [[False, False, True]]
        assert batch["is_terminal"].tolist() == [[False, False, ending is EpisodeEnd.TERMINATED]]


def test_an_episode_that_is_being_recorded_has_no_last_step() -> None:
    """It is not known yet which step will be the last."""
    with recorded(Plan((EpisodePlan(3, EpisodeEnd.INCOMPLETE),)), include_open=True) as dataset:
        assert not dataset.windows(3).gather([0])["is_last"].any()


def test_windows_have_what_was_selected() -> None:
    """Only that is read: of a nest only the part with the given path; dynamic fields only if requested."""
    with recorded(plain(5, observation="dict", info="optional")) as dataset:
        assert "info" not in dataset.windows(2).gather([0])
        batch = dataset.select("observation/inner", "info/lives").windows(2).gather(range(4))
        assert batch.keys() >= {"observation", "info", "is_first", "is_last", "is_terminal", "mask", "valid"}
        assert not batch.keys() & {"action", "reward"}
        assert {*flat(batch["observation"]), *flat(batch["info"])} == {"inner/x", "lives"}
        assert batch["valid"].keys() == {"observation", "info"}
        lives = dataset.episodes[0]["info/lives"]
        assert batch["info"]["lives"].tolist() == np.stack([lives[:-1], lives[1:]], 1).tolist()
        assert dataset.select("info").windows(2).gather([0])["info"].keys() == {"lives", "bonus"}


def test_fields_can_be_converted() -> None:
    """`dtypes` names a field, or a part of one; the longest name counts, and all else is as recorded."""
    with recorded(plain(3, observation="dict", reward="float64")) as dataset:
        wanted = {"observation": "float16", "observation/inner/x": "int64", "reward": "float32"}
        samples = dataset.select("observation/pixels", "observation/inner", "reward", "action")
        batch = samples.windows(2, dtypes=wanted).gather([0])
        names = ("observation/pixels", "observation/inner/x", "reward", "action")
        assert [str(flat(batch)[name].dtype) for name in names] == ["float16", "int64", "float32", "int64"]
        truth = dataset.episodes[0]["reward"].astype(np.float32)
        assert batch["reward"][0].tolist() == truth[:2].tolist()


def test_a_snapshot_does_not_change_while_recording_goes_on(tmp_path: Path) -> None:
    """Samples are of the steps that there were when the dataset was opened."""
    image = np.zeros((16, 16), np.uint8)
    with Recorder(tmp_path, NUMBERED, policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
        episode = recorder.start_episode()
        for number in range(6):
            acted = {"action": number, "reward": 1.0} if number else None
            episode.append({"observation": number, "image": image}, acted)
        recorder.flush()
        samples = rlds_kit.open(tmp_path, include_open=True).windows(3)
        before = samples.gather(range(len(samples)))
        episode.append({"observation": 6, "image": image}, {"action": 6, "reward": 1.0})
        recorder.flush()
        episode.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        assert len(samples) == 4
        assert same(flat(samples.gather(range(4))), flat(before))
        again = pickle.loads(pickle.dumps(samples))  # noqa: S301  our own
        assert same(flat(again.gather(range(4))), flat(before))
        assert before["observation"][-1].tolist() == [3, 4, 5]
        assert before["valid"]["action"][-1].tolist() == [True, True, False]


def test_more_shards_than_are_kept_open(tmp_path: Path) -> None:
    """Files are closed and opened again as they are needed, by several threads at once."""
    dataset = numbered(tmp_path, [2] * 150, shard=1)
    for shuffle in (None, "global"):
        batches = dataset.windows(2).batches(50, shuffle=shuffle, threads=4, memory=2_000)
        firsts = [number for batch in batches for number in batch["observation"][:, 0].tolist()]
        assert sorted(firsts) == list(range(0, 300, 2))


def test_damaged_numbers_of_steps_are_an_error() -> None:
    """Without them the positions of gaps are unknown, so an error is raised."""
    plan = Plan((EpisodePlan(9, gaps=frozenset({4})),), observation="scalar", is_scheduled=True)
    with recorded(plan) as dataset:
        name, entry = dataset._all[0]
        data = bytearray((dataset.path / name).read_bytes())
        data[int(entry.blocks[1]) + 60] ^= 1  # in the header of the second block
        (dataset.path / name).write_bytes(data)
        damaged = rlds_kit.open(dataset.path)
        with pytest.raises(rlds_kit.DamagedError):
            len(damaged.windows(2))
        with pytest.raises(rlds_kit.DamagedError):
            damaged.transitions().batches(2)
