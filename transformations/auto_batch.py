"""Chooses how many steps a function processes at once, if the caller does not."""

import math
from typing import Any, Final

import tensorflow as tf

BATCH_AUTO_TUNE: Final = -1
"""The batch size that means: choose one. As many elements as fit in 200 kB, and at least one."""

_TARGET_BYTES: Final = 200_000
_STRING_BYTES: Final = 1_000  # lengths of strings are unknown: short for an encoded image, long for a name


def auto_batch_size(spec: Any, hint: int = BATCH_AUTO_TUNE) -> int:
    """The number of elements to process at once; 1 means one by one.

    Args:
      spec: `element_spec` of the dataset, any structure.
      hint: `BATCH_AUTO_TUNE`, or the caller's own number.

    Returns:
      The hint, or the number of elements that fit in 200 kB; 1 where their size is unknown, since elements whose shapes
      differ cannot be batched.

    Raises:
      ValueError: the hint is negative, but not `BATCH_AUTO_TUNE`.

    >>> auto_batch_size({"observation": tf.TensorSpec([84, 84], tf.uint8)})
    28
    """
    if hint < BATCH_AUTO_TUNE:
        raise ValueError(f"batch size: expected a positive number, or BATCH_AUTO_TUNE ({BATCH_AUTO_TUNE}), got {hint}")
    if hint != BATCH_AUTO_TUNE:
        return max(1, hint)
    return int(max(1, _TARGET_BYTES // max(1, element_bytes(spec))))


def element_bytes(spec: Any) -> float:
    """The size of one element in memory; infinite where a shape is not fully known."""
    return sum(_leaf_bytes(leaf) for leaf in tf.nest.flatten(spec))


def is_dense(spec: Any) -> bool:
    """Whether every leaf is an ordinary tensor: not ragged, not sparse, not a dataset."""
    return all(isinstance(leaf, tf.TensorSpec) for leaf in tf.nest.flatten(spec))


def batched_spec(spec: tf.TensorSpec, size: int | None = None) -> tf.TensorSpec:
    """The spec of a batch of such tensors."""
    return tf.TensorSpec(tf.TensorShape([size]).concatenate(spec.shape), spec.dtype)


def _leaf_bytes(spec: Any) -> float:
    if not isinstance(spec, tf.TensorSpec) or not spec.shape.is_fully_defined():
        return math.inf
    return int(spec.shape.num_elements()) * (_STRING_BYTES if spec.dtype == tf.string else spec.dtype.size)
