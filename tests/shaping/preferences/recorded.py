"""A small dataset to have preferences about."""

from pathlib import Path

import numpy as np

import rlds_kit
from rlds_kit.logger import EpisodeWriter


def record(path: Path, lengths: tuple[int, ...] = (12, 9, 10)) -> rlds_kit.Dataset:
    """Episodes of so many actions; observation t of episode n is `[n, t]`."""
    with EpisodeWriter(path, record_time=False) as writer:
        for number, length in enumerate(lengths):
            with writer.episode() as episode:
                episode.start(np.array([number, 0], np.float32))
                for step in range(1, length + 1):
                    episode.step(
                        action=step % 2,
                        reward=0.0,
                        discount=1.0,
                        observation=np.array([number, step], np.float32),
                        truncated=step == length,
                    )
    return rlds_kit.open(path)
