"""The CrowdPlay Atari dataset is read as it is, by game, task and channel."""

import bz2
import doctest
import pickle
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ale_py")

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.errors import FormatError, NotADatasetError
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.crowdplay import trajectories as crowdplay
from rlds_kit.convert.crowdplay.restricted_unpickler import RefusedPickleError
from rlds_kit.convert.crowdplay.trajectories import read_episodes
from rlds_kit.convert.protocol import ConversionError
from tests.convert.crowdplay_sample import FIRST, SECOND, SESSIONS, make_sample


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[dict[str, Any]]]]:
    """A dataset and what is in its trajectories."""
    root = tmp_path_factory.mktemp("crowdplay")
    return root, make_sample(root)


def test_every_step_is_read_as_it_is(sample: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """Screens, actions, rewards, memory and times of every step of every agent are those of the trajectory."""
    root, trajectories = sample
    episodes = read_episodes(root)
    assert sorted(episode.episode_id for episode in episodes) == sorted(trajectories)
    for episode in episodes:
        stored = trajectories[episode.episode_id]
        trajectory = episode.trajectory()
        for agent in trajectory.agents:
            steps = list(trajectory.steps(agent))
            assert len(steps) == len(stored)
            for step, truth in zip(steps, stored, strict=True):
                np.testing.assert_array_equal(step.observation, truth["prev_obs"][agent]["image"], strict=True)
                np.testing.assert_array_equal(step.ram, truth["info"][agent]["RAM"], strict=True)
                assert (step.action, step.reward) == (truth["action"][agent]["game"], truth["reward"][agent])
                assert (step.done, step.step_iter) == (truth["done"][agent], truth["step_iter"])
                assert step.action_step_iter == truth["action_step_iter"][agent]
                assert step.user_type == truth["user_type"][agent]


def test_python_reads_the_same(sample: tuple[Path, dict[str, list[dict[str, Any]]]]) -> None:
    """The restricted unpickler gives what Python's own one would."""
    root, _ = sample
    played = next(each for each in read_episodes(root, games=["riverraid"]))
    for ours, theirs in zip(played.trajectory().stored, pickle.loads(played.path.read_bytes()), strict=True):  # noqa: S301  ours
        np.testing.assert_equal(ours, {**theirs, "prev_obs": {FIRST: dict(theirs["prev_obs"][FIRST])}})


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, [0, 0, 1, 2, 3]),
        ({"games": ["space_invaders"]}, [0, 0, 1]),
        ({"tasks": ["left", "plain"]}, [1, 2]),
        ({"channels": ["email"]}, [1, 2]),
        ({"games": ["space_invaders"], "channels": ["email"]}, [1]),
        ({"games": ["qbert"]}, []),
    ],
)
def test_episodes_are_chosen(sample: tuple[Path, object], chosen: Mapping[str, list[str]], expected: list[int]) -> None:
    """Games, tasks and channels choose, alone and together; none of them chooses all."""
    found = read_episodes(sample[0], **chosen)
    assert [each.task_id for each in found] == [SESSIONS[number].task_id for number in expected]


def test_what_is_known_is_kept(sample: tuple[Path, object]) -> None:
    """Task, channel, date, scores and the players' pseudonyms are included; identifiers of a visit are not."""
    played = read_episodes(sample[0], games=["space_invaders_ai"])[0]
    assert (played.task, played.channel, played.task_id) == (
        "cooperative",
        "mturk",
        "space_invaders_ai_cooperative_mturk",
    )
    assert played.players == {FIRST: f"{1:040x}"}
    assert played.keywords["all"] == {"created_on": "2021-09-01T12:30:05.000250"}
    assert played.keywords[FIRST] == {"Score": 0.0, "Time played": 0.0}
    assert played.session_keywords["all"]["created_on"] == "2021-09-01T00:00:00"
    assert played.trajectory().agents == (FIRST, SECOND)
    assert "visit" not in repr(played)


def test_measures_are_those_of_the_agent(sample: tuple[Path, object]) -> None:
    """A step has what the task's measures stood at for its agent, spans of time in seconds."""
    played = read_episodes(sample[0], games=["riverraid"])[0]
    step = list(played.trajectory().steps(FIRST))[-1]
    assert step.collectors == {name: {"Score": 0.0, "Time played": 0.0} for name in ("session", "episode")}


