"""Mean and standard deviation of fields over a dataset, from the steps in which they are valid."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE
from rlds_kit.transformations.fold import fold
from rlds_kit.transformations.from_spec import step_spec, zeros_from_spec
from rlds_kit.transformations.vectorized import map_in_batches

_Moments = dict[str, Any]  # "count": by field; "mean", and "squares" of distances from it: by field, in its structure

_UNDEFINED = float("nan")

_map = tf.nest.map_structure


def sar_fields_mask(step: rlds_types.Step) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns observation, action and reward of a step, and which are valid: on the last step only the observation.

    For `mean_and_std`, if observation and action are numbers and not encoded images.

    Args:
      step: in SAR alignment.

    Returns:
      The three fields, and for each a bool.

    Raises:
      ValueError: the step lacks one of the fields, or `is_last`.

    >>> _, mask = sar_fields_mask({"observation": 0.5, "action": 1, "reward": 0.0, "is_last": True})
    >>> {field: bool(valid) for field, valid in mask.items()}
    {'observation': True, 'action': False, 'reward': False}
    """
    fields = (rlds_types.OBSERVATION, rlds_types.ACTION, rlds_types.REWARD)
    if missing := [field for field in (*fields, rlds_types.IS_LAST) if field not in step]:
        raise ValueError(f"sar_fields_mask: the step has no {missing}, only {sorted(step)}. Write your own function.")
    acted = tf.logical_not(step[rlds_types.IS_LAST])
    valid = dict.fromkeys(fields, acted) | {rlds_types.OBSERVATION: True}
    return {field: step[field] for field in fields}, valid


def mean_and_std(
    episodes_dataset: tf.data.Dataset,
    get_step_fields: Callable[[rlds_types.Step], tuple[Mapping[str, Any], Mapping[str, Any]]],
    optimization_batch_size: int = BATCH_AUTO_TUNE,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Computes mean and sample standard deviation of fields, over the steps of all episodes, in one pass.

    Everything is computed in float64, and batches of steps are merged as in T. F. Chan, G. H. Golub and R. J. LeVeque,
    "Updating formulae and a pairwise algorithm for computing sample variances" (1979), so that neither small dtypes nor
    a mean that is large against the deviation lose digits.

    Args:
      episodes_dataset: dataset of episodes.
      get_step_fields: from a step to two dicts with the same keys: nests of numbers, and bools that say whether the
        field is valid in this step. The value of an invalid field is ignored. See `sar_fields_mask`.
      optimization_batch_size: how many steps to process at once. It changes only the speed.

    Returns:
      Two dicts, of means and of standard deviations (with `n - 1` in the denominator): float64 tensors in the structure
      of the fields. A mean is NaN where no step was valid, a deviation where fewer than two were: it is undefined.

    Raises:
      ValueError: the two dicts have different keys.
      TypeError: the elements are no episodes, or a field has no numbers.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 3.0, 9.0], "is_last": [False, False, True]})
    >>> episodes = tf.data.Dataset.from_tensors({"steps": steps})
    >>> mean, std = mean_and_std(episodes, lambda step: ({"reward": step["reward"]}, {"reward": ~step["is_last"]}))
    >>> float(mean["reward"]), round(float(std["reward"]), 3)
    (2.0, 1.414)
    """
    step_spec(episodes_dataset)

    def fields_of(step: rlds_types.Step) -> dict[str, Any]:
        data, valid = get_step_fields(step)
        if data.keys() != valid.keys():
            raise ValueError(
                f"mean_and_std: expected equal keys, got fields {sorted(data)} and a mask for {sorted(valid)}"
            )
        return {"data": dict(data), "valid": dict(valid)}

    steps = episodes_dataset.flat_map(lambda episode: episode[rlds_types.STEPS])
    moments = map_in_batches(steps, fields_of, _moments_of_batch, optimization_batch_size)
    total = fold(moments, zeros_from_spec(moments.element_spec), _merged)
    mean, std = {}, {}
    for key, count in total["count"].items():
        mean[key] = _map(lambda value, n=count: tf.where(n > 0, value, _UNDEFINED), total["mean"][key])
        variance = _map(lambda value, n=count: value / (n - 1), total["squares"][key])
        std[key] = _map(lambda value, n=count: tf.where(n > 1, tf.sqrt(value), _UNDEFINED), variance)
    return mean, std


def _moments_of_batch(batch: Mapping[str, Any]) -> _Moments:
    """Computes the moments of a batch of fields, with the leading dimension of steps."""
    count, mean, squares = {}, {}, {}
    for key, valid in batch["valid"].items():
        data = _map(_to_float64, batch["data"][key])
        count[key] = tf.reduce_sum(tf.cast(valid, tf.float64))
        total = _map(lambda values, valid=valid: tf.reduce_sum(_where(valid, values), 0), data)
        mean[key] = _map(lambda value, n=count[key]: value / tf.maximum(n, 1), total)
        squares[key] = _map(lambda x, m, valid=valid: tf.reduce_sum(_where(valid, (x - m) ** 2), 0), data, mean[key])
    return {"count": count, "mean": mean, "squares": squares}


def _merged(left: _Moments, right: _Moments) -> _Moments:
    """Moments of two sets of steps together: Chan, Golub and LeVeque, formulae 2.1."""
    count, mean, squares = {}, {}, {}
    for key in left["count"]:
        n_left, n_right = left["count"][key], right["count"][key]
        count[key] = n_left + n_right
        share = n_right / tf.maximum(count[key], 1)
        delta = _map(tf.subtract, right["mean"][key], left["mean"][key])
        mean[key] = _map(lambda m, d, share=share: m + d * share, left["mean"][key], delta)
        between = _map(lambda d, weight=n_left * share: d**2 * weight, delta)
        squares[key] = _map(lambda *parts: tf.add_n(parts), left["squares"][key], right["squares"][key], between)
    return {"count": count, "mean": mean, "squares": squares}


def _where(valid: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The values of valid steps, and zeros in place of all other values, NaN included."""
    rows = tf.reshape(valid, tf.concat([tf.shape(valid), tf.ones([tf.rank(values) - 1], tf.int32)], 0))
    return tf.where(rows, values, tf.zeros([], values.dtype))


def _to_float64(values: tf.Tensor) -> tf.Tensor:
    if not (values.dtype.is_floating or values.dtype.is_integer or values.dtype.is_bool):
        raise TypeError(f"mean_and_std: expected numbers, got {values.dtype.name}. Leave the field out.")
    return tf.cast(values, tf.float64)
