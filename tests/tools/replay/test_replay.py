"""Playing recorded episodes again."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import ale_py
import dm_env
import gymnasium
import numpy as np
import pytest
from dm_env import specs as dm_specs
from gymnasium.wrappers import FrameStackObservation, TimeLimit, TransformObservation

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base.environment import NotRebuiltError
from rlds_kit.logger import EnvLogger, EpisodeWriter, GymnasiumLogger, VectorLogger
from rlds_kit.logger.schedulers import ListStepScheduler
from rlds_kit.storage.directory import shards_in
from rlds_kit.tools.replay import Report, replay
from tests.tools.compare.rewriting import rewrite
from tests.tools.upkeep.mending import damage

gymnasium.register_envs(ale_py)


def _record(
    env: gymnasium.Env[Any, Any], directory: Path, *, episodes: int = 2, steps: int = 60, **options: Any
) -> Path:
    """Plays at random; episodes that take longer are broken off."""
    with GymnasiumLogger(env, directory, **options) as logged:
        logged.action_space.seed(0)
        for number in range(episodes):
            logged.reset(seed=None if number else 3)
            for _ in range(steps):
                _, _, terminated, truncated, _ = logged.step(logged.action_space.sample())
                if terminated or truncated:
                    break
    return directory


def _replayed(directory: Path, **options: Any) -> Report:
    return replay(rlds_kit.open(directory), **options)


def _place(report: Report) -> list[tuple[int, int, str]]:
    return [(each.episode, found.step, found.field) for each in report.diverged for found in each.divergences]


@pytest.mark.parametrize(
    "game", ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"]
)
def test_classic_control_comes_out_the_same(game: str, tmp_path: Path) -> None:
    """Every observation, reward, flag and info, of episodes that ended in any way."""
    directory = _record(gymnasium.make(game), tmp_path / "d", episodes=3, steps=250)
    report = _replayed(directory, with_info=True)
    assert (report.ok, report.diverged) == (True, ())
    assert [each.replayed for each in report.outcomes] == [e.length - 1 for e in rlds_kit.open(directory).episodes]


@pytest.mark.parametrize("game", ["ALE/Pong-v5", "ALE/Breakout-v5"])
def test_atari_with_sticky_actions_comes_out_the_same(game: str, tmp_path: Path) -> None:
    """The emulator's random numbers follow from the seed."""
    env = gymnasium.make(game, repeat_action_probability=0.25)
    directory = _record(env, tmp_path / "d", steps=150)
    report = _replayed(directory, with_info=True)
    assert (report.ok, sum(each.replayed for each in report.outcomes)) == (True, 300)


def test_wrappers_and_arguments_are_made_again(tmp_path: Path) -> None:
    """Those that store their arguments."""
    env = FrameStackObservation(gymnasium.make("CartPole-v1", max_episode_steps=7), 3)
    report = _replayed(_record(env, tmp_path / "d"))
    assert (report.ok, [each.replayed for each in report.outcomes]) == (True, [7, 7])


