"""Plays random windows of a Minari dataset; runs in its own virtual environment."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
warnings.simplefilter("ignore")
import h5py  # noqa: E402
import minari  # noqa: E402

from pipelines_side import fields, player  # noqa: E402
from pipelines_side.arrays import Arrays  # noqa: E402
from pipelines_side.player import Batch, Stream  # noqa: E402
from pipelines_side.write_minari import NAME  # noqa: E402

Window = dict[str, Any]
Windows = Callable[[np.ndarray, np.ndarray], Sequence[Window]]
"""Takes episode and first step of each."""


def of_minari(folder: Path) -> Windows:
    """Its own way: whole episodes."""
    os.environ["MINARI_DATASETS_PATH"] = str(folder / "minari")
    dataset = minari.load_dataset(NAME)

    def windows(numbers: np.ndarray, begins: np.ndarray) -> Sequence[Window]:
        episodes = dataset.iterate_episodes(numbers.tolist())
        return [_window(vars(episode), begin) for episode, begin in zip(episodes, begins.tolist(), strict=True)]

    return windows


def of_h5py(folder: Path) -> Windows:
    """What one can do without Minari: slices of the file that it wrote."""
    file = h5py.File(next((folder / "minari").rglob("*.hdf5")))

    def windows(numbers: np.ndarray, begins: np.ndarray) -> Sequence[Window]:
        pairs = zip(numbers.tolist(), begins.tolist(), strict=True)
        return [_window(file[f"episode_{number}"], begin) for number, begin in pairs]

    return windows


def stream(opened: Callable[[Path], Windows]) -> Stream:
    """Batches of random windows, drawn evenly from all that there are."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:  # noqa: ARG001
        windows, arrays, rng = opened(folder), Arrays(folder / "arrays"), np.random.default_rng(0)
        starts = arrays.starts(fields.WINDOW)
        while True:
            rows = rng.choice(starts, fields.WINDOWS)
            episodes = arrays.episode_of(rows)
            found = windows(episodes, rows - arrays.begins[episodes])
            yield {name: np.stack([window[name] for window in found]) for name in found[0]}

    return batches


def _window(episode: Any, begin: int) -> Window:
    """Eight steps with all fields; Minari has no last step, no discounts and no flags, so they are made here."""
    steps = slice(begin, begin + fields.WINDOW)
    rewards, terminated = episode["rewards"][steps], episode["terminations"][steps]
    position = np.arange(begin, begin + fields.WINDOW)
    is_last = position == len(episode["observations"]) - 1
    is_terminal = is_last & bool(episode["terminations"][-1])
    return {
        "observation": episode["observations"][steps],
        "action": _padded(episode["actions"][steps]),
        "reward": _padded(rewards),
        "discount": _padded(1.0 - terminated),
        "is_first": position == 0,
        "is_last": is_last,
        "is_terminal": is_terminal,
    }


def _padded(rows: np.ndarray) -> np.ndarray:
    """Zeros for the last step, where nothing is defined."""
    return rows if len(rows) == fields.WINDOW else np.concatenate([rows, np.zeros_like(rows[:1])])


if __name__ == "__main__":
    player.main({"minari": stream(of_minari), "h5py": stream(of_h5py)}, ("minari", "h5py", "numpy"))
