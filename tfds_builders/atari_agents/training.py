"""Trains a policy for a game from the data of ALE alone: 128 bytes of memory, actions, rewards."""

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from rlds_kit.tfds_builders.atari_agents import evaluate, policy
from rlds_kit.tfds_builders.atari_agents.cross_entropy import Search, generations
from rlds_kit.tfds_builders.atari_agents.games import make_env
from rlds_kit.tfds_builders.atari_agents.linear_policy import Features, LinearPolicy

_FEATURE_STEPS = 3_000


@dataclass(frozen=True)
class Training:
    """The settings of a training.

    Attributes:
      search: the settings of the search.
      steps: after which an episode of training ends.
      episodes: number of episodes for each parameter vector of a generation, with the same seeds for all.
    """

    search: Search = field(default_factory=Search)
    steps: int = 1_000
    episodes: int = 1


TRAININGS = {
    "bowling": Training(Search(population=30, elite=6, generations=12), steps=2_500),
    "breakout": Training(Search(population=40, elite=8, generations=25), steps=1_000, episodes=2),
    "freeway": Training(Search(population=24, elite=5, generations=12), steps=2_048),
    "pong": Training(Search(population=60, elite=10, generations=30), steps=1_000),
}
"""Games that have a checkpoint; another one is trained as `Training()` specifies."""


def train_policy(game: str, training: Training, seed: int = 0, report: Any = None) -> LinearPolicy:
    """Trains a policy; the same arguments give the same one.

    Args:
      game: one of `GAMES`.
      training: the settings.
      seed: of all random numbers.
      report: called with every `Generation`.
    """
    env = make_env(game, training.steps, obs_type="ram")
    actions = int(env.action_space.n)  # type: ignore[attr-defined]  # a Discrete
    features = Features.of(_seen(env, actions, seed))
    env.close()

    def of(parameters: npt.NDArray[np.float64]) -> LinearPolicy:
        return LinearPolicy(features, parameters.reshape(actions, len(features)).astype(np.float32))

    def score(parameters: npt.NDArray[np.float64], generation: int) -> float:
        first = seed + generation * training.episodes
        seeds = range(first, first + training.episodes)
        return float(evaluate.returns(game, of(parameters), seeds, training.steps).mean())

    size, rng = actions * len(features), np.random.default_rng(seed)
    for generation in generations(score, size, training.search, rng):
        if report is not None:
            report(generation)
    return of(generation.mean)


def _seen(env: gymnasium.Env[Any, Any], actions: int, seed: int) -> npt.NDArray[np.uint8]:
    """`[T, 128]`, the memory during random play."""
    act = policy.random(actions, np.random.default_rng(seed))
    seen = []
    ram, _ = env.reset(seed=seed)
    for _ in range(_FEATURE_STEPS):
        ram, _, terminated, truncated, _ = env.step(act(ram))
        seen.append(ram)
        if terminated or truncated:
            ram, _ = env.reset()
    return np.array(seen)
