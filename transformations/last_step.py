"""The final step of an episode."""

from typing import Any

import tensorflow as tf

from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE, auto_batch_size
from rlds_kit.transformations.fold import fold
from rlds_kit.transformations.from_spec import zeros_from_spec
from rlds_kit.transformations.sliding_batch import rows_of

_WINDOW = 64  # steps that are searched together; they are not copied


def final_step(steps_dataset: tf.data.Dataset) -> Any:
    """The last step. If the number of steps is unknown, all are read once; otherwise the others are skipped.

    Args:
      steps_dataset: dataset of at least one step, of any structure.

    Raises:
      tf.errors.InvalidArgumentError: there is no step, or the dataset is infinite.

    >>> final_step(tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]}))["reward"].numpy()
    np.float32(2.0)
    """
    count = finite_cardinality(steps_dataset, "final_step")
    return tf.cond(
        count < 0, lambda: _last_of_unknown_number(steps_dataset), lambda: _last_of_known_number(steps_dataset, count)
    )


def _last_of_known_number(steps: tf.data.Dataset, count: tf.Tensor) -> Any:
    _check(count > 0)
    return steps.skip(count - 1).get_single_element()


def _last_of_unknown_number(steps: tf.data.Dataset) -> Any:
    def last_of(*window: Any) -> tuple[tf.Tensor, Any]:
        rows = rows_of(tf.nest.pack_sequence_as(steps.element_spec, tf.nest.flatten(window)))
        return True, rows.skip(rows.cardinality() - 1).get_single_element()

    nothing = False, zeros_from_spec(steps.element_spec)
    some, last = fold(steps.window(_WINDOW).map(last_of), nothing, lambda _, newest: newest)
    _check(some)
    return last


def _check(some: tf.Tensor) -> None:
    tf.debugging.assert_equal(
        some, True, message="final_step: expected an episode of one step or more, got one of none"
    )


def episode_length(steps_dataset: tf.data.Dataset, optimization_batch_size: int = BATCH_AUTO_TUNE) -> tf.Tensor:
    """The number of steps. If tf.data does not know it, all are read once.

    Args:
      steps_dataset: dataset of steps, of any structure.
      optimization_batch_size: how many steps to count at once. It changes the speed only.

    Returns:
      int32 scalar.

    Raises:
      tf.errors.InvalidArgumentError: the dataset is infinite.

    >>> int(episode_length(tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]})))
    2
    """
    count = finite_cardinality(steps_dataset, "episode_length")
    size = auto_batch_size(steps_dataset.element_spec, optimization_batch_size)

    def size_of(*window: Any) -> tf.Tensor:
        return tf.nest.flatten(window)[0].cardinality()

    def counted() -> tf.Tensor:  # a window refers to its steps and, unlike a batch, does not copy them
        return fold(steps_dataset.window(size).map(size_of), tf.constant(0, tf.int64), tf.add)

    return tf.cast(tf.cond(count < 0, counted, lambda: count), tf.int32)


def finite_cardinality(steps: tf.data.Dataset, caller: str) -> tf.Tensor:
    """The number of steps; negative if tf.data does not know it."""
    count = steps.cardinality()
    endless = tf.constant(tf.data.INFINITE_CARDINALITY, tf.int64)
    message = f"{caller}: expected an episode, got a dataset that does not end"
    tf.debugging.assert_none_equal(count, endless, message=message)
    return count
