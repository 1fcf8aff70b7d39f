"""Datasets to publish."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.publish import About

ABOUT = About(
    name="Grid",
    description="A walk on a grid.",
    citation="@misc{grid, title={Grid}}",
    licence="CC-BY-4.0",
    homepage="https://example.org/grid",
)
SPEC = specs.Dict(
    {
        "observation": specs.Dict(
            {"image": specs.Array((12, 10, 3), np.uint8, minimum=0, maximum=255), "words": specs.Text()}
        ),
        "action": specs.Array((), np.int64, num_values=4),
        "reward": specs.Array((), np.float32, minimum=-1, maximum=1),
    }
)


def record(
    directory: Path,
    *,
    episodes: int = 3,
    metadata: Mapping[str, Any] | None = None,
    words: str = "left",
    info: Mapping[str, Any] | None = None,
    shards: int = 1,
) -> Path:
    """Records walks; `shards` runs, each into a shard of its own."""
    rng = np.random.default_rng(0)
    for _ in range(shards):
        with EpisodeWriter(directory, SPEC, record_time=False) as writer:
            for number in range(episodes):
                with writer.episode(metadata={"score": number, **(metadata or {})}, seed=number) as episode:
                    episode.start(_observation(rng, words), info=info or {})
                    for step in range(5 + number):
                        action, reward = rng.integers(4), np.float32(rng.random())
                        ended = step == 4 + number
                        episode.step(action, reward, _observation(rng, words), terminated=ended, info=info or {})
    return directory


def _observation(rng: np.random.Generator, words: str) -> dict[str, Any]:
    return {"image": rng.integers(0, 256, (12, 10, 3), np.uint8), "words": words}
