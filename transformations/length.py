"""Counts the steps of an episode."""

from typing import Any

import tensorflow as tf

from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE, auto_batch_size
from rlds_kit.transformations.fold import fold


def episode_length(steps_dataset: tf.data.Dataset, optimization_batch_size: int = BATCH_AUTO_TUNE) -> tf.Tensor:
    """The number of steps. Where tf.data does not know it, they are all read once.

    Args:
      steps_dataset: dataset of steps, of any structure.
      optimization_batch_size: how many steps to count at once. It changes the speed only.

    Returns:
      int32 scalar.

    Raises:
      tf.errors.InvalidArgumentError: there is no end of steps.

    >>> int(episode_length(tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]})))
    2
    """
    count = finite_cardinality(steps_dataset, "episode_length")
    size = auto_batch_size(steps_dataset.element_spec, optimization_batch_size)

    def size_of(*window: Any) -> tf.Tensor:
        return tf.nest.flatten(window)[0].cardinality()

    def counted() -> tf.Tensor:  # a window holds on to its steps and, unlike a batch, does not copy them
        return fold(steps_dataset.window(size).map(size_of), tf.constant(0, tf.int64), tf.add)

    return tf.cast(tf.cond(count < 0, counted, lambda: count), tf.int32)


def finite_cardinality(steps: tf.data.Dataset, caller: str) -> tf.Tensor:
    """The number of steps, negative where tf.data does not know it."""
    count = steps.cardinality()
    endless = tf.constant(tf.data.INFINITE_CARDINALITY, tf.int64)
    message = f"{caller}: expected an episode, got a dataset that does not end"
    tf.debugging.assert_none_equal(count, endless, message=message)
    return count
