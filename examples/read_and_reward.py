"""Trains A2C on an Atari game that pays its score at the end, with and without rewards from the game's manual.

pip install ".[torch,atari]", and the command of docs/manuals.md that installs OCAtari
python examples/read_and_reward.py Breakout --steps 100000
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import ale_py
import gymnasium
import numpy as np
import torch

from rlds_kit.shaping.deep import A2C, A2CSettings, PlayedEpisode
from rlds_kit.shaping.manuals import (
    ContactRewards,
    DelayedReward,
    EveryFrame,
    InteractionTable,
    ManualReward,
    MixedReward,
    ObjectFeatures,
    read_manual,
    shipped_manual,
)
from rlds_kit.shaping.objects import OCAtariObjects, PaddleAndBall

gymnasium.register_envs(ale_py)
MANUAL_WEIGHT: Final = 0.2  # a contact is worth 1 or -1, as if clipped
N_ENVS: Final = 8
Info = dict[str, Any]


@dataclass(frozen=True)
class Game:
    """What a training needs to know of a game.

    Attributes:
      counts: how many objects of each category the agent sees.
      score_weight: brings the score of an episode near 1.
      limit: of actions; an episode is truncated then, and its score paid.
    """

    counts: Mapping[str, int]
    score_weight: float
    limit: int


GAMES: Final = {
    "Breakout": Game({"Player": 1, "Ball": 1}, 0.1, 2_000),
    "Pong": Game({"Player": 1, "Ball": 1, "Enemy": 1}, 0.1, 5_000),
    "Skiing": Game({"Player": 1, "Flag": 2, "Tree": 3, "Mogul": 2}, 0.0001, 5_000),
    "Tennis": Game({"Player": 1, "Ball": 1, "BallShadow": 1, "Enemy": 1}, 0.1, 5_000),
}


class ManualSum(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reports the rewards by the manual in the whole episode, in `manual_sum` of the last step's info."""

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Begins at 0."""
        self._sum = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Adds."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._sum += float(info["manual_reward"])
        return observation, reward, terminated, truncated, {**info, "manual_sum": self._sum}


def make_env(table: InteractionTable, manual_weight: float = MANUAL_WEIGHT) -> gymnasium.Env[Any, Any]:
    """A game whose score is paid at the end; with a weight of 0 its contacts are counted, but not rewarded."""
    game = GAMES[table.game]
    rewards = ContactRewards(table, PaddleAndBall() if table.game == "Breakout" else OCAtariObjects(table.game))
    atari: gymnasium.Env[Any, Any] = gymnasium.make(f"ALE/{table.game}-v5", frameskip=1, obs_type="ram")
    limited = gymnasium.wrappers.TimeLimit(EveryFrame(atari, frames=4), game.limit)
    counted = gymnasium.wrappers.RecordEpisodeStatistics(ManualSum(ManualReward(limited, rewards)))
    mixed = MixedReward(DelayedReward(counted), {"reward": game.score_weight, "manual_reward": manual_weight})
    return ObjectFeatures(mixed, rewards, game.counts)


def make_agent(table: InteractionTable, manual_weight: float, seed: int, settings: A2CSettings | None = None) -> A2C:
    """An untrained agent with its environments."""
    envs = [make_env(table, manual_weight) for _ in range(N_ENVS)]
    return A2C(envs, seed, settings or A2CSettings())


class Mean(NamedTuple):
    """Of some episodes.

    Attributes:
      score: of the game.
      manual: the sum of rewards by the manual, learned from or not.
      length: in actions.
    """

    score: float
    manual: float
    length: float


def mean(episodes: list[PlayedEpisode]) -> Mean:
    """The means of episodes; of none, not a number."""
    rows = [(float(each.info["episode"]["r"]), each.info["manual_sum"], each.length) for each in episodes]
    return Mean(*np.mean(rows, axis=0)) if rows else Mean(np.nan, np.nan, np.nan)


def main() -> None:
    """Prints, for an agent with the manual and one without: actions, and the last 20 episodes' means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game", choices=sorted(GAMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100_000, help="actions, of four frames each")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = read_manual(shipped_manual(options.game))
    for weight in (MANUAL_WEIGHT, 0.0):
        print(f"with weight {weight} of the manual\nsteps\tscore\tmanual\tlength")
        agent, shown = make_agent(table, weight, options.seed), 0
        for step in agent.train(options.steps):
            if step >= shown + options.steps / 10:
                shown = step
                print(step, *(f"{each:.1f}" for each in mean(agent.episodes[-20:])), sep="\t", flush=True)


if __name__ == "__main__":
    main()
