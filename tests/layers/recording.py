"""Small datasets to annotate."""

import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.layers import Annotation
from rlds_kit.layers.message import record_of
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder

SPEC = specs.Dict(
    {
        "observation": specs.Array((2,), np.float32),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
        "discount": specs.Array((), np.float32),
    }
)


def record(directory: Path, lengths: Sequence[int] = (6, 9), *, rows: int = 4) -> rlds_kit.Dataset:
    """Records episodes of these lengths, in blocks of `rows`; the reward of step k is 100 + k."""
    with Recorder(directory, SPEC, policy=FlushPolicy(block_rows=rows, interval=None)) as recorder:
        for number, length in enumerate(lengths):
            episode = recorder.start_episode(metadata={"number": number})
            for step in range(length):
                acted = {"action": step, "reward": np.float64(99 + step), "discount": np.float32(1)} if step else None
                episode.append({"observation": np.array([number, step], np.float32), "success": step == 3}, acted)
            episode.end(EpisodeEnd.TERMINATED)
    return rlds_kit.open(directory)


def said(annotations: Sequence[Annotation]) -> list[bytes]:
    """The complete content of annotations, each as bytes."""
    return [record_of([each]) for each in annotations]


def layer_file(dataset: rlds_kit.Dataset, name: str) -> Path:
    """The only file of a layer."""
    (path,) = (dataset.path / "layers" / name).iterdir()
    return path


UNKNOWN = uuid.UUID(int=7)
