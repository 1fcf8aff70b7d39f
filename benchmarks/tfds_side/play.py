"""Reads the steps of an input through TFDS: our shards without conversion, or files that TFDS wrote."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
import tensorflow_datasets as tfds
from pipelines_side import player
from pipelines_side.inputs import FIELDS
from pipelines_side.player import Batch, Stream

BATCH: Final = 256
LONGEST: Final = 1 << 20
"""Steps of a batch that has all of an episode."""
Read = Callable[[Path], Any]
"""Opens what one system has of an input, ready to be read in one way."""


def zero_conversion(folder: Path) -> tuple[Any, Any]:
    """Our recording, and the decoders that choose its fields."""
    from rlds_kit.tfds_builders import builder_from_directory

    return builder_from_directory(folder / "recording"), {"steps": dict.fromkeys(FIELDS, True)}


def ours_one_by_one(folder: Path) -> Any:
    """Episodes with a dataset of steps, as every TFDS dataset of RLDS has them."""
    builder, features = zero_conversion(folder)
    return builder.as_dataset("train", decoders=tfds.decode.PartialDecoding(features))


def ours_dense(folder: Path) -> Any:
    """Episodes with dense steps."""
    builder, features = zero_conversion(folder)
    dense = {"steps": tfds.decode.SkipDecoding()}
    return builder.as_dataset("train", decoders=tfds.decode.PartialDecoding(features, decoders=dense))


def ours_source(folder: Path) -> Any:
    """Episodes by number."""
    builder, features = zero_conversion(folder)
    return builder.as_data_source("train", decoders=tfds.decode.PartialDecoding(features))


def theirs(files: str) -> Read:
    """Episodes of files that TFDS wrote."""
    return lambda folder: tfds.builder_from_directory(str(folder / files)).as_dataset("train")


def their_source(files: str) -> Read:
    """Episodes by number, of array_record files."""
    return lambda folder: tfds.builder_from_directory(str(folder / files)).as_data_source("train")


def one_by_one(read: Read) -> Stream:
    """Steps one after the other, cut into batches: the pipeline of most users."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        episodes = read(folder)
        steps = (episodes.repeat() if forever else episodes).flat_map(lambda episode: episode["steps"])
        return iter(steps.batch(BATCH).prefetch(tf.data.AUTOTUNE).as_numpy_iterator())

    return batches


def in_batches(read: Read, size: int = BATCH) -> Stream:
    """Batches out of each episode, which is as fast as nested steps get."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        episodes = read(folder)
        found = (episodes.repeat() if forever else episodes).flat_map(lambda episode: episode["steps"].batch(size))
        return iter(found.prefetch(tf.data.AUTOTUNE).as_numpy_iterator())

    return batches


def dense(read: Read, size: int | None = None) -> Stream:
    """Dense episodes, if a size is given cut into batches."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        episodes = read(folder)
        found = (episodes.repeat() if forever else episodes).map(lambda episode: episode["steps"])
        cut = found if size is None else found.rebatch(size)
        return iter(cut.prefetch(tf.data.AUTOTUNE).as_numpy_iterator())

    return batches


def by_number(read: Read) -> Stream:
    """Episodes in random order, and in each the steps one by one, in Python."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        source, rng = read(folder), np.random.default_rng(0)
        while True:
            for number in rng.permutation(len(source)).tolist():
                steps = source[number]["steps"]
                for first in range(0, len(steps), BATCH):
                    rows = [steps[row] for row in range(first, min(first + BATCH, len(steps)))]
                    yield {name: np.array([row[name] for row in rows]) for name in FIELDS}  # np.stack takes longer
            if not forever:
                return

    return batches


STREAMS: Final[dict[str, Stream]] = {
    "ours one by one": one_by_one(ours_one_by_one),
    "ours whole": dense(ours_dense),
    "ours dense": dense(ours_dense, BATCH),
    "ours by number": by_number(ours_source),
    **{
        name: stream
        for encoding in ("zlib", "png", "none")
        for name, stream in {
            f"{encoding} one by one": one_by_one(theirs(f"tfrecord-{encoding}")),
            f"{encoding} whole": in_batches(theirs(f"tfrecord-{encoding}"), LONGEST),
            f"{encoding} in batches": in_batches(theirs(f"tfrecord-{encoding}")),
            f"{encoding} by number": by_number(their_source(f"array_record-{encoding}")),
        }.items()
    },
}

if __name__ == "__main__":
    player.main(STREAMS, ("tensorflow_cpu", "tensorflow-datasets", "array_record", "numpy"))
