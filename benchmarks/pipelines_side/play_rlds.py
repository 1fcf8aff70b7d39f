"""Plays rlds 0.1.8 over episodes in memory."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

from pipelines_side import fields, player, rlds_idioms
from pipelines_side.in_memory import nested_episodes, stream
from pipelines_side.player import Batch


def statistics(folder: Path, forever: bool) -> Iterator[Batch]:  # noqa: ARG001
    """Every batch is a pass of `mean_and_std` over all steps; it has no minimum and no maximum."""
    episodes = nested_episodes(folder)
    while True:
        mean, std = rlds_idioms.rlds.mean_and_std(episodes, _fields_and_mask)
        yield {f"{name}_mean": np.array([mean[name]]) for name in mean} | {
            f"{name}_std": np.array([std[name]]) for name in std
        }


def _fields_and_mask(step: Any) -> Any:
    """As `rlds.transformations.sar_fields_mask`, of images as numbers: sums of uint8 overflow."""
    values, mask = rlds_idioms.rlds.sar_fields_mask(step)
    return {name: _summable(value) for name, value in values.items()}, mask


def _summable(value: tf.Tensor) -> tf.Tensor:
    return value if value.dtype.is_floating else tf.cast(value, tf.float32)


if __name__ == "__main__":
    player.main(
        {
            "transitions tutorial": stream(nested_episodes, rlds_idioms.tutorial, fields.TRANSITION),
            "transitions best": stream(nested_episodes, rlds_idioms.best_ordering, fields.TRANSITION),
            "windows": stream(nested_episodes, rlds_idioms.windows, fields.STEP),
            "statistics": statistics,
        },
        ("tensorflow_cpu", "rlds"),
    )
