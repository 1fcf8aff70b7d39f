"""Episodes that began without a seed are played after those that led to them."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rlds_kit
from rlds_kit.base.reset_chain import chain_of
from rlds_kit.logger import GymnasiumLogger, NEpisodeScheduler, NStepScheduler, VectorLogger
from rlds_kit.storage.directory import shards_in
from rlds_kit.tools.edit import delete, merge, trim
from rlds_kit.tools.replay import Report, replay
from rlds_kit.tools.replay.rebuilt import rebuilt
from tests.tools.compare.rewriting import rewrite
from tests.tools.upkeep.mending import damage


def _play(env: gymnasium.Env[Any, Any], *, seeds: Sequence[int | None], steps: int = 25) -> None:
    """One episode for each seed, broken off after so many steps."""
    env.action_space.seed(0)
    for seed in seeds:
        env.reset(seed=seed)
        for _ in range(steps):
            if any(env.step(env.action_space.sample())[2:4]):
                break


def _recorded(directory: Path, seeds: Sequence[int | None], **options: Any) -> Path:
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), directory, **options) as env:
        _play(env, seeds=seeds)
    return directory


def _replayed(directory: Path, **options: Any) -> Report:
    return replay(rlds_kit.open(directory), **options)


def _reasons(report: Report) -> list[str]:
    return [each.reason for each in report.outcomes]


def test_every_episode_since_a_seed_comes_out_the_same(tmp_path: Path) -> None:
    """Also after a second seed in the middle, and after a reset of an episode that has no step."""
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) as env:
        _play(env, seeds=[3, None, None])
        env.reset()
        _play(env, seeds=[None, 8, None])
    report = _replayed(tmp_path)
    assert (report.ok, len(report.outcomes)) == (True, 7)
    assert [episode.seed for episode in rlds_kit.open(tmp_path).episodes] == [3, None, None, None, None, 8, None]
    assert all(each.replayed == each.actions for each in report.outcomes)


def test_chosen_episode_brings_those_that_led_to_it(tmp_path: Path) -> None:
    """They are played once, whatever the order, and only the chosen ones are in the report."""
    directory = _recorded(tmp_path, [3, None, None, None])
    resets = 0

    class Counting(gymnasium.Wrapper[Any, Any, Any, Any]):
        def reset(self, **kwargs: Any) -> Any:
            nonlocal resets
            resets += 1
            return super().reset(**kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlds_kit.tools.replay.datasets.rebuilt", lambda provenance: Counting(rebuilt(provenance)))
        report = _replayed(directory, episodes=[2, 0, 2])
    assert ([each.episode for each in report.outcomes], report.ok, resets) == ([2, 0, 2], True, 3)


def test_several_instances_in_one_dataset_are_kept_apart(tmp_path: Path) -> None:
    """Runs with the same seed, and episodes that came in turns."""
    envs = [GymnasiumLogger(gymnasium.make("CartPole-v1"), tmp_path) for _ in range(2)]
    for seed in (3, None, None):
        for env in envs:
            _play(env, seeds=[seed], steps=9)
    for env in envs:
        env.close()
    report = _replayed(tmp_path)
    assert (report.ok, len(report.outcomes)) == (True, 6)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_sub_environments_in_every_autoreset_mode(tmp_path: Path, mode: AutoresetMode) -> None:
    """Seeds by one number, by a list with holes, and by mask."""
    make = [lambda: gymnasium.make("CartPole-v1")] * 3
    with VectorLogger(SyncVectorEnv(make, autoreset_mode=mode), tmp_path) as envs:
        envs.action_space.seed(0)
        for seed in (5, [7, None, 9], None):
            envs.reset(seed=seed)
            for _ in range(60):
                _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
                ended = terminated | truncated
                if mode is AutoresetMode.DISABLED and ended.any():
                    envs.reset(options={"reset_mask": ended})
    report = _replayed(tmp_path)
    assert (report.ok, len(report.outcomes) > 9) == (True, True)
    assert sum(each.replayed for each in report.outcomes) > 300


def test_change_in_one_episode_is_not_one_of_the_others(tmp_path: Path) -> None:
    """After a divergence the actions are taken nevertheless: what follows comes out as it did."""

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (1, 4):
            values["reward"] = values["reward"] + 0.5

    report = replay(rewrite(_recorded(tmp_path / "a", [3, None, None]), tmp_path / "b", change))
    assert [each.episode for each in report.diverged] == [1]
    assert (report.diverged[0].replayed, report.not_replayed) == (5, ())


class _Noisy(gymnasium.Env[Any, Any]):
    """Draws a number at every step."""

    observation_space = gymnasium.spaces.Box(-10, 10, (), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, **_: Any) -> None:
        super().__init__()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.array(self.np_random.standard_normal()), {}

    def step(self, action: Any) -> Any:
        return np.array(self.np_random.standard_normal()), 0.0, False, False, {}


@pytest.fixture
def noisy() -> str:
    """The id of an environment that draws a number at every step."""
    if "Noisy-v0" not in gymnasium.registry:
        gymnasium.register("Noisy-v0", _Noisy, max_episode_steps=9)
    return "Noisy-v0"


def test_step_behind_the_loggers_back_is_a_divergence(tmp_path: Path, noisy: str) -> None:
    """The random numbers that it drew are missing."""
    with GymnasiumLogger(gymnasium.make(noisy), tmp_path) as env:
        _play(env, seeds=[3, None])
        env.unwrapped.step(0)
        _play(env, seeds=[None])
    assert [(each.episode, each.diverged) for each in _replayed(tmp_path).outcomes] == [
        (0, False),
        (1, False),
        (2, True),
    ]


def test_steps_outside_episodes_break_the_chain(tmp_path: Path, noisy: str) -> None:
    """Their actions are unknown, but their number is recorded."""
    with GymnasiumLogger(gymnasium.make(noisy), tmp_path) as env:
        _play(env, seeds=[3])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            env.env.get_wrapper_attr("step")  # looking is free
            env.step(0)
            env.step(0)
        _play(env, seeds=[None, None, 4])
    report = _replayed(tmp_path)
    assert [bool(reason) for reason in _reasons(report)] == [False, True, True, False]
    assert "2 of the 11 steps since the seed 3 were not recorded" in _reasons(report)[1]
    assert "draw_seeds=True" in _reasons(report)[1]
    assert not report.diverged


def test_episodes_left_out_by_a_scheduler_are_named(tmp_path: Path) -> None:
    """Those before them are played."""
    report = _replayed(_recorded(tmp_path, [3, None, None, 5], scheduler=NEpisodeScheduler(2)))
    assert [bool(reason) for reason in _reasons(report)] == [False, True]
    assert "the episode that reset 1 after the seed 3 began is not in this dataset" in _reasons(report)[1]


def test_steps_left_out_by_a_scheduler_are_named(tmp_path: Path) -> None:
    """The reasons of later episodes name it."""
    report = _replayed(_recorded(tmp_path, [3, None, 5], scheduler=NStepScheduler(3)))
    first, second, third = _reasons(report)
    assert "was not recorded" in first
    assert first in second
    assert "episode 0, which leads to it, was not played to its end" in second
    assert "was not recorded" in third
    assert "episode" not in third


def test_episode_alone_with_a_drawn_seed(tmp_path: Path) -> None:
    """Each can be played without the others."""
    directory = _recorded(tmp_path, [3, None, None, None], draw_seeds=True, scheduler=NEpisodeScheduler(3))
    assert _replayed(directory).ok
    assert _replayed(directory, episodes=[1]).ok


def test_deleted_episode_is_named(tmp_path: Path) -> None:
    """A dataset that was edited is not the whole run any more."""
    dataset = rlds_kit.open(_recorded(tmp_path / "a", [3, None, None]))
    delete(dataset.path, tmp_path / "b", [dataset.episodes[1].id])
    reasons = _reasons(_replayed(tmp_path / "b"))
    assert [bool(reason) for reason in reasons] == [False, True]
    assert "is not in this dataset" in reasons[1]


def test_trimmed_episode_is_not_played_as_a_whole_one(tmp_path: Path) -> None:
    """Without its first steps no reset led to it; without its last ones nothing follows it."""
    dataset = rlds_kit.open(_recorded(tmp_path / "a", [3, None, None]))
    trim(dataset.path, tmp_path / "b", begin=2)
    late = rlds_kit.open(tmp_path / "b").episodes[1]
    assert chain_of(late.provenance) is None
    assert late.provenance["trimmed"]["reset_chain"] == dataset.episodes[1].provenance["reset_chain"]
    assert all("no seed was recorded" in reason for reason in _reasons(_replayed(tmp_path / "b")))
    trim(dataset.path, tmp_path / "c", end=5)
    first, second, _ = _reasons(_replayed(tmp_path / "c"))
    assert not first
    assert "steps since the seed 3 were not recorded" in second


def test_damaged_episode_stops_what_follows(tmp_path: Path) -> None:
    """Its actions are lost."""
    directory = _recorded(tmp_path, [3, None, None], max_shard_episodes=1)
    middle = shards_in(directory)[1]
    damage(middle, 1500, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rlds_kit.DamageWarning)
        report = _replayed(directory)
    first, *others = _reasons(report)
    assert (first, report.diverged) == ("", ())
    assert all(others)


def test_dataset_merged_with_a_copy_is_played(tmp_path: Path) -> None:
    """A copy of an episode comes after the same ones."""
    source = _recorded(tmp_path / "a", [3, None, None])
    rewrite(source, tmp_path / "b")
    merge([source, tmp_path / "b"], tmp_path / "c")
    report = _replayed(tmp_path / "c")
    assert (report.ok, len(report.outcomes)) == (True, 6)


def test_entry_of_another_form_is_no_chain() -> None:
    """A dataset may come from an untrusted source."""
    for entry in (5, {}, {"instance": "a", "seeded_reset": "b", "seed": 1, "resets": 1, "steps": 1}):
        assert chain_of({"reset_chain": entry}) is None