def test_reset_options_are_passed_on(tmp_path: Path) -> None:
    """They change where CartPole begins."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path / "d") as env:
        env.reset(seed=1, options={"low": -0.01, "high": 0.01})
        env.step(0)
    assert _replayed(tmp_path / "d").ok


@pytest.mark.parametrize(("field", "row"), [("reward", 17), ("observation", 9)])
def test_changed_value_is_found_at_its_step(tmp_path: Path, field: str, row: int) -> None:
    """A reward at the step of its action, an observation at its own."""
    source = _record(gymnasium.make("CartPole-v1"), tmp_path / "a", episodes=3)

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (1, row):
            values[field] = values[field] + 0.5 if field == "reward" else values[field] * np.float32(2)

    source_lengths = [episode.length for episode in rlds_kit.open(source).episodes]
    assert source_lengths[1] > row + 1
    copy = rewrite(source, tmp_path / "b", change)
    assert _place(replay(copy)) == [(1, row, field)]


def test_changed_pixel_is_found(tmp_path: Path) -> None:
    """One pixel of one frame, with its place and how far it is off."""
    source = _record(gymnasium.make("ALE/Pong-v5"), tmp_path / "a", steps=40)

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (0, 23):
            values["observation"][100, 80, 1] ^= 4

    report = replay(rewrite(source, tmp_path / "b", change))
    assert _place(report) == [(0, 23, "observation")]
    (found,) = report.diverged[0].divergences
    assert (found.max_difference, found.recorded.endswith("at [100, 80, 1]")) == (4, True)


def test_changed_action_is_found_in_what_follows_it(tmp_path: Path) -> None:
    """The environment does something else from there on."""
    source = _record(gymnasium.make("CartPole-v1"), tmp_path / "a")

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (0, 5):
            values["action"] = 1 - values["action"]

    report = replay(rewrite(source, tmp_path / "b", change))
    assert [(episode, step) for episode, step, _ in _place(report)] == [(0, 6)]
    assert report.diverged[0].replayed == 6


def test_forged_truncation_is_found(tmp_path: Path) -> None:
    """An end that the environment does not agree to."""
    _record(gymnasium.make("CartPole-v1"), tmp_path / "a", episodes=1, steps=5)
    source = rlds_kit.open(tmp_path / "a")
    with EpisodeWriter(tmp_path / "b", environment=source.environment, record_time=False) as writer:
        steps = source.episodes[0].steps
        with writer.episode(seed=source.episodes[0].seed) as episode:
            episode.start(steps[0]["observation"])
            for row in range(5):
                last = row == 4
                episode.step(steps[row]["action"], steps[row]["reward"], steps[row + 1]["observation"], truncated=last)
    assert _place(_replayed(tmp_path / "b")) == [(0, 5, "truncated")]


def test_end_of_the_environment_that_was_not_recorded_is_found(tmp_path: Path) -> None:
    """The recording continues after the environment has ended."""
    env = gymnasium.make("MountainCar-v0", max_episode_steps=50)
    _record(env, tmp_path / "a", episodes=1, steps=50)
    source = rlds_kit.open(tmp_path / "a")
    environment = source.environment
    environment["spec"] = {**environment["spec"], "max_episode_steps": 20}
    steps = source.episodes[0].steps
    with EpisodeWriter(tmp_path / "b", environment=environment, record_time=False) as writer:
        episode = writer.episode(seed=source.episodes[0].seed)
        episode.start(steps[0]["observation"])
        for row in range(49):
            episode.step(steps[row]["action"], steps[row]["reward"], steps[row + 1]["observation"])
    assert _place(_replayed(tmp_path / "b")) == [(0, 20, "truncated")]


KILLED = """
import gymnasium, os, signal, sys
from rlds_kit.logger import GymnasiumLogger
env = GymnasiumLogger(gymnasium.make("MountainCar-v0"), sys.argv[1])
env.reset(seed=1)
for step in range(30):
    env.step(step % 3)
env.recorder.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that kills")
def test_incomplete_episode_is_played_as_far_as_it_goes(tmp_path: Path) -> None:
    """The recorded steps of a killed process are compared; its end is unknown."""
    environment = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "d")], env=environment, check=False)
    assert rlds_kit.open(tmp_path / "d").episodes[0].end is EpisodeEnd.INCOMPLETE
    report = _replayed(tmp_path / "d")
    assert (report.ok, report.outcomes[0].replayed) == (True, 30)


def test_interrupted_episode_is_played_as_far_as_it_goes(tmp_path: Path) -> None:
    """No flag is expected at its end."""
    directory = _record(gymnasium.make("MountainCar-v0"), tmp_path / "d", episodes=1, steps=9)
    assert rlds_kit.open(directory).episodes[0].end is EpisodeEnd.INTERRUPTED
    assert (_replayed(directory).ok, _replayed(directory).outcomes[0].replayed) == (True, 9)


def test_chosen_episodes_only(tmp_path: Path) -> None:
    """In the requested order."""
    directory = _record(gymnasium.make("CartPole-v1"), tmp_path / "d", episodes=4)
    assert [each.episode for each in _replayed(directory, episodes=[3, 1]).outcomes] == [3, 1]
    with pytest.raises(IndexError):
        _replayed(directory, episodes=[4])


def _reasons(report: Report) -> list[str]:
    assert not report.ok
    assert not report.diverged
    return [each.reason for each in report.not_replayed]


