"""Small datasets to draw."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter, FlushPolicy, GymnasiumLogger

Acted = tuple[Any, Any]
"""An action and the reward for it."""


def record(directory: Path, episodes: Iterable[Sequence[Acted]], spec: specs.Dict | None = None) -> Path:
    """Records actions and rewards in blocks of four rows; an episode of n of them has n + 1 steps."""
    with EpisodeWriter(directory, spec, policy=FlushPolicy(block_rows=4), record_time=False) as writer:
        for episode in episodes:
            with writer.episode() as open_one:
                open_one.start(0)
                for action, reward in episode:
                    open_one.step(action, reward, 0)
    return directory


def record_actions(directory: Path, *actions: object, spec: specs.Spec | None = None) -> Path:
    """Records one episode of these actions."""
    declared = None if spec is None else specs.Dict({"action": spec})
    return record(directory, [[(action, 1.0) for action in actions]], declared)


def record_rewards(directory: Path, *episodes: Sequence[object]) -> Path:
    """Records an episode for each sequence of rewards."""
    return record(directory, [[(0, reward) for reward in rewards] for rewards in episodes])


def play(directory: Path, env_id: str, episodes: int, **kwargs: Any) -> tuple[list[float], list[int], list[Any]]:
    """Plays at random and records; returns what happened: returns, numbers of steps, and all actions."""
    returns, lengths, actions = [], [], []
    with GymnasiumLogger(gymnasium.make(env_id, **kwargs), directory) as env:
        env.action_space.seed(0)
        for seed in range(episodes):
            env.reset(seed=seed)
            rewards: list[float] = []
            done = False
            while not done:
                actions.append(env.action_space.sample())
                _, reward, terminated, truncated, _ = env.step(actions[-1])
                rewards.append(float(reward))
                done = terminated or truncated
            returns.append(float(np.sum(rewards)))
            lengths.append(len(rewards) + 1)
    return returns, lengths, actions
