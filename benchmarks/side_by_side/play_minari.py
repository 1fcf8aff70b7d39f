"""Plays a trace through Minari; runs in its own virtual environment."""

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
warnings.simplefilter("ignore")
import minari  # noqa: E402

from side_by_side import player, stopwatch  # noqa: E402
from side_by_side.fidelity import ReadEpisode  # noqa: E402
from side_by_side.null_gymnasium import NullGymnasium  # noqa: E402
from side_by_side.trace import Trace  # noqa: E402

NAME = "benchmark/trace-v0"


class Minari:
    """One of its formats; images as JPEG, its default, or as they are. Infos are off: ALE's make it raise."""

    packages = ("minari", "h5py", "pyarrow", "numpy")

    def __init__(self, data_format: str, *, jpeg: bool) -> None:
        self._format, self._jpeg = data_format, jpeg

    def record(self, trace: Trace, rows: int, out: Path) -> dict[str, float]:
        """Records and measures."""
        os.environ["MINARI_DATASETS_PATH"] = str(out)
        return stopwatch.record(
            trace,
            rows,
            lambda: NullGymnasium(trace),
            lambda env: minari.DataCollector(env, data_format=self._format, jpeg_encoding=self._jpeg),
            _finish,
        )

    def full_scan(self, out: Path) -> tuple[int, int]:
        """Every array of every episode."""
        rows = total = 0
        for episode in _open(out).iterate_episodes():
            rows += len(episode.observations)
            total += stopwatch.checksum(episode.observations)
            total += 0 * int(episode.actions.nbytes + episode.rewards.nbytes)
        return rows, total

    def rewards(self, out: Path) -> tuple[int, int]:
        """Minari reads whole episodes."""
        rows, total = 0, 0.0
        for episode in _open(out).iterate_episodes():
            rows += len(episode.rewards) + 1
            total += float(episode.rewards.sum())
        return rows, int(total * 1000)

    def episodes(self, out: Path) -> Iterator[ReadEpisode]:
        """Everything."""
        for episode in _open(out).iterate_episodes():
            ended = bool(episode.terminations[-1])
            yield ReadEpisode(episode.observations, episode.actions, episode.rewards, ended, None)


def _finish(env: minari.DataCollector) -> None:
    env.create_dataset(NAME)
    env.close()


def _open(out: Path) -> Any:
    os.environ["MINARI_DATASETS_PATH"] = str(out)
    return minari.load_dataset(NAME)


def _make(arguments: Namespace) -> Minari:
    data_format, _, images = arguments.variant.partition(" ")
    return Minari(data_format, jpeg=images == "JPEG")


if __name__ == "__main__":
    player.main(_make)
