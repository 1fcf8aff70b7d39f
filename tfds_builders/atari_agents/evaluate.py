"""Evaluates a policy in a game."""

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from rlds_kit.tfds_builders.atari_agents.games import make_env
from rlds_kit.tfds_builders.atari_agents.policy import Policy


def returns(game: str, policy: Policy, seeds: Iterable[int], max_steps: int | None = None) -> npt.NDArray[np.float64]:
    """Plays an episode for each seed, which determines the random numbers of the game and of the policy.

    Args:
      game: one of `GAMES`.
      policy: to evaluate.
      seeds: of the episodes.
      max_steps: after which an episode is truncated.

    Returns:
      `[episodes]`, the sum of each episode's rewards.
    """
    env = make_env(game, max_steps, obs_type="ram")
    try:
        return np.array([_play(env, policy, seed) for seed in seeds])
    finally:
        env.close()


def _play(env: gymnasium.Env[Any, Any], policy: Policy, seed: int) -> float:
    ram, _ = env.reset(seed=seed)
    act = policy(int(env.action_space.n), np.random.default_rng(seed))  # type: ignore[attr-defined]  # a Discrete
    total, done = 0.0, False
    while not done:
        ram, reward, terminated, truncated, _ = env.step(act(ram))
        total += float(reward)
        done = terminated or truncated
    return total
