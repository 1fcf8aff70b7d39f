"""Records agents that play a game of the Arcade Learning Environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.logger import GymnasiumLogger
from rlds_kit.tfds_builders.atari_agents import policy
from rlds_kit.tfds_builders.atari_agents.games import make_env
from rlds_kit.tfds_builders.atari_agents.linear_policy import checkpoint
from rlds_kit.tfds_builders.atari_agents.policy import Policy
from rlds_kit.tfds_builders.atari_agents.scripted import SCRIPTED

LICENCE = "Apache-2.0"
"""The licence of the recordings. The games belong to their owners."""
METADATA = ("policy", "score", "seed")
"""The metadata of every episode."""


def policies(game: str) -> dict[str, Policy]:
    """The policies of a game by name: "random" and "sticky" for every game, "scripted" and "learned" for some.

    >>> sorted(policies("breakout"))[-2:]
    ['scripted', 'sticky']
    >>> sorted(policies("adventure"))
    ['random', 'sticky']
    """
    found: dict[str, Policy] = {"random": policy.random, "sticky": policy.sticky}
    if game in SCRIPTED:
        found["scripted"] = SCRIPTED[game]
    learned = checkpoint(game)
    return found if learned is None else {**found, "learned": learned}


@dataclass(frozen=True)
class Season:
    """The settings of the recordings of a game.

    Attributes:
      game: one of `GAMES`.
      episodes: of each policy.
      max_steps: after which an episode is truncated; None: the default limit of 108,000 frames.
      seed: of the first episode; each later one has the next number.
    """

    game: str
    episodes: int
    max_steps: int | None
    seed: int = 0


def record(season: Season, directory: str | os.PathLike[str]) -> None:
    """Records a season. With the same version of ALE, the content is the same on every machine.

    Observations are the screens, uint8 `[H, W, 3]`. Fields beside them are `ram`, uint8 `[128]`, and `lives`. Metadata
    of an episode are `policy`, `score` (the sum of its rewards) and `seed`, which determines the random numbers of game
    and policy.

    Args:
      season: to record.
      directory: of the dataset; created if it does not exist.

    Raises:
      ValueError: there is no such game.
      ImportError: ale-py is not installed.
    """
    about = {
        "name": f"atari_agents/{season.game}",
        "description": f"{season.game}, recorded from the Arcade Learning Environment",
        "licence": LICENCE,
    }
    env, log = make_env(season.game, season.max_steps), _Log()
    logger = GymnasiumLogger(
        env, directory, record_info=False, step_fn=memory, episode_fn=log, about=about, metadata={"game": season.game}
    )
    seed = season.seed
    with logger:
        for name, each in policies(season.game).items():
            for _ in range(season.episodes):
                log.begin(name, seed)
                _play(logger, each, seed)
                seed += 1


def memory(time_step: object, action: object, env: Any) -> dict[str, Any]:
    """The content of the console's memory after a step, as fields of the step."""
    del time_step, action
    ale = env.unwrapped.ale
    return {"ram": ale.getRAM(), "lives": np.int64(ale.lives())}


class _Log:
    """Metadata of the current episode."""

    def begin(self, name: str, seed: int) -> None:
        self._about: dict[str, Any] = {"policy": name, "seed": seed}
        self._score = 0.0

    def __call__(self, time_step: Any, action: object, env: object) -> Mapping[str, Any]:
        del env
        self._score += 0.0 if action is None else float(time_step.reward)
        return {**self._about, "score": self._score}


def _play(logger: GymnasiumLogger, player: Policy, seed: int) -> None:
    logger.reset(seed=seed)
    ale, done = logger.unwrapped.ale, False  # type: ignore[attr-defined]  # ALE's own
    act = player(int(logger.action_space.n), np.random.default_rng(seed))  # type: ignore[attr-defined]  # a Discrete
    while not done:
        _, _, terminated, truncated, _ = logger.step(act(ale.getRAM()))
        done = terminated or truncated
