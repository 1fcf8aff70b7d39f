"""Plays a trace through rlds_kit."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
import rlds_kit  # noqa: E402
from rlds_kit import logger  # noqa: E402
from side_by_side import player, stopwatch  # noqa: E402
from side_by_side.fidelity import ReadEpisode  # noqa: E402
from side_by_side.null_dm_env import NullDmEnv  # noqa: E402
from side_by_side.null_gymnasium import NullGymnasium  # noqa: E402
from side_by_side.trace import Trace  # noqa: E402

SLICE = 256
"""Steps that are read at once."""


class RldsKit:
    """Its loggers with their defaults, but for the memory that rows may wait in."""

    packages = ("numpy", "zstandard", "xxhash")

    def __init__(self, environment: str, memory_limit: int) -> None:
        self._environment = environment
        self._options: Any = {"memory_limit": memory_limit} if memory_limit else {}

    def record(self, trace: Trace, rows: int, out: Path) -> dict[str, float]:
        """Records and measures."""
        step_fn = (lambda _, __, env: {"ale": env.info}) if trace.infos[0] else None
        if self._environment == "dm_env":
            make, wrap = NullDmEnv, lambda env: logger.EnvLogger(env, out, step_fn, **self._options)
        else:
            make, wrap = NullGymnasium, lambda env: logger.GymnasiumLogger(env, out, **self._options)
        return stopwatch.record(trace, rows, lambda: make(trace), wrap, lambda env: env.close())

    def full_scan(self, out: Path) -> tuple[int, int]:
        """Every field of every episode, stacked, in slices that do not grow with the episodes."""
        rows = total = 0
        for episode in rlds_kit.open(out).episodes:
            for begin in range(0, len(episode), SLICE):
                part = episode[begin : begin + SLICE]
                rows += len(part)
                total += stopwatch.checksum(part.arrays()["observation"])
        return rows, total

    def rewards(self, out: Path) -> tuple[int, int]:
        """Reads the one column, of all episodes at once."""
        rewards = rlds_kit.open(out).arrays("reward")["reward"]
        return len(rewards), int(float(rewards.sum()) * 1000)

    def episodes(self, out: Path) -> Iterator[ReadEpisode]:
        """Everything: fields as stacked arrays, infos step by step in the types that were given."""
        for episode in rlds_kit.open(out).episodes:
            observation, action, reward = (episode[name] for name in ("observation", "action", "reward"))
            infos = [step.get("info", step.get("ale", {})) for step in episode.steps]
            rewards = np.asarray(reward[:-1], np.float64)
            yield ReadEpisode(observation, action[:-1], rewards, episode.end is logger.EpisodeEnd.TERMINATED, infos)


def _make(arguments: Namespace) -> RldsKit:
    return RldsKit(arguments.variant, arguments.memory_limit)


if __name__ == "__main__":
    player.main(_make)
