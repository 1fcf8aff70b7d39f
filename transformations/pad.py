"""Episodes of equal length, so that they can be batched."""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base.arguments import positive
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.transformations.dense import Dense, as_one_episode
from rlds_kit.transformations.fields import count_steps, refuse_fields, require_when_run


def pad_episodes(episodes: tf.data.Dataset, length: int) -> tf.data.Dataset:
    """Makes all episodes dense and extends them to `length` steps with zeros.

    The result can be batched: `pad_episodes(episodes, 1000).batch(8)`.

    Args:
      episodes: each a dict with the dataset `steps`, or with dense `steps`; or each the dense steps themselves.
      length: of the longest episode, or more.

    Returns:
      Episodes as they were given, with `steps` as a dict of tensors `[length, ...]`, or that dict itself if they were
      given so. One field more, `mask`, is `[length]` bool: where there is a step.

    Raises:
      TypeError: `length` is no integer.
      ValueError: `length` is less than 1, or there is a field `mask`.
      tf.errors.InvalidArgumentError: an episode is longer.

    >>> steps = [{"reward": tf.constant([1.0, 2.0])}, {"reward": tf.constant([3.0])}]
    >>> nested = [tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.from_tensor_slices(one)}) for one in steps]
    >>> (batch,) = pad_episodes(nested[0].concatenate(nested[1]), length=3).batch(2)
    >>> batch["steps"]["reward"].numpy().tolist(), batch["steps"]["mask"].numpy().tolist()
    ([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]], [[True, True, False], [True, False, False]])
    """
    length = positive("length", length)

    def pad(episode: Mapping[str, Any]) -> dict[str, Any]:
        if STEPS in episode:
            return {**episode, STEPS: _pad_steps(as_one_episode(episode[STEPS]), length)}
        return _pad_steps(as_one_episode(episode), length)

    return episodes.map(pad, tf.data.AUTOTUNE)


def _pad_steps(steps: Dense, length: int) -> Dense:
    refuse_fields(steps, "mask")
    rows = count_steps(steps)
    explanation = f"expected episodes of at most length={length} steps; cut them into windows, truncate them, or pad"
    count = require_when_run(rows, rows <= length, explanation, "to more than the steps of this one:", rows)
    padded: Dense = tf.nest.map_structure(lambda leaf: _pad(leaf, length - count, length), steps)
    return {**padded, "mask": tf.range(tf.constant(length, tf.int64)) < count}


def _pad(leaf: tf.Tensor, missing: tf.Tensor, length: int) -> tf.Tensor:
    shape = tf.concat([[missing], tf.shape(leaf, tf.int64)[1:]], 0)
    return tf.ensure_shape(tf.concat([leaf, tf.zeros(shape, leaf.dtype)], 0), [length, *leaf.shape[1:]])
