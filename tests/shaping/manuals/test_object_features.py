"""Objects as observations."""

from typing import Any

import gymnasium
import numpy as np

from rlds_kit.shaping.manuals import ContactRewards, ObjectFeatures
from tests.shaping.manuals.scripted import Scripted, ram, table


class Walk(gymnasium.Env[Any, Any]):
    """Passes scripted memory to the rewards, as `ManualReward` does."""

    observation_space = action_space = gymnasium.spaces.Discrete(1)

    def __init__(self, rewards: ContactRewards, *rams: np.ndarray) -> None:
        self._rewards, self._rams = rewards, rams

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._rewards.reset(self._rams[0])
        self._left = iter(self._rams[1:])
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._rewards.step(next(self._left)[None])
        return 0, 0.0, False, False, {}


def features(*rams: np.ndarray, **counts: int) -> list[np.ndarray]:
    """`[objects, 7]` of each frame. The player, 2 pixels wide, is at 10; all is at the upper edge."""
    rewards = ContactRewards(table(), Scripted())
    env = ObjectFeatures(Walk(rewards, *rams), rewards, counts)
    found = [env.reset()[0], *(env.step(0)[0] for _ in rams[1:])]
    assert all(each in env.observation_space for each in found)
    return [each.reshape(-1, 7) for each in found]


def test_places_and_velocities() -> None:
    first, second = features(ram(50), ram(45), Player=1, Ball=1)
    level = 1 / 105 - 1
    wanted = [[1, 11 / 80 - 1, level, 0, 0, 0, 0], [1, 51 / 80 - 1, level, 1, 0, 0, 0]]
    assert np.array_equal(first, np.array(wanted, np.float32))
    assert np.array_equal(second[1], np.array([1, 46 / 80 - 1, level, 35 / 40, 0, -0.5, 0], np.float32))


def test_what_is_not_there_is_zero_and_has_not_moved_when_it_comes() -> None:
    gone, back = features(ram(0), ram(50), Ball=1)
    assert not gone.any()
    assert back[0, 5:].tolist() == [0, 0]


def test_an_episode_forgets_the_one_before() -> None:
    rewards = ContactRewards(table(), Scripted())
    env = ObjectFeatures(Walk(rewards, ram(50), ram(90)), rewards, {"Ball": 1})
    env.reset()
    assert env.step(0)[0][5] == 3  # 4, cut off
    assert env.reset()[0][5] == 0
