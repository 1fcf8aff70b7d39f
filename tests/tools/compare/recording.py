"""A small recording to compare with copies of itself."""

from pathlib import Path

import gymnasium

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.storage.policy import FlushPolicy


def record(directory: Path, *, game: str = "CartPole-v1", episodes: int = 3, block_rows: int = 8) -> Path:
    """Plays a game at random, the same way each time."""
    policy = FlushPolicy(block_rows=block_rows, interval=None)
    with GymnasiumLogger(gymnasium.make(game), directory, policy=policy) as env:
        env.action_space.seed(0)
        for number in range(episodes):
            env.reset(seed=number)
            done = False
            while not done:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                done = terminated or truncated
    return directory


def opened(directory: Path, *, block_rows: int = 8) -> rlds_kit.Dataset:
    """The recording, opened."""
    return rlds_kit.open(record(directory, block_rows=block_rows))
