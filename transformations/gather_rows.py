"""Choosing and blanking rows of nests of tensors."""

from typing import Any

import tensorflow as tf


def gather_rows(tree: Any, rows: tf.Tensor) -> Any:
    """Rows of every tensor by number: `[T, ...]` and `[N]` or `[N, L]` give `[N, ...]` or `[N, L, ...]`."""
    return tf.nest.map_structure(lambda leaf: tf.gather(leaf, rows), tree)


def zero_unless(mask: tf.Tensor, tree: Any) -> Any:
    """Every tensor with zeros, False or empty text where the mask of its leading dimensions is False."""
    return tf.nest.map_structure(lambda leaf: tf.where(spread(mask, leaf), leaf, tf.zeros([], leaf.dtype)), tree)


def spread(tensor: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """A tensor of leading dimensions, reshaped so that it broadcasts with one of more dimensions.

    Raises:
      ValueError: it has more dimensions than the other.
    """
    if tensor.shape.rank > like.shape.rank:
        raise ValueError(f"expected the leading dimensions of {like.shape}, got {tensor.shape}")
    return tensor[(..., *[tf.newaxis] * (like.shape.rank - tensor.shape.rank))]


def latest_true(flags: tf.Tensor) -> tf.Tensor:
    """Returns for each row the number of the last row up to it whose flag is set, -1 if there is none; `[T]` int64.

    >>> latest_true(tf.constant([False, True, False, True])).numpy()
    array([-1,  1,  1,  3])
    """
    numbers = tf.concat([tf.constant([-1], tf.int64), tf.where(flags)[:, 0]], 0)
    return tf.gather(numbers, tf.cumsum(tf.cast(flags, tf.int64)))
