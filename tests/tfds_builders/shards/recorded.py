"""A small dataset of two runs, with most kinds of content of a dataset."""

from pathlib import Path

import numpy as np

from rlds_kit.logger import EpisodeWriter

EPISODES = 9


def record(path: Path, lengths: tuple[tuple[int, ...], ...] = ((3, 70, 5, 1), (8, 2, 130, 4, 6))) -> Path:
    """Records a run for each tuple, with an episode of so many actions for each number in it."""
    rng = np.random.default_rng(0)
    for run, actions in enumerate(lengths):
        with EpisodeWriter(path, record_time=False, metadata={"run": run}, max_shard_episodes=3) as writer:
            for number, count in enumerate(actions):
                with writer.episode(metadata={"score": number / 3, "who": f"p{run}"}) as episode:
                    episode.start(_observation(rng))
                    for step in range(count):
                        episode.step(
                            action=np.int32(step % 4),
                            reward=np.float32(rng.normal()),
                            discount=1.0,
                            observation=_observation(rng),
                            info={"lives": step},
                            truncated=step == count - 1,
                        )
    return path


def _observation(rng: np.random.Generator) -> dict[str, object]:
    camera = rng.integers(0, 256, (8, 8, 3), np.uint8)
    return {"camera": camera, "state": rng.normal(size=3), "task": f"put {rng.integers(9)}"}


def files(directory: Path) -> dict[str, bytes]:
    """The content of every file that is not hidden."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if not path.name.startswith(".")}


def flip(path: Path, share: float) -> None:
    """Changes one byte: that with this share of the others before it. Zeros do not count, padding is full of them."""
    data = np.fromfile(path, np.uint8)
    places = np.flatnonzero(data)
    data[places[int(len(places) * share)]] ^= 0x5A
    data.tofile(path)
