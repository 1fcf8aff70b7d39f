"""Stacks of the most recent observations."""

from typing import Final

import tensorflow as tf

from rlds_kit.base.arguments import positive
from rlds_kit.base.rlds_types import OBSERVATION
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import count_steps, gather_rows, leaves, paths_of, with_leaves
from rlds_kit.transformations.segments import segments

RESET: Final = "reset"
ZERO: Final = "zero"


@on_either_form
def frame_stack(steps: Dense, size: int = 4, field: str = OBSERVATION, padding_type: str = RESET) -> Dense:
    """Replaces each observation by a stack of the last `size` observations, oldest first.

    Equals `gymnasium.wrappers.FrameStackObservation`. The stack restarts after a gap, as it does at a reset.

    Args:
      steps: of one episode, in either form.
      size: number of observations in a stack.
      field: path of the field, such as "observation/camera"; each field nested in it gets its own stack.
      padding_type: values before the first step: "reset" repeats the first observation, "zero" gives zeros.

    Returns:
      The steps, in the form of the argument; the field is `[T, size, ...]`.

    Raises:
      TypeError: the size is no integer.
      ValueError: the size is below 1, there is no such field or no such type of padding.

    >>> steps = {"observation": tf.constant([5, 6, 7])}
    >>> frame_stack(steps, size=2)["observation"].numpy().tolist()
    [[5, 5], [5, 6], [6, 7]]
    """
    size = positive("size", size)
    if padding_type not in (RESET, ZERO):
        raise ValueError(f"expected padding_type {RESET!r} or {ZERO!r}, got {padding_type!r}")
    known = leaves(steps)
    frames = {path: known[path] for path in paths_of(known, [field])}
    rows = tf.range(count_steps(steps))[:, tf.newaxis] + tf.range(1 - size, 1, dtype=tf.int64)
    first = segments(steps).first[:, tf.newaxis]
    if padding_type == RESET:
        rows = tf.maximum(rows, first)
    else:
        frames = tf.nest.map_structure(_with_zeros_before, frames)
        rows = tf.where(rows >= first, rows + 1, 0)
    result: Dense = with_leaves(steps, gather_rows(frames, rows))
    return result


def _with_zeros_before(frames: tf.Tensor) -> tf.Tensor:
    zeros = tf.zeros(tf.concat([[1], tf.shape(frames)[1:]], 0), frames.dtype)
    return tf.concat([zeros, frames], 0)
