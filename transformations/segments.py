"""Segments: consecutive steps of an episode without a gap.

A scheduler may have left steps out when the episode was recorded. Then steps have the field `step_index`, their number
in the environment, and there is a gap between two steps whose numbers are not consecutive. Steps without
that field have no gaps.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import tensorflow as tf

from rlds_kit.base.rlds_types import OBSERVATION
from rlds_kit.base.step import ACTED_FIELDS, STEP_INDEX
from rlds_kit.transformations.fields import count_rows, latest_true

OBSERVATION_VALID = "observation_valid"
"""Optional bool field of steps: whether the observation is there. Data may lack the one after the last action."""


class Segments(NamedTuple):
    """The segment of each step.

    Attributes:
      first: `[T]` int64, number of its segment's first step.
      last: `[T]` int64, number of its segment's last step.
    """

    first: tf.Tensor
    last: tf.Tensor


def segments(steps: Mapping[str, Any]) -> Segments:
    """The segment that each step is part of."""
    row = _number(steps)
    if STEP_INDEX not in steps:
        return Segments(tf.zeros_like(row), tf.fill(tf.shape(row), tf.size(row, tf.int64) - 1))
    is_last = ~is_acted(steps)
    is_first = tf.concat([tf.ones_like(is_last[:1]), is_last[:-1]], 0)
    number = tf.cumsum(tf.cast(is_first, tf.int64)) - 1
    return Segments(latest_true(is_first), tf.gather(tf.where(is_last)[:, 0], number))


def is_acted(steps: Mapping[str, Any]) -> tf.Tensor:
    """Whether a step's action led to the step after it, `[T]` bool: False on the last step and before a gap.

    Action, reward and discount are defined where it is True.
    """
    if STEP_INDEX not in steps:
        row = _number(steps)
        return row < tf.size(row, tf.int64) - 1
    index = steps[STEP_INDEX]
    return tf.concat([index[1:] - index[:-1] == 1, tf.zeros_like(index[:1], tf.bool)], 0)


def is_defined(steps: Mapping[str, Any], field: str) -> tf.Tensor:
    """Whether a field is defined, `[T]` bool."""
    if field in ACTED_FIELDS:
        return is_acted(steps)
    if field == OBSERVATION and OBSERVATION_VALID in steps:
        return steps[OBSERVATION_VALID]
    return tf.ones_like(_number(steps), tf.bool)


def _number(steps: Mapping[str, Any]) -> tf.Tensor:
    return tf.range(count_rows(tf.nest.flatten(steps)[0]))
