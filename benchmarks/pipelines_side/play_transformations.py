"""Plays `rlds_kit.transformations` over episodes in memory."""

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

from pipelines_side import fields, player
from pipelines_side.in_memory import dense_episodes, nested_episodes, stream
from pipelines_side.player import Batch, Stream
from rlds_kit import transformations as rlt


def transitions(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """Slices of whole episodes, cut into batches."""
    return episodes.map(rlt.transitions).rebatch(fields.BATCH)


def transitions_of_nested(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """From datasets of steps, as rlds has them: they are made dense first."""
    return transitions(episodes.map(lambda episode: rlt.to_dense(episode["steps"])))


def windows(episodes: tf.data.Dataset) -> tf.data.Dataset:
    """All windows of an episode at once, cut into batches."""
    return episodes.map(functools.partial(rlt.windows, length=fields.WINDOW)).rebatch(fields.WINDOWS)


def statistics(**options: int) -> Stream:
    """Every batch is a pass over all steps: mean, standard deviation, bounds, by default quantiles of small fields."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:  # noqa: ARG001
        episodes = dense_episodes(folder).map(lambda dense: {"steps": dense})
        names = ("observation", "action", "reward")
        while True:
            found = rlt.episode_statistics(episodes, names, **options)
            yield {
                f"{name}_{what}": np.array([getattr(found[name], what)])
                for name in names
                for what in ("mean", "std", "min", "max")
            }

    return batches


if __name__ == "__main__":
    player.main(
        {
            "transitions dense": stream(dense_episodes, transitions, fields.TRANSITION),
            "transitions nested": stream(nested_episodes, transitions_of_nested, fields.TRANSITION),
            "windows": stream(dense_episodes, windows, fields.STEP),
            "statistics": statistics(quantile_elements=0),
            "statistics and quantiles": statistics(),
        },
        ("tensorflow_cpu", "numpy"),
    )
