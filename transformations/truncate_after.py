"""Ends an episode early."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types


def truncate_after_condition(
    steps_dataset: tf.data.Dataset, truncate_condition: Callable[[rlds_types.Step], Any]
) -> tf.data.Dataset:
    """Keeps the steps up to and including the first that satisfies a condition; all of them if none does.

    No field changes: `is_last` of the new final step stays as it was. Of the steps behind it one is read.

    Args:
      steps_dataset: dataset of steps.
      truncate_condition: from a step to a bool scalar.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 5.0, 2.0]})
    >>> [float(step["reward"]) for step in truncate_after_condition(steps, lambda step: step["reward"] > 3)]
    [1.0, 5.0]
    """

    def scan(over: tf.Tensor, step: Any) -> tuple[tf.Tensor, Any]:
        return truncate_condition(step), (step, over)

    scanned = steps_dataset.scan(tf.constant(False), scan)
    return scanned.take_while(lambda _, over: not over).map(lambda step, _: step)
