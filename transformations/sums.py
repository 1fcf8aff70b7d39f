"""Sums over steps."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE
from rlds_kit.transformations.fold import fold
from rlds_kit.transformations.from_spec import step_spec, zeros_from_spec
from rlds_kit.transformations.vectorized import map_in_batches


def sum_dataset(
    steps_dataset: tf.data.Dataset,
    data_to_sum: Callable[..., Any],
    optimization_batch_size: int = BATCH_AUTO_TUNE,
) -> Any:
    """Sums the result of a function over the steps of a dataset.

    Integers are added as int64 (uint64 as uint64), and booleans count as 0 and 1. Floats are added as float64 and then
    rounded to their own dtype, float16 and bfloat16 to float32; complex numbers likewise. So small dtypes do not
    overflow, and long sums lose nothing.

    **The reward of an episode's last step is undefined, but not left out here**: `data_to_sum` must do that, with
    `tf.where(step["is_last"], 0.0, step["reward"])`.

    Args:
      steps_dataset: dataset of steps.
      data_to_sum: from a step to a nest of tensors of numbers or booleans.
      optimization_batch_size: how many steps to add at once. It changes the speed only.

    Returns:
      The nest of sums; zeros for a dataset without steps, in which a dimension of unknown size has size 1.

    Raises:
      TypeError: the values are no numbers.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0, 7.0], "is_last": [False, False, True]})
    >>> float(sum_dataset(steps, lambda step: tf.where(step["is_last"], 0.0, step["reward"])))
    3.0
    """
    sums = map_in_batches(steps_dataset, data_to_sum, _sum_and_dtype, optimization_batch_size)
    total, of_dtype = fold(sums, zeros_from_spec(sums.element_spec), _add)
    return tf.nest.map_structure(lambda value, example: tf.cast(value, example.dtype), total, of_dtype)


def sum_nested_steps(
    episodes_dataset: tf.data.Dataset,
    data_to_sum: Callable[..., Any],
    optimization_batch_size: int = BATCH_AUTO_TUNE,
) -> Any:
    """Sums the result of a function over the steps of all episodes: see `sum_dataset`.

    Args:
      episodes_dataset: dataset of episodes.
      data_to_sum: from a step to a nest of tensors of numbers or booleans.
      optimization_batch_size: how many steps to add at once. It changes the speed only.

    Raises:
      TypeError: the elements are no episodes, or the values are no numbers.

    >>> steps = tf.data.Dataset.from_tensor_slices({"action": [1, 2]})
    >>> int(sum_nested_steps(tf.data.Dataset.from_tensors({"steps": steps}).repeat(3), lambda step: step["action"]))
    9
    """
    step_spec(episodes_dataset)
    steps = episodes_dataset.flat_map(lambda episode: episode[rlds_types.STEPS])
    return sum_dataset(steps, data_to_sum, optimization_batch_size)


def _sum_and_dtype(batch: Any) -> tuple[Any, Any]:
    """The sums in wide dtypes, and zeros in the dtypes of the results."""
    zeros = tf.nest.map_structure(lambda values: tf.zeros([], _result_dtype(values.dtype)), batch)
    return tf.nest.map_structure(_sum, batch), zeros


def _add(total: tuple[Any, Any], part: tuple[Any, Any]) -> tuple[Any, Any]:
    return tf.nest.map_structure(tf.add, total[0], part[0]), part[1]


def _sum(values: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.cast(values, _wide_dtype(values.dtype)), 0)


def _wide_dtype(dtype: tf.DType) -> tf.DType:
    if dtype.is_floating:
        return tf.float64
    if dtype.is_complex:
        return tf.complex128
    if dtype.is_integer or dtype.is_bool:
        return tf.uint64 if dtype == tf.uint64 else tf.int64
    raise TypeError(f"sum: expected numbers or booleans, got {dtype.name}. Let data_to_sum leave the field out.")


def _result_dtype(dtype: tf.DType) -> tf.DType:
    if dtype in (tf.float16, tf.bfloat16):
        return tf.float32
    return dtype if dtype.is_floating or dtype.is_complex else _wide_dtype(dtype)