def test_a_missing_database_is_reported(tmp_path: Path) -> None:
    """A folder without database, or with a file that is none, is refused with what to do."""
    with pytest.raises(NotADatasetError, match=r"data-v0\.zip"):
        read_episodes(tmp_path)
    (tmp_path / "dataset.sqlite").write_bytes(b"SQLite format 3" + bytes(1000))
    with pytest.raises(FormatError, match="not a database of CrowdPlay"):
        read_episodes(tmp_path)


def test_missing_trajectory_is_named(tmp_path: Path) -> None:
    """A database with more episodes than the folder is refused, and so is a name that leads out of the folder."""
    make_sample(tmp_path, SESSIONS[2:3])
    (trajectory,) = tmp_path.glob("*.pickle")
    trajectory.unlink()
    with pytest.raises(FormatError, match=f"{trajectory.stem}.* is missing"):
        read_episodes(tmp_path)
    with sqlite3.connect(tmp_path / "dataset.sqlite") as base:
        base.execute("UPDATE episodes SET episode_id = '../elsewhere'")
    base.close()
    with pytest.raises(FormatError, match="expected an id"):
        read_episodes(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("DELETE FROM environments", "to have an id and a session"),
        ("UPDATE episodes SET episode_id = x'0102'", "to have an id and a session"),
        ("UPDATE episodekeyworddata SET value = 'text'", "expected a pickle, got 'text'"),
        ("UPDATE environmentkeyworddata SET value = 7", "expected a pickle, got 7"),
    ],
)
def test_rows_of_another_form_are_refused(tmp_path: Path, change: str, message: str) -> None:
    """Above all no episode is left out in silence because its session is missing."""
    make_sample(tmp_path, SESSIONS[2:3])
    with sqlite3.connect(tmp_path / "dataset.sqlite") as base:
        base.execute(change)
    base.close()
    with pytest.raises(FormatError, match=f"dataset.sqlite: .*{message}"):
        read_episodes(tmp_path)


def test_sets_of_several_types_are_sorted() -> None:
    """By type first, for numbers and text have no order among them."""
    assert crowdplay.plain({3, "b", "a", 20}) == [3, 20, "a", "b"]


def test_malicious_pickles_are_refused_with_their_place(tmp_path: Path) -> None:
    """A trajectory or a value in the database that names a function is refused with the file's name; no code is run."""

    class Attack:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return exec, (f"open({str(tmp_path / 'trap')!r}, 'w')",)

    make_sample(tmp_path, SESSIONS[2:3])
    (played,) = read_episodes(tmp_path)
    played.path.write_bytes(pickle.dumps([Attack()]))
    with pytest.raises(RefusedPickleError, match=rf"{played.path}: .*builtins\.exec"):
        list(played.trajectory().steps(FIRST))
    with sqlite3.connect(tmp_path / "dataset.sqlite") as base:
        base.execute("UPDATE episodekeyworddata SET value = ? WHERE key = 'Score'", (pickle.dumps(Attack()),))
    base.close()
    with pytest.raises(RefusedPickleError, match=r"episodekeyworddata.*'Score'.*builtins\.exec"):
        read_episodes(tmp_path)
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda step: step.pop("reward"), "step 0: expected 'reward'"),
        (lambda step: step["reward"].clear(), "step 0: reward: expected 'game_0>player_0'"),
        (lambda step: step["prev_obs"][FIRST].update(image=[1]), r"prev_obs: game_0>player_0: image: expected"),
        (lambda step: step["info"][FIRST].update(RAM=np.zeros(7)), "RAM: expected 128 uint8, got float64"),
        (lambda step: step["action"].update({FIRST: "up"}), "action: game_0>player_0: expected"),
    ],
)
def test_other_forms_are_named(tmp_path: Path, change: Any, message: str) -> None:
    """A trajectory that is not of CrowdPlay's form says where and how."""
    (trajectory,) = make_sample(tmp_path, SESSIONS[2:3]).values()
    (played,) = read_episodes(tmp_path)
    change(trajectory[0])
    played.path.write_bytes(pickle.dumps(trajectory))
    with pytest.raises(FormatError, match=message):
        list(played.trajectory().steps(FIRST))
    played.path.write_bytes(pickle.dumps({}))
    with pytest.raises(FormatError, match="expected a list of steps"):
        played.trajectory()


def test_truncated_download_is_refused(tmp_path: Path) -> None:
    """A truncated trajectory is an error that names it."""
    make_sample(tmp_path, SESSIONS[:1])
    played = read_episodes(tmp_path)[0]
    played.path.write_bytes(played.path.read_bytes()[:-50])
    with pytest.raises(FormatError, match=played.path.name):
        played.trajectory()


