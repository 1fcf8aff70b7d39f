"""Writes an input as a Minari dataset, HDF5 and lossless; runs in Minari's virtual environment."""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
warnings.simplefilter("ignore")
import minari  # noqa: E402
from minari.data_collector import EpisodeBuffer  # noqa: E402

from pipelines_side.arrays import Arrays  # noqa: E402

NAME: Final = "benchmark/steps-v0"


def write(source: Arrays, out: Path) -> None:
    """Hands it the episodes one by one."""
    out.mkdir(parents=True)
    os.environ["MINARI_DATASETS_PATH"] = str(out)
    minari.create_dataset_from_buffers(
        NAME,
        _buffers(source),
        observation_space=_space(source["observation"]),
        action_space=_space(source["action"]),
        data_format="hdf5",
        jpeg_encoding=False,
    )


def _buffers(source: Arrays) -> Iterator[EpisodeBuffer]:
    for number, episode in enumerate(source.episodes()):
        terminated = np.zeros(len(episode["action"]) - 1, np.bool_)
        terminated[-1] = episode["is_terminal"][-1]
        truncated = np.zeros_like(terminated)
        truncated[-1] = not terminated[-1]
        yield EpisodeBuffer(
            id=number,
            observations=episode["observation"],
            actions=episode["action"][:-1],
            rewards=episode["reward"][:-1],
            terminations=terminated,
            truncations=truncated,
        )


def _space(rows: np.ndarray) -> gymnasium.Space[Any]:
    if rows.ndim == 1:
        return gymnasium.spaces.Discrete(int(rows.max()) + 1)
    low, high = (0, 255) if rows.dtype == np.uint8 else (-np.inf, np.inf)
    return gymnasium.spaces.Box(low, high, rows.shape[1:], rows.dtype.type)


if __name__ == "__main__":
    write(Arrays(Path(sys.argv[1])), Path(sys.argv[2]))
