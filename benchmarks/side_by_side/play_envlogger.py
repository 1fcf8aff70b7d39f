"""Plays a trace through EnvLogger 1.2; runs in its own virtual environment."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
np.unicode_ = np.str_  # noqa: NPY201  EnvLogger 1.2 is older than NumPy 2
import envlogger  # noqa: E402

from side_by_side import player, stopwatch  # noqa: E402
from side_by_side.fidelity import ReadEpisode  # noqa: E402
from side_by_side.null_dm_env import NullDmEnv  # noqa: E402
from side_by_side.trace import Trace  # noqa: E402


class EnvLogger:
    """With its defaults: Riegeli, transposed, brotli 6, chunks of 1 MiB."""

    packages = ("envlogger", "numpy")

    def record(self, trace: Trace, rows: int, out: Path) -> dict[str, float]:
        """Records and measures."""
        step_fn = (lambda _, __, env: {"ale": env.info}) if trace.infos[0] else None
        return stopwatch.record(
            trace,
            rows,
            lambda: NullDmEnv(trace),
            lambda env: envlogger.EnvLogger(env, step_fn=step_fn, data_directory=str(out)),
            lambda env: env.close(),
        )

    def full_scan(self, out: Path) -> tuple[int, int]:
        """Its reader decodes whole steps."""
        rows = total = 0
        with envlogger.Reader(data_directory=str(out)) as reader:
            for episode in reader.episodes:
                for step in episode:
                    rows += 1
                    total += stopwatch.checksum(step.timestep.observation[None])
        return rows, total

    def rewards(self, out: Path) -> tuple[int, int]:
        """There is no way to read less than the whole step."""
        rewards = []
        with envlogger.Reader(data_directory=str(out)) as reader:
            for episode in reader.episodes:
                rewards += [step.timestep.reward or 0.0 for step in episode]
        return len(rewards), int(np.sum(rewards) * 1000)

    def episodes(self, out: Path) -> Iterator[ReadEpisode]:
        """Everything."""
        with envlogger.Reader(data_directory=str(out)) as reader:
            for episode in reader.episodes:
                steps = list(episode)
                yield ReadEpisode(
                    [step.timestep.observation for step in steps],
                    [step.action for step in steps[1:]],
                    [step.timestep.reward for step in steps[1:]],
                    steps[-1].timestep.discount == 0,
                    [(step.custom_data or {"ale": {}})["ale"] for step in steps],
                )


if __name__ == "__main__":
    player.main(lambda _: EnvLogger())