def test_docstring_examples_run() -> None:
    """The examples in docstrings do what they show."""
    assert doctest.testmod(crowdplay).failed == 0


def test_converted_as_any_other_format(tmp_path: Path) -> None:
    """Each agent's screen, action and reward of every frame; the last screen is unknown."""
    trajectories = make_sample(tmp_path / "crowdplay")
    reports = [convert(tmp_path / "crowdplay", tmp_path / f"by-{n}", workers=n, part_bytes=1) for n in (1, 2)]
    assert reports[0].content_digest == reports[1].content_digest
    assert (reports[0].source_format, reports[0].losses, reports[0].lossy_at_the_source) == ("crowdplay", (), {})
    ours = rlds_kit.open(tmp_path / "by-2")
    expected = [(name, agent) for name in sorted(trajectories) for agent in sorted(trajectories[name][0]["prev_obs"])]
    assert [(each.metadata["crowdplay_episode"], each.metadata["agent_id"]) for each in ours.episodes] == expected
    for episode, (name, agent) in zip(ours.episodes, expected, strict=True):
        stored = trajectories[name]
        assert len(episode) == len(stored) + 1
        for step, frame in zip(episode.steps, stored, strict=False):
            assert np.array_equal(step["observation"], frame["prev_obs"][agent]["image"])
            assert (step["action"], step["reward"]) == (frame["action"][agent]["game"], frame["reward"][agent])
            assert np.array_equal(step["next_ram"], frame["info"][agent]["RAM"])
        assert not episode.mask("observation")[-1]
        assert episode.end is (EpisodeEnd.TERMINATED if stored[-1]["done"][agent] else EpisodeEnd.INTERRUPTED)


def test_what_no_field_stands_for_is_not_lost_in_silence(tmp_path: Path) -> None:
    """Anything in a step that CrowdPlay's own do not have is named, and counted."""
    (name, trajectory), *_ = make_sample(tmp_path / "crowdplay", SESSIONS[:1]).items()
    for step in trajectory:
        step["info"][FIRST]["lives"] = 3
    (tmp_path / "crowdplay" / f"{name}.pickle.bz2").write_bytes(bz2.compress(pickle.dumps(trajectory, 4)))
    with pytest.raises(ConversionError, match="info/lives"):
        convert(tmp_path / "crowdplay", tmp_path / "ours")
    report = convert(tmp_path / "crowdplay", tmp_path / "ours", allow_loss=True)
    assert [(loss.field, loss.values) for loss in report.losses] == [("info/lives", len(trajectory))]


def test_measures_that_are_not_kept_by_agent_are_not_lost(tmp_path: Path) -> None:
    """They are of all agents, and so is what stands beside the agents' own; another agent's stay with that agent."""
    (name, trajectory), *_ = make_sample(tmp_path / "crowdplay", SESSIONS[-1:]).items()
    for step in trajectory:
        step["task_callables"] = {
            "Team score": {"all": 7},
            "Distance": {"all": 1.5, FIRST: 2, SECOND: 3},
            "Left": {SECOND: 4},
            "Nothing": {},
            "Level": {FIRST: None, SECOND: None},
            "Plain": 5,
        }
        step["episode_callables"] = [1, 2]
    (tmp_path / "crowdplay" / f"{name}.pickle.bz2").write_bytes(bz2.compress(pickle.dumps(trajectory, 4)))
    report = convert(tmp_path / "crowdplay", tmp_path / "ours")
    assert report.losses == ()
    first, second = rlds_kit.open(tmp_path / "ours").episodes
    common = {"Team score": {"all": 7}, "Nothing": {}, "Level": None, "Plain": 5}
    for step in list(first.steps)[:-1]:
        assert step["collectors"] == {"session": {**common, "Distance": {"all": 1.5, FIRST: 2}}, "episode": [1, 2]}
    for step in list(second.steps)[:-1]:
        session = {**common, "Distance": {"all": 1.5, SECOND: 3}, "Left": 4}
        assert step["collectors"] == {"session": session, "episode": [1, 2]}


def test_the_report_counts_the_steps_of_the_dataset(tmp_path: Path) -> None:
    """Also the one after the last action, whose observation CrowdPlay did not store."""
    make_sample(tmp_path / "crowdplay", SESSIONS[:2])
    report = convert(tmp_path / "crowdplay", tmp_path / "ours")
    lengths = [episode.length for episode in rlds_kit.open(tmp_path / "ours").episodes]
    assert (report.episodes, report.steps) == (len(lengths), sum(lengths))
