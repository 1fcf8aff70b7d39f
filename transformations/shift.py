"""Moves fields from steps to their neighbours."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE, auto_batch_size, element_bytes
from rlds_kit.transformations.sliding_batch import batch


def shift_keys(
    steps: tf.data.Dataset, keys: Sequence[str], shift: int, batch_size: int = BATCH_AUTO_TUNE
) -> tf.data.Dataset:
    """Gives each step the values that some fields have `shift` steps later.

    Step `i` gets `keys` of step `i + shift`; its other fields do not change. Steps that have no such neighbour are left
    out: of `n` steps remain `max(0, n - |shift|)`. A shift of 0 changes nothing.

    Args:
      steps: dataset of steps, which are dicts.
      keys: fields to move, including all nested ones.
      shift: how far: positive takes from later steps, negative from earlier ones.
      batch_size: how many steps to process at once, more than `|shift|`. It changes only the speed.

    Raises:
      ValueError: a key is no field of the steps, or `batch_size` is too small.
      TypeError: `keys` is one string, or the elements are no dicts.

    >>> steps = tf.data.Dataset.from_tensor_slices({"observation": [0, 1, 2], "action": [0, 10, 20]})
    >>> [(int(step["observation"]), int(step["action"])) for step in shift_keys(steps, ["action"], -1)]
    [(1, 0), (2, 10)]
    """
    _check_keys(steps.element_spec, keys)
    distance = abs(shift)
    if batch_size == BATCH_AUTO_TUNE:
        # The steps between two batches are copied twice; four times the distance keeps that below a quarter.
        batch_size = distance + max(4 * distance, auto_batch_size(steps.element_spec))
    if distance >= batch_size:
        raise ValueError(f"shift_keys: expected a batch_size above |shift| = {distance}, got {batch_size}")
    if shift == 0:
        return steps

    later = set(keys) if shift > 0 else steps.element_spec.keys() - set(keys)
    if not math.isfinite(element_bytes(steps.element_spec)):
        return _shift_one_by_one(steps, later, distance)

    def realign(rows: dict[str, Any]) -> dict[str, Any]:
        parts = {key: slice(distance, None) if key in later else slice(None, -distance) for key in rows}
        return {key: tf.nest.map_structure(operator.itemgetter(parts[key]), nest) for key, nest in rows.items()}

    return batch(steps, batch_size, batch_size - distance).map(realign).unbatch()


def _shift_one_by_one(steps: tf.data.Dataset, later: set[str], distance: int) -> tf.data.Dataset:
    """Shifts fields of steps whose shapes may differ, one by one, because they cannot be batched."""

    def realign(window: dict[str, Any]) -> tf.data.Dataset:
        skipped = {key: distance if key in later else 0 for key in window}
        return tf.data.Dataset.zip(
            {
                key: tf.nest.map_structure(lambda rows, n=skipped[key]: rows.skip(n), nest)
                for key, nest in window.items()
            }
        )

    return steps.window(distance + 1, shift=1, drop_remainder=True).flat_map(realign)


def _check_keys(spec: Any, keys: Sequence[str]) -> None:
    if not isinstance(spec, dict):
        raise TypeError(f"shift_keys: expected steps that are dicts, got {spec}")
    if isinstance(keys, str):
        raise TypeError(f"shift_keys: expected a list of keys, got the string {keys!r}. Write [{keys!r}].")
    if missing := [key for key in keys if key not in spec]:
        raise ValueError(f"shift_keys: the steps have no fields {missing}; they have {sorted(spec)}")