def test_episode_without_a_seed_is_named(tmp_path: Path) -> None:
    """Not passed over in silence."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path / "d") as env:
        env.reset()
        env.step(0)
    (reason,) = _reasons(_replayed(tmp_path / "d"))
    assert "no seed was recorded" in reason


def test_recording_without_an_environment_says_so(tmp_path: Path) -> None:
    """A robot cannot be made again."""
    with EpisodeWriter(tmp_path / "d") as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(1, 0.0, 0.1)
    assert "no environment id was recorded" in _reasons(_replayed(tmp_path / "d"))[0]


class _Coin(dm_env.Environment):
    def reset(self) -> dm_env.TimeStep:
        return dm_env.restart(np.int64(0))

    def step(self, action: Any) -> dm_env.TimeStep:
        return dm_env.termination(1.0, np.int64(1))

    def observation_spec(self) -> Any:
        return dm_specs.Array((), np.int64)

    def action_spec(self) -> Any:
        return dm_specs.DiscreteArray(2)


def test_dm_env_recording_says_that_it_cannot_be_made_again(tmp_path: Path) -> None:
    """dm_env has neither ids nor seeds."""
    with EnvLogger(_Coin(), tmp_path / "d") as env:
        env.reset()
        env.step(0)
    assert "dm_env environment" in _reasons(_replayed(tmp_path / "d"))[0]


@pytest.mark.parametrize("options", [{}, {"max_episode_steps": 9, "disable_env_checker": True}])
def test_sub_environments_are_played_one_by_one(tmp_path: Path, options: dict[str, Any]) -> None:
    """Those that an autoreset began come after those that led to them; limits are those of each of them."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync", **options)
    with VectorLogger(envs, tmp_path / "d") as logged:
        logged.action_space.seed(0)
        logged.reset(seed=5)
        for _ in range(60):
            logged.step(logged.action_space.sample())
    report = _replayed(tmp_path / "d")
    assert (report.ok, len(report.outcomes) > 2) == (True, True)
    assert sum(each.replayed for each in report.outcomes) == sum(each.actions for each in report.outcomes) > 100


def test_wrappers_of_make_vec_are_put_around_each_environment(tmp_path: Path) -> None:
    """Frames are stacked in the recording, and so they are when it is played again."""
    wrappers = [functools.partial(FrameStackObservation, stack_size=3)]
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync", wrappers=wrappers)
    with VectorLogger(envs, tmp_path / "d") as logged:
        logged.action_space.seed(0)
        logged.reset(seed=5)
        for _ in range(40):
            logged.step(logged.action_space.sample())
    assert rlds_kit.open(tmp_path / "d").make_env().observation_space.shape == (3, 4)
    report = _replayed(tmp_path / "d")
    assert report.ok
    assert sum(each.replayed for each in report.outcomes) > 60


def test_other_vector_environment_says_that_it_cannot_be_made_again(tmp_path: Path) -> None:
    """CartPole's own vector environment computes in another order."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with VectorLogger(envs, tmp_path / "d") as logged:
        logged.reset(seed=5)
        logged.step(np.array([0, 1]))
    assert "vector environment" in _reasons(_replayed(tmp_path / "d"))[0]


def test_wrapper_that_keeps_no_arguments_is_named(tmp_path: Path) -> None:
    """An environment without it would be another one."""
    env = TransformObservation(gymnasium.make("CartPole-v1"), lambda observation: observation, None)
    (reason, _) = _reasons(_replayed(_record(env, tmp_path / "d")))
    assert "TransformObservation" in reason


class _Twice(gymnasium.ActionWrapper[Any, Any, Any]):
    """Stores no arguments, not even that there are none."""

    def action(self, action: Any) -> Any:
        return action


def test_wrapper_that_cannot_be_made_again_is_named(tmp_path: Path) -> None:
    """Gymnasium knows it by name only."""
    (reason, _) = _reasons(_replayed(_record(_Twice(gymnasium.make("CartPole-v1")), tmp_path / "d")))
    assert "_Twice" in reason


def _claiming(directory: Path, **environment: Any) -> Path:
    with EpisodeWriter(directory, environment={"interface": "gymnasium", **environment}) as writer:
        episode = writer.episode(seed=1)
        episode.start(0.0)
        episode.step(1, 0.0, 0.1)
    return directory


def _spec(**changes: Any) -> dict[str, Any]:
    return {**json.loads(gymnasium.spec("CartPole-v1").to_json()), **changes}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"id": "Nowhere-v0"}, "is not registered"),
        ({"id": "CartPole-v1", "spec": {"entry_point": "os:mkdir"}}, "'os:mkdir' when it was recorded"),
        ({"id": "CartPole-v1", "kwargs": {"wheels": 4}}, "cannot be made: TypeError"),
        (
            {
                "id": "CartPole-v1",
                "spec": _spec(additional_wrappers=[{"name": "x", "entry_point": "os:mkdir", "kwargs": {}}]),
            },
            "os:mkdir is no gymnasium.Wrapper",
        ),
        (
            {
                "id": "CartPole-v1",
                "spec": _spec(additional_wrappers=[{"name": "x", "entry_point": "antigravity:x", "kwargs": {}}]),
            },
            "import antigravity first",
        ),
        (
            {
                "id": "CartPole-v1",
                "spec": _spec(additional_wrappers=[{"name": "x", "entry_point": "gymnasium.wrappers.no:x"}]),
            },
            "gymnasium.wrappers.no:x is not known here",
        ),
        ({"id": "antigravity:Nowhere-v0"}, "is not registered"),
        ({"id": "CartPole-v1", "spec": "CartPole"}, "is none of Gymnasium's"),
        ({"id": "CartPole-v1", "spec": _spec(additional_wrappers="x")}, "is none of Gymnasium's"),
        ({"id": "CartPole-v1", "kwargs": 5}, "is none of Gymnasium's"),
        (
            {"id": "CartPole-v1", "kwargs": {"wheels": 1}, "versions": 3, "wrappers": [1]},
            r"wrappers \(1\) or their environment",
        ),
    ],
)
def test_nothing_is_called_that_is_no_environment(tmp_path: Path, environment: dict[str, Any], said: str) -> None:
    """A dataset may be untrusted: its names are neither imported nor called unless registered with Gymnasium."""
    directory = _claiming(tmp_path / "d", **environment)
    assert re.search(said, _reasons(_replayed(directory))[0])
    with pytest.raises((NotRebuiltError, TypeError)):
        rlds_kit.open(directory).make_env()
    assert "antigravity" not in sys.modules


def test_videos_of_the_recording_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings with videos are replayed without them, and nothing is written to a path from a dataset."""
    monkeypatch.chdir(tmp_path)
    video = {"name": "RecordVideo", "entry_point": "gymnasium.wrappers:RecordVideo", "kwargs": {"video_folder": "v"}}
    source = rlds_kit.open(_record(gymnasium.make("CartPole-v1"), tmp_path / "a", episodes=1))
    layers = ["gymnasium.wrappers.rendering.RecordVideo", *source.environment["wrapper_classes"]]
    filmed = {**source.environment, "spec": _spec(additional_wrappers=[video]), "wrapper_classes": layers}
    copy = rewrite(source.path, tmp_path / "b", environment=filmed)
    assert replay(copy).ok
    copy.make_env().close()
    assert not (tmp_path / "v").exists()


