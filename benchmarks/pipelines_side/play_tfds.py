"""Plays TFDS datasets of RLDS episodes: tfrecord files through rlds 0.1.8, array_record files as a data source."""

import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
import tensorflow_datasets as tfds

from pipelines_side import fields, player, rlds_idioms
from pipelines_side.arrays import Arrays
from pipelines_side.player import Batch, Stream

SHUFFLE: Final = 10_000
"""Transitions in the shuffle buffer."""

Pipeline = Callable[[tf.data.Dataset], tf.data.Dataset]


def transitions(encoding: str, pipeline: Pipeline) -> Stream:
    """What `pipeline` makes of the tfrecord files of that encoding."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        episodes = tfds.builder_from_directory(str(folder / f"tfrecord-{encoding}")).as_dataset(split="train")
        found = pipeline(episodes.repeat() if forever else episodes).prefetch(tf.data.AUTOTUNE)
        return iter(found.as_numpy_iterator())

    return batches


def shuffled_whole(encoding: str) -> Stream:
    """With a buffer that holds all transitions, which is what an exact permutation takes."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        size = len(Arrays(folder / "arrays").starts(2))
        return transitions(encoding, functools.partial(rlds_idioms.best_ordering_shuffled, size=size))(folder, forever)

    return batches


def windows(encoding: str) -> Stream:
    """Batches of random windows, drawn evenly from all that there are. Only the steps of a window are decoded."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:  # noqa: ARG001
        source = tfds.builder_from_directory(str(folder / f"array_record-{encoding}")).as_data_source(split="train")
        arrays, rng = Arrays(folder / "arrays"), np.random.default_rng(0)
        starts = arrays.starts(fields.WINDOW)
        while True:
            rows = rng.choice(starts, fields.WINDOWS)
            episodes = arrays.episode_of(rows)
            found = source.__getitems__(episodes.tolist())
            steps = [
                episode["steps"][int(row) + offset]
                for episode, row in zip(found, rows - arrays.begins[episodes], strict=True)
                for offset in range(fields.WINDOW)
            ]
            yield {name: np.stack([step[name] for step in steps]).reshape(*_shape(steps[0][name])) for name in steps[0]}

    return batches


def _shape(value: np.ndarray) -> tuple[int, ...]:
    return fields.WINDOWS, fields.WINDOW, *np.shape(value)


STREAMS: Final[dict[str, Stream]] = {
    stream_name: stream
    for encoding in ("zlib", "png", "none")
    for stream_name, stream in {
        f"{encoding} tutorial": transitions(encoding, rlds_idioms.tutorial),
        f"{encoding} best": transitions(encoding, rlds_idioms.best_ordering_parallel),
        f"{encoding} shuffled": transitions(
            encoding, functools.partial(rlds_idioms.best_ordering_shuffled, size=SHUFFLE)
        ),
        f"{encoding} shuffled whole": shuffled_whole(encoding),
        f"{encoding} windows": windows(encoding),
    }.items()
}

if __name__ == "__main__":
    player.main(STREAMS, ("tensorflow_cpu", "tensorflow-datasets", "rlds", "array_record"))
