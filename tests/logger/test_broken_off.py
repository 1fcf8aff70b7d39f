"""Steps that never came back: nothing may be joined across them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dm_env
import gymnasium
import numpy as np
import pytest
from dm_env import specs
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rlds_kit
from rlds_kit import logger
from rlds_kit.base.step import EpisodeEnd

SPACE = gymnasium.spaces.Box(-np.inf, np.inf, (), np.float64)


class Breaks(gymnasium.Env[Any, Any]):
    """Counts its steps; the third one is made and then raises."""

    observation_space = SPACE
    action_space = gymnasium.spaces.Discrete(100)

    def __init__(self, error: type[BaseException] = RuntimeError) -> None:
        self.count, self.error = 0.0, error

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count = 0.0
        if options:
            raise self.error
        return np.array(self.count), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        if self.count == 3:
            raise self.error
        return np.array(self.count), 0.0, False, False, {}


def _episodes(directory: Path) -> Iterator[tuple[list[float], EpisodeEnd | None]]:
    for episode in rlds_kit.open(directory).episodes:
        yield episode["observation"].tolist(), episode.end


@pytest.mark.filterwarnings("ignore:step.. was called outside")
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_episode_ends_where_a_step_raised(tmp_path: Path, error: type[BaseException]) -> None:
    """The environment may have changed its state; steps after the error are not joined to earlier ones."""
    with logger.GymnasiumLogger(Breaks(error), tmp_path) as env:
        env.reset()
        env.step(1)
        env.step(2)
        with pytest.raises(error):
            env.step(3)
        env.step(4)
        env.reset()
        env.step(5)
    assert list(_episodes(tmp_path)) == [
        ([0.0, 1.0, 2.0], EpisodeEnd.INTERRUPTED),
        ([0.0, 1.0], EpisodeEnd.INTERRUPTED),
    ]


@pytest.mark.filterwarnings("ignore:step.. was called outside")
def test_an_episode_ends_where_a_reset_raised(tmp_path: Path) -> None:
    """Half a reset may have moved the environment: its next step does not follow the last row."""
    with logger.GymnasiumLogger(Breaks(), tmp_path) as env:
        env.reset()
        with pytest.raises(RuntimeError):
            env.reset(options={"fail": True})
        env.step(1)
    assert list(_episodes(tmp_path)) == [([0.0], EpisodeEnd.INTERRUPTED)]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_all_episodes_end_where_a_vector_step_raised(tmp_path: Path, mode: AutoresetMode) -> None:
    """Which of the sub-environments were stepped is not known."""
    envs = SyncVectorEnv([Breaks, Breaks], autoreset_mode=mode)
    with logger.VectorLogger(envs, tmp_path) as vector:
        vector.reset()
        vector.step(np.array([1, 1]))
        vector.step(np.array([2, 2]))
        with pytest.raises(RuntimeError):
            vector.step(np.array([3, 3]))
        for env in envs.envs:
            env.unwrapped.error = None  # type: ignore[attr-defined]
            env.unwrapped.count = 5.0  # type: ignore[attr-defined]
        vector.step(np.array([4, 4]))
    assert list(_episodes(tmp_path)) == [([0.0, 1.0, 2.0], EpisodeEnd.INTERRUPTED)] * 2


class BreaksDm(dm_env.Environment):
    """The same for dm_env."""

    count = 0.0

    def reset(self) -> dm_env.TimeStep:
        self.count = 0.0
        return dm_env.restart(np.array(0.0))

    def step(self, action: Any) -> dm_env.TimeStep:
        self.count += 1
        if self.count == 2:
            raise RuntimeError
        return dm_env.transition(0.0, np.array(self.count))

    def observation_spec(self) -> Any:
        return specs.Array((), np.float64)

    def action_spec(self) -> Any:
        return specs.DiscreteArray(9)


def test_a_dm_env_episode_ends_where_a_step_raised(tmp_path: Path) -> None:
    """EnvLogger does not join across an error either."""
    with logger.EnvLogger(BreaksDm(), tmp_path) as env:
        env.reset()
        env.step(1)
        with pytest.raises(RuntimeError):
            env.step(2)
        env.step(3)
    assert list(_episodes(tmp_path)) == [([0.0, 1.0], EpisodeEnd.INTERRUPTED)]


class Unrecordable(gymnasium.Env[Any, Any]):
    """Episodes of two steps; the info of one step, counted over all episodes, cannot be recorded."""

    observation_space = SPACE
    action_space = gymnasium.spaces.Discrete(100)

    def __init__(self, bad: int) -> None:
        self.bad, self.made, self.resets, self.count = bad, 0, -1, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.resets, self.count = self.resets + 1, 0
        return np.array(10.0 * self.resets), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.made, self.count = self.made + 1, self.count + 1
        info = {"x": object()} if self.made == self.bad else {}
        return np.array(10.0 * self.resets + self.count), 0.0, self.count == 2, False, info


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("options", [{}, {"info_fn": lambda info: info}], ids=["columns", "rows"])
@pytest.mark.parametrize("bad", [1, 2], ids=["first step", "last step"])
def test_recording_continues_with_the_next_autoreset(
    tmp_path: Path, mode: AutoresetMode, options: dict[str, Any], bad: int
) -> None:
    """After a row that cannot be recorded; the resets that a replay needs are counted in the meantime."""
    envs = SyncVectorEnv([lambda: Unrecordable(bad)], autoreset_mode=mode)
    with logger.VectorLogger(envs, tmp_path, **options) as log:
        log.reset(seed=1)
        for number in range(9):
            if number == bad - 1:
                with pytest.raises(rlds_kit.UnsupportedTypeError, match="object"):
                    log.step(np.array([0]))
            else:
                log.step(np.array([0]))
    first, *others = rlds_kit.open(tmp_path).episodes
    assert (first["observation"].tolist(), first.end) == ([0.0, 1.0][:bad], EpisodeEnd.INTERRUPTED)
    assert [each["observation"][0] for each in others] == [10.0 * number for number in range(1, len(others) + 1)]
    assert [each.provenance["reset_chain"]["resets"] for each in others] == [*range(1, len(others) + 1)]
    assert [each["observation"].tolist() for each in others[:2]] == [[10.0, 11.0, 12.0], [20.0, 21.0, 22.0]]
