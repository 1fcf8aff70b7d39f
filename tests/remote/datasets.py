"""Datasets that the tests put elsewhere."""

from pathlib import Path

import numpy as np

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter

SHAPE = (48, 48, 3)
SPEC = specs.Dict(
    {
        "observation": specs.Array(SHAPE, np.uint8),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)


def record(directory: Path, shards: int, *, first: int = 0, episodes: int = 2, steps: int = 130) -> Path:
    """Records noise, which no filter makes smaller, in so many shards; returns the directory."""
    rng = np.random.default_rng(first)
    for shard in range(shards):
        with EpisodeWriter(directory, SPEC) as writer:
            for number in range(episodes):
                metadata = {"number": first + shard * episodes + number}
                with writer.episode(metadata=metadata) as episode:
                    episode.start(rng.integers(0, 256, SHAPE, np.uint8))
                    for step in range(steps - 1):
                        episode.step(step % 4, rng.normal(), rng.integers(0, 256, SHAPE, np.uint8))
    return directory


def require_same(here: rlds_kit.Dataset, there: rlds_kit.Dataset) -> None:
    """Every value of every episode is the same."""
    assert len(here.episodes) == len(there.episodes) > 0
    for a, b in zip(here.episodes, there.episodes, strict=True):
        assert (a.id, a.end, a.metadata) == (b.id, b.end, b.metadata)
        for name in ("observation", "action", "reward", "is_last"):
            np.testing.assert_array_equal(a[name], b[name])