def test_other_versions_are_noted(tmp_path: Path) -> None:
    """They may explain what differs."""
    environment = {"id": "CartPole-v1", "versions": {"gymnasium": "0.1", "numpy": np.__version__, "python": "2.7"}}
    report = _replayed(_claiming(tmp_path / "d", **environment))
    assert [note.partition(",")[0] for note in report.notes if "recorded with" in note] == [
        "recorded with gymnasium 0.1"
    ]
    assert report.diverged


def test_steps_after_a_gap_are_not_played(tmp_path: Path) -> None:
    """A scheduler left out the action that leads there."""
    kept = ListStepScheduler([0, 1, 2, 3, 6, 7])
    directory = _record(gymnasium.make("CartPole-v1"), tmp_path / "d", episodes=1, steps=9, scheduler=kept)
    (reason,) = _reasons(_replayed(directory))
    assert reason == "the action of step 3 was not recorded"
    assert _replayed(directory).outcomes[0].replayed == 3


def test_episode_without_its_first_steps_is_not_played(tmp_path: Path) -> None:
    """The actions before the first episode are unknown."""
    source = rlds_kit.open(_record(gymnasium.make("CartPole-v1"), tmp_path / "a", episodes=1))
    with EpisodeWriter(tmp_path / "b", environment=source.environment) as writer:
        episode = writer.episode(seed=source.episodes[0].seed)
        episode.start(source.episodes[0][2]["observation"], step_index=2)
    assert _reasons(_replayed(tmp_path / "b")) == ["the first 2 steps were not recorded"]


def test_action_that_the_environment_refuses_is_a_divergence(tmp_path: Path) -> None:
    """It did not when the episode was recorded."""

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (0, 4):
            values["action"] = np.int64(99)

    source = _record(gymnasium.make("CartPole-v1"), tmp_path / "a", episodes=1)
    with pytest.warns(UserWarning, match="action: 99 is outside"):
        rewritten = rewrite(source, tmp_path / "b", change)
    report = replay(rewritten)
    assert _place(report) == [(0, 4, "error")]
    assert "AssertionError" in report.diverged[0].divergences[0].replayed


def test_damaged_episode_is_named(tmp_path: Path) -> None:
    """The others are played nevertheless."""
    directory = _record(gymnasium.make("ALE/Pong-v5"), tmp_path / "d", steps=30, max_shard_episodes=1, draw_seeds=True)
    first, _ = shards_in(directory)
    damage(first, 1500, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rlds_kit.DamageWarning)
        report = _replayed(directory)
    assert [each.episode for each in report.not_replayed] == [0]
    assert report.outcomes[1].replayed == 30


def test_time_limit_is_made_again_once(tmp_path: Path) -> None:
    """A limit that was put on by hand is one of the wrappers."""
    report = _replayed(_record(TimeLimit(gymnasium.make("CartPole-v1"), 4), tmp_path / "d"))
    assert (report.ok, [each.replayed for each in report.outcomes]) == (True, [4, 4])
