"""Plays a trace of images into a TFDS dataset of RLDS episodes (tfrecord files, PNG); runs in its own environment."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import dm_env
import tensorflow_datasets as tfds

from side_by_side import player, stopwatch
from side_by_side.fidelity import ReadEpisode
from side_by_side.null_dm_env import NullDmEnv
from side_by_side.trace import Trace

BATCH = 64
EPISODES_IN_A_FILE = 1000


class Tfds:
    """As the RLDS documents say: a nested dataset of steps, Image features, read through `flat_map` and `batch`."""

    packages = ("tensorflow_cpu", "tensorflow-datasets", "numpy")

    def record(self, trace: Trace, rows: int, out: Path) -> dict[str, float]:
        """TFDS has no recorder of environments: whole episodes are handed to its `SequentialWriter`."""
        return stopwatch.record(
            trace, rows, lambda: NullDmEnv(trace), lambda env: _Writer(env, trace, out), lambda env: env.close()
        )

    def full_scan(self, out: Path) -> tuple[int, int]:
        """All fields in batches."""
        rows = total = 0
        for batch in _batches(out):
            rows += len(batch["reward"])
            total += stopwatch.checksum(batch["observation"])
        return rows, total

    def rewards(self, out: Path) -> tuple[int, int]:
        """Images are read and not decoded; partial decoding knows no nested datasets."""
        rows, total = 0, 0.0
        for batch in _batches(out, {"steps": {"observation": tfds.decode.SkipDecoding()}}):
            rows += len(batch["reward"])
            total += float(batch["reward"].sum())
        return rows, int(total * 1000)

    def episodes(self, out: Path) -> Iterator[ReadEpisode]:
        """Everything."""
        for episode in tfds.as_numpy(tfds.builder_from_directory(_version(out)).as_dataset(split="train")):
            steps = list(episode["steps"])
            yield ReadEpisode(
                [step["observation"] for step in steps],
                [step["action"] for step in steps[:-1]],
                [step["reward"] for step in steps[:-1]],
                bool(steps[-1]["is_terminal"]),
                None,
            )


class _Writer:
    """Collects the steps of an episode, and writes it when it has ended."""

    def __init__(self, env: NullDmEnv, trace: Trace, out: Path) -> None:
        row, action = trace.observation[0], trace.action[0]
        features = {
            "observation": tfds.features.Image(shape=row.shape, encoding_format="png"),
            "action": tfds.features.Tensor(shape=action.shape, dtype=action.dtype),
            "reward": tfds.features.Scalar(np.float64),
            "discount": tfds.features.Scalar(np.float64),
            **{name: tfds.features.Scalar(np.bool_) for name in ("is_first", "is_last", "is_terminal")},
        }
        info = tfds.core.DatasetInfo(
            builder=tfds.core.DatasetIdentity(name="trace", version="1.0.0", data_dir=str(out), module_name=""),
            features=tfds.features.FeaturesDict({"steps": tfds.features.Dataset(features)}),
        )
        self._writer = tfds.core.SequentialWriter(info, EPISODES_IN_A_FILE, overwrite=True)
        self._writer.initialize_splits(["train"])
        self._env, self._nothing, self._steps = env, np.zeros_like(action), list[dict[str, Any]]()

    def reset(self) -> dm_env.TimeStep:
        """Begins an episode."""
        return self._keep(self._env.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        """The action and its reward belong to the step before."""
        step = self._env.step(action)
        self._steps[-1] |= {"action": action, "reward": step.reward, "discount": step.discount}
        return self._keep(step)

    def close(self) -> None:
        """Writes the metadata, without which nothing can be read."""
        self._writer.close_all()

    def _keep(self, step: dm_env.TimeStep) -> dm_env.TimeStep:
        ended = step.last()
        flags = {"is_first": step.first(), "is_last": ended, "is_terminal": ended and step.discount == 0}
        undefined = {"action": self._nothing, "reward": 0.0, "discount": 0.0}
        self._steps.append({"observation": step.observation, **undefined, **flags})
        if ended:
            self._writer.add_examples({"train": [{"steps": self._steps}]})
            self._steps = []
        return step


def _version(out: Path) -> str:
    return str(next(out.rglob("dataset_info.json")).parent)


def _batches(out: Path, decoders: Any = None) -> Iterator[dict[str, np.ndarray]]:
    episodes = tfds.builder_from_directory(_version(out)).as_dataset(split="train", decoders=decoders)
    steps = episodes.flat_map(lambda episode: episode["steps"]).batch(BATCH).prefetch(2)
    return steps.as_numpy_iterator()


if __name__ == "__main__":
    player.main(lambda _: Tfds())
