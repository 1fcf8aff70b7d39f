"""Wrappers: frames, delayed and mixed rewards."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rlds_kit.shaping.manuals import ContactRewards, DelayedReward, EveryFrame, ManualReward, MixedReward, delayed
from tests.shaping.manuals.scripted import Scripted, ram, table


def _pong(frames: int) -> gymnasium.Env[Any, Any]:
    gymnasium.register_envs(__import__("ale_py"))
    options: dict[str, Any] = {"repeat_action_probability": 0.0, "obs_type": "ram"}
    return gymnasium.make("ALE/Pong-v5", frameskip=frames, **options)


def test_every_frame_plays_the_same_game() -> None:
    """Observations, rewards and ends are those of the environment's own frameskip; memory is that of each frame."""
    whole, each = _pong(4), EveryFrame(_pong(1), frames=4)
    assert whole.reset(seed=3)[0].tolist() == each.reset(seed=3)[0].tolist()
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(200):
        action = int(rng.integers(6))
        expected, got = whole.step(action), each.step(action)
        assert got[0].tolist() == expected[0].tolist()
        assert got[1:4] == expected[1:4]
        assert got[4]["ram_frames"].shape == (4, 128)
        assert got[4]["ram_frames"][-1].tolist() == got[0].tolist()
        total += float(got[1])
    assert total < 0


def test_an_environment_that_skips_frames_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="frameskip=1, got 4"):
        EveryFrame(_pong(4))
    with pytest.raises(ValueError, match="at least 1 frame"):
        EveryFrame(_pong(1), frames=0)
    with pytest.raises(ValueError, match="Atari environment"):
        EveryFrame(gymnasium.make("CartPole-v1"))


class Walk(gymnasium.Env[Any, Any]):
    """Reports memory of places, and rewards, that a test states."""

    observation_space = gymnasium.spaces.Discrete(100)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, places: list[int], rewards: list[float], truncated: bool = False) -> None:
        self.places, self.rewards, self.truncated, self.now = places, rewards, truncated, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.now = 0
        return 0, self._info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.now += 1
        is_over = self.now == len(self.rewards)
        return (
            self.now,
            self.rewards[self.now - 1],
            is_over and not self.truncated,
            is_over and self.truncated,
            self._info(),
        )

    def _info(self) -> dict[str, NDArray[np.uint8]]:
        return {"ram_frames": np.stack([ram(self.places[self.now])])}


def test_the_reward_by_a_manual_is_reported_and_the_environment_s_is_not_changed() -> None:
    env = ManualReward(Walk([50, 40, 10, 40], [1.0, 2.0, 3.0]), ContactRewards(table(), Scripted()))
    _, info = env.reset()
    assert (info["manual_reward"], info["manual_confidence"]) == (0, 1)
    steps = [env.step(0) for _ in range(3)]
    assert [step[1] for step in steps] == [1.0, 2.0, 3.0]
    assert [step[4]["manual_reward"].item() for step in steps] == [0, 5, 0]


def test_without_every_frame_the_error_names_it() -> None:
    env = ManualReward(gymnasium.make("CartPole-v1"), ContactRewards(table(), Scripted()))
    with pytest.raises(ValueError, match="wrap the environment in EveryFrame"):
        env.reset(seed=0)


@pytest.mark.parametrize("size", [2.0, 5.0, 50.0])
def test_clipped_rewards_do_not_depend_on_the_size_of_auxiliary_ones(size: float) -> None:
    """Section A.1 of the paper: 2, 5 and 50 give the same training."""
    env = ManualReward(Walk([50, 10, 50, 50], [0.0, 1.0, 0.0]), ContactRewards(table(), Scripted()))
    mixed = MixedReward(env, {"reward": 1.0, "manual_reward": size / 5}, clip=(-1.0, 1.0))
    mixed.reset()
    assert [mixed.step(0)[1] for _ in range(3)] == [1.0, 1.0, 0.0]
    unclipped = MixedReward(env, {"reward": 1.0, "manual_reward": size / 5})
    unclipped.reset()
    assert [unclipped.step(0)[1] for _ in range(3)] == [size, 1.0, 0.0]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.booleans())
def test_delayed_rewards_are_paid_at_the_end(rewards: list[float], truncated: bool) -> None:
    """However it ends; the same as for recorded ones."""
    env = DelayedReward(Walk([0] * (len(rewards) + 1), rewards, truncated=truncated))
    for _ in range(2):
        env.reset()
        online = [float(env.step(0)[1]) for _ in rewards]
        assert online == delayed(np.array(rewards)).tolist()
        assert online[:-1] == [0.0] * (len(rewards) - 1)
    assert online[-1] == pytest.approx(sum(rewards))


def test_no_rewards_are_none() -> None:
    assert delayed(np.array([])).tolist() == []
