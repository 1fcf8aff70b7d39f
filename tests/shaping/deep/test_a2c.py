"""A2C: repeatable, and it learns."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from rlds_kit.shaping.deep import A2C, A2CSettings


class Sides(gymnasium.Env[np.ndarray, np.int64]):
    """Shows -1 or 1 five times, and pays 1 for each action on that side; ends by truncation if a seed is odd."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.is_odd = bool(seed and seed % 2)
        self.count, self.side = 0, int(self.np_random.integers(2))
        return self._shown(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = float(action == self.side)
        self.count, self.side = self.count + 1, int(self.np_random.integers(2))
        is_over = self.count == 5
        return self._shown(), reward, is_over and not self.is_odd, is_over and self.is_odd, {"count": self.count}

    def _shown(self) -> np.ndarray:
        return np.array([2 * self.side - 1], np.float32)


def trained(seed: int = 0, n_steps: int = 320) -> A2C:
    agent = A2C([Sides() for _ in range(4)], seed, A2CSettings(hidden=8))
    for _ in agent.train(n_steps):
        pass
    return agent


def weights(agent: A2C) -> bytes:
    return b"".join(each.detach().numpy().tobytes() for net in (agent.actor, agent.critic) for each in net.parameters())


def test_equal_seeds_give_equal_weights() -> None:
    assert weights(trained(1)) == weights(trained(1))
    assert weights(trained(1)) != weights(trained(2))


def test_it_learns() -> None:
    """A random agent has a mean of 2.5."""
    totals = [each.total for each in trained(n_steps=6000).play(40)]
    assert np.mean(totals) > 4.5  # 5 is the most


def test_playing_does_not_learn_and_begins_with_new_episodes() -> None:
    agent = trained()
    next(iter(agent.train(agent.n_steps + 1)))  # 8 actions each: within the second episode
    before = weights(agent)
    played = agent.play(6)
    assert len(played) == 8  # the same number in each environment
    assert {each.length for each in played} == {5}
    assert weights(agent) == before


def test_episodes_are_reported_with_the_info_of_their_last_step() -> None:
    agent = trained()
    assert agent.n_steps == 320
    assert len(agent.episodes) == 64
    assert {each.info["count"] for each in agent.episodes} == {5}
    assert [each.end for each in agent.episodes] == sorted(each.end for each in agent.episodes)


def test_at_least_one_environment() -> None:
    with pytest.raises(ValueError, match="at least one environment"):
        A2C([])
