"""Small recordings for the tests of builders."""

from pathlib import Path

import numpy as np

from rlds_kit.logger import EpisodeWriter


def record(path: Path, episodes: int = 3, *, seed: int = 0, steps: int = 4) -> Path:
    """Records episodes of `steps`, `steps + 1`, ... actions, with an image, numbers and text."""
    rng = np.random.default_rng(seed)

    def observation() -> dict[str, object]:
        return {"camera": rng.integers(0, 256, (6, 8, 3), np.uint8), "joints": rng.normal(size=3).astype(np.float32)}

    with EpisodeWriter(path, record_time=False) as writer:
        for number in range(episodes):
            with writer.episode(metadata={"score": float(number) / 3, "player": f"p{number}"}) as episode:
                episode.start(observation())
                for step in range(steps + number):
                    is_last = step == steps + number - 1
                    reward = np.float32(rng.normal())
                    episode.step(
                        action=np.int64(step),
                        reward=reward,
                        observation=observation(),
                        terminated=is_last and number != 1,
                        truncated=is_last and number == 1,
                    )
    return path
