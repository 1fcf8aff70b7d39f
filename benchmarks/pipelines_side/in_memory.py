"""An input in memory, as tf.data episodes: what both sides begin with, so that only transformations are compared."""

from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from pipelines_side import fields
from pipelines_side.arrays import Arrays, rows_of
from pipelines_side.player import Batch, Stream


def dense_episodes(folder: Path) -> tf.data.Dataset:
    """Each of the first episodes as a dict of tensors `[T, ...]`."""
    arrays = Arrays(folder / "arrays")
    count = arrays.prefix(fields.MEMORY_BYTES)
    rows = {name: tf.constant(field) for name, field in rows_of(arrays, count).items()}
    bounds = tf.data.Dataset.from_tensor_slices((arrays.begins[:count], arrays.ends[:count]))
    return bounds.map(lambda begin, end: {name: field[begin:end] for name, field in rows.items()})


def nested_episodes(folder: Path) -> tf.data.Dataset:
    """Each episode as RLDS has it: a dict with a dataset of steps."""
    return dense_episodes(folder).map(lambda dense: {"steps": tf.data.Dataset.from_tensor_slices(dense)})


def stream(
    source: Callable[[Path], tf.data.Dataset],
    pipeline: Callable[[tf.data.Dataset], tf.data.Dataset],
    names: tuple[str, ...],
) -> Stream:
    """Runs a pipeline over episodes; an endless stream repeats the episodes, so that nothing is set up twice."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        episodes = source(folder)
        for batch in pipeline(episodes.repeat() if forever else episodes).as_numpy_iterator():
            yield {name: batch[name] for name in names}

    return batches
