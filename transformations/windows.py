"""Windows of consecutive steps, and chunks: for every step each field at its own offsets."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import tensorflow as tf

from rlds_kit.base.arguments import integer, positive
from rlds_kit.base.step import DECLARED_FIELDS, FLAGS
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import (
    count_steps,
    gather_rows,
    latest_true,
    refuse_fields,
    require_fields,
    zero_unless,
)
from rlds_kit.transformations.segments import is_defined, segments

Pad: TypeAlias = Literal["none", "zero", "repeat"]
"""What stands where a sample reaches beyond its steps: such samples are left out, zeros, or the nearest value."""


@on_either_form
def windows(steps: Dense, length: int, stride: int = 1, pad: Pad = "none") -> Dense:
    """Windows of `length` consecutive steps, the first of them every `stride` steps.

    No window reaches over a gap; after one, the first window starts at the first step. So with stride 1 and padding a
    window starts at every step, which is `batch(steps, length, shift=1)` with its short last batches filled up.

    Args:
      steps: of one episode, in either form.
      length: steps of a window.
      stride: steps from one window's start to the next one's.
      pad: "none" has full windows only. With "zero" and "repeat" windows extend beyond the end, filled with zeros
        (False, empty text) or repetitions of the last step. Flags are False there with both.

    Returns:
      Each field as `[W, length, ...]`, and two fields more: `mask`, `[W, length]` bool, where there is a step; and
      `valid`, which has for observation, action, reward and discount `[W, length]` bool, where it is defined: the last
      three are not on the last step and before a gap.

    Raises:
      TypeError: `length` or `stride` is no integer.
      ValueError: `length` or `stride` is less than 1, there is no such padding, or fields would be overwritten.

    >>> steps = {"reward": tf.constant([1.0, 2.0, 0.0]), "is_last": tf.constant([False, False, True])}
    >>> windows(steps, 2)["reward"].numpy().tolist()
    [[1.0, 2.0], [2.0, 0.0]]
    >>> padded = windows(steps, 2, stride=2, pad="repeat")
    >>> padded["mask"].numpy().tolist(), padded["valid"]["reward"].numpy().tolist()
    ([[True, True], [True, False]], [[True, True], [False, False]])
    """
    length, stride = positive("length", length), positive("stride", stride)
    _check_pad(pad)
    refuse_fields(steps, "mask", "valid")
    count = count_steps(steps)
    row = tf.range(count)
    first, last = segments(steps)
    is_start = (row - first) % stride == 0
    if pad == "none":
        is_start &= row + length - 1 <= last
    start = tf.where(is_start)
    rows, end = start + tf.range(length, dtype=tf.int64), tf.gather(last, start)
    mask, rows = rows <= end, tf.minimum(rows, end)
    result = gather_rows(steps, rows)
    defined = {field: is_defined(steps, field) for field in DECLARED_FIELDS if field in steps}
    valid = {field: mask & tf.gather(rows_defined, rows) for field, rows_defined in defined.items()}
    return {**_padded(result, dict.fromkeys(result, mask), pad), "mask": mask, "valid": valid}


@on_either_form
def chunks(steps: Dense, offsets: Mapping[str, Iterable[int]], pad: Pad = "none") -> Dense:
    """Makes chunks: for every step, fields at offsets from it. For histories of observations, and actions ahead.

    No chunk reaches over a gap or beyond the episode.

    Args:
      steps: of one episode, in either form.
      offsets: for each field that is wanted, which steps, counted from the step itself:
        `{"observation": range(-3, 1), "action": range(0, 8), "instruction": [0]}`.
      pad: "none" leaves out steps with undefined values in their chunk. "zero" and "repeat" have a sample for every
        step; undefined values are replaced by zeros (False, empty text) or by the nearest defined value. Flags are
        False there with both.

    Returns:
      Each field of `offsets` as `[N, len(offsets[field]), ...]`, and one field more: `valid`, which has for each of
      them `[N, len(offsets[field])]` bool, where it is defined. Action, reward and discount are not on the last step
      and before a gap; the observation is not where `observation_valid` is False.

    Raises:
      TypeError: the offsets of a field are no integers.
      ValueError: a field does not exist or has no offsets, or there is no such padding.

    >>> steps = {"observation": tf.constant([10, 11, 12]), "action": tf.constant([0, 1, 0])}
    >>> sample = chunks(steps, {"observation": [-1, 0], "action": range(2)}, pad="repeat")
    >>> sample["observation"].numpy().tolist(), sample["action"].numpy().tolist()
    ([[10, 10], [10, 11], [11, 12]], [[0, 1], [1, 1], [1, 1]])
    >>> sample["valid"]["action"].numpy().tolist()
    [[True, True], [True, False], [False, False]]
    """
    lists = {field: _integers(field, at) for field, at in offsets.items()}
    _check_offsets(steps, lists)
    _check_pad(pad)
    count = count_steps(steps)
    segment = segments(steps)
    rows, valid = {}, {}
    for field, at in lists.items():
        wanted = tf.range(count)[:, tf.newaxis] + tf.constant(at, tf.int64)
        is_there = is_defined(steps, field)
        last = tf.gather(latest_true(is_there), segment.last)
        nearest = tf.maximum(tf.minimum(wanted, last[:, tf.newaxis]), segment.first[:, tf.newaxis])
        rows[field], valid[field] = nearest, (nearest == wanted) & tf.gather(is_there, nearest)
    if pad == "none":
        is_full = tf.reduce_all(tf.concat(list(valid.values()), 1), 1)
        rows, valid = gather_rows((rows, valid), tf.where(is_full)[:, 0])
    result: dict[str, Any] = {field: gather_rows(steps[field], at) for field, at in rows.items()}
    return {**_padded(result, valid, pad), "valid": valid}


def _padded(fields: Dense, inside: Mapping[str, tf.Tensor], pad: Pad) -> Dense:
    """Fields with zeros for missing steps if `pad` is "zero"; flags always, because they are not repeated."""
    return {
        field: zero_unless(inside[field], value) if pad == "zero" or field in FLAGS else value
        for field, value in fields.items()
    }


def _integers(field: str, offsets: Iterable[int]) -> list[int]:
    if not isinstance(offsets, Iterable):
        raise TypeError(f"expected a list of offsets of the field {field!r}, such as [{offsets!r}], got {offsets!r}")
    return [integer(f"an offset of the field {field!r}", offset) for offset in offsets]


def _check_offsets(steps: Mapping[str, Any], offsets: Mapping[str, list[int]]) -> None:
    if not offsets:
        raise ValueError('expected offsets of at least one field, such as {"observation": range(-3, 1)}; got none')
    require_fields(steps, *offsets)
    refuse_fields(offsets, "valid")
    for field, at in offsets.items():
        if not at:
            raise ValueError(f"expected offsets of the field {field!r}, got none; range(-3, 1) is a history of four")


def _check_pad(pad: str) -> None:
    if pad not in get_args(Pad):
        raise ValueError(f"expected pad to be one of {', '.join(map(repr, get_args(Pad)))}; got {pad!r}")
