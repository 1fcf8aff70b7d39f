"""Scales fields by the statistics of their values, and back."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.base.quantile_sketch import Floats
from rlds_kit.base.rlds_types import ACTION, IS_LAST, OBSERVATION
from rlds_kit.base.running_statistics import EpisodeStatistics
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.transformations.dense import Dense, on_either_form
from rlds_kit.transformations.fields import leaves, paths_of, require_fields, with_leaves, zero_unless
from rlds_kit.transformations.segments import OBSERVATION_VALID, is_defined

_Affine: TypeAlias = tuple[Floats, Floats]
"""Center and scale, `[...]` each: `(value - center) / scale`."""


@on_either_form
def normalize(
    steps: Dense, statistics: EpisodeStatistics, fields: Sequence[str] | None = None, floor: float = 1e-3
) -> Dense:
    """Shifts and scales fields to mean 0 and standard deviation 1: `(value - mean) / max(std, floor)`.

    Undefined rows (action, reward and discount of the last step and before a gap, observations that are not valid)
    become zeros. Computed in float64.

    Args:
      steps: of one episode, in either form.
      statistics: of the fields, from `episode_statistics`.
      fields: paths, such as "observation/position" or "observation" for all that is nested in it. None: the
        floating-point fields of observation and action with statistics.
      floor: smallest divisor, so that elements that hardly vary do not become large.

    Returns:
      The steps, in the form that was given; the normalized fields are float32.

    Raises:
      KeyError: there are no statistics of a field.
      TypeError: a field does not hold numbers or bools.
      ValueError: there is no such field, or its statistics have another shape, are not finite, or have no values.

    >>> from rlds_kit.transformations import episode_statistics
    >>> steps = {"observation": tf.constant([1.0, 3.0]), "is_last": tf.constant([False, True])}
    >>> statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    >>> normalize(steps, statistics)["observation"].numpy()
    array([-1.,  1.], dtype=float32)
    """
    return _map_fields(steps, statistics, fields, _standard(floor), _forward)


@on_either_form
def denormalize(
    steps: Dense, statistics: EpisodeStatistics, fields: Sequence[str] | None = None, floor: float = 1e-3
) -> Dense:
    """The inverse of `normalize`: `value * max(std, floor) + mean`, in float32.

    Arguments and errors are those of `normalize`. For values that are not steps, such as the actions of a policy, use
    `statistics["action"].mean` and `.std` themselves: steps have a last row whose action is undefined.

    >>> from rlds_kit.transformations import episode_statistics
    >>> steps = {"observation": tf.constant([1.0, 3.0]), "is_last": tf.constant([False, True])}
    >>> statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    >>> denormalize(normalize(steps, statistics), statistics)["observation"].numpy()
    array([1., 3.], dtype=float32)
    """
    return _map_fields(steps, statistics, fields, _standard(floor), _backward)


@on_either_form
def normalize_to_bounds(
    steps: Dense,
    statistics: EpisodeStatistics,
    fields: Sequence[str] | None = None,
    quantiles: tuple[float, float] = (0.0, 1.0),
) -> Dense:
    """Shifts and scales fields so that two quantiles become -1 and 1, and clips values beyond them.

    An element whose two quantiles are equal is shifted to 0 and not scaled. Undefined rows become zeros.

    Args:
      steps: of one episode, in either form.
      statistics: of the fields, from `episode_statistics`.
      fields: as in `normalize`.
      quantiles: two levels; (0, 1) are minimum and maximum, (0.01, 0.99) exclude rare values.

    Returns:
      The steps, in the form that was given; the normalized fields are float32, between -1 and 1.

    Raises:
      KeyError: there are no statistics of a field.
      TypeError: a field does not hold numbers or bools.
      ValueError: as in `normalize`; or the levels do not ascend, or a field has no quantiles.

    >>> from rlds_kit.transformations import episode_statistics
    >>> steps = {"observation": tf.constant([1.0, 2.0, 5.0]), "is_last": tf.constant([False, False, True])}
    >>> statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    >>> normalize_to_bounds(steps, statistics)["observation"].numpy()
    array([-1. , -0.5,  1. ], dtype=float32)
    """
    return _map_fields(steps, statistics, fields, _between(quantiles), _forward_clipped)


@on_either_form
def denormalize_from_bounds(
    steps: Dense,
    statistics: EpisodeStatistics,
    fields: Sequence[str] | None = None,
    quantiles: tuple[float, float] = (0.0, 1.0),
) -> Dense:
    """The inverse of `normalize_to_bounds`, in float32; clipped values become the bound.

    Arguments and errors are those of `normalize_to_bounds`.

    >>> from rlds_kit.transformations import episode_statistics
    >>> steps = {"observation": tf.constant([1.0, 2.0, 5.0]), "is_last": tf.constant([False, False, True])}
    >>> statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    >>> denormalize_from_bounds(normalize_to_bounds(steps, statistics), statistics)["observation"].numpy()
    array([1., 2., 5.], dtype=float32)
    """
    return _map_fields(steps, statistics, fields, _between(quantiles), _backward)


def _standard(floor: float) -> Callable[[FieldStatistics], _Affine]:
    if not floor > 0:
        raise ValueError(f"expected a floor above 0, got {floor}")
    return lambda one: (one.mean, np.maximum(one.std, floor))


def _between(quantiles: tuple[float, float]) -> Callable[[FieldStatistics], _Affine]:
    low, high = quantiles
    if not 0 <= low < high <= 1:
        raise ValueError(f"expected two quantiles that ascend from 0 to 1, got {quantiles}")

    def affine(one: FieldStatistics) -> _Affine:
        # Images have no sketches, but every field has its bounds.
        bottom = one.min if low == 0 else one.quantile(low)
        top = one.max if high == 1 else one.quantile(high)
        return bottom / 2 + top / 2, np.where(top == bottom, 1, top / 2 - bottom / 2)

    return affine


def _forward(values: tf.Tensor, center: Floats, scale: Floats) -> tf.Tensor:
    return (values - center) / scale


def _forward_clipped(values: tf.Tensor, center: Floats, scale: Floats) -> tf.Tensor:
    return tf.clip_by_value((values - center) / scale, -1, 1)


def _backward(values: tf.Tensor, center: Floats, scale: Floats) -> tf.Tensor:
    return values * scale + center


def _map_fields(
    steps: Dense,
    statistics: EpisodeStatistics,
    fields: Sequence[str] | None,
    affine: Callable[[FieldStatistics], _Affine],
    function: Callable[[tf.Tensor, Floats, Floats], tf.Tensor],
) -> Dense:
    """The steps with a function of value, center and scale applied to fields."""
    known = leaves(steps)
    paths = _default_paths(known, statistics) if fields is None else paths_of(known, fields)
    new = {}
    for path in paths:
        values = _number(path, known[path])
        center, scale = _checked(path, values, *affine(statistics[path]))
        new[path] = _zero_undefined(steps, path, tf.cast(function(values, center, scale), tf.float32))
    result: Dense = with_leaves(steps, new)
    return result


def _default_paths(known: dict[str, tf.Tensor], statistics: EpisodeStatistics) -> list[str]:
    paths = [
        path
        for path, values in known.items()
        if path.partition("/")[0] in (OBSERVATION, ACTION) and values.dtype.is_floating and path in statistics.fields
    ]
    if not paths:
        raise ValueError(
            "there is no floating-point field of observation and action with statistics; name the fields to normalize. "
            f"The steps have {', '.join(known)}, and there are statistics of {', '.join(statistics.fields)}"
        )
    return paths


def _number(path: str, values: tf.Tensor) -> tf.Tensor:
    """A field in float64."""
    if not (values.dtype.is_floating or values.dtype.is_integer or values.dtype.is_bool):
        raise TypeError(f"{path}: expected numbers or bools, got {values.dtype.name}")
    return tf.cast(values, tf.float64)


def _checked(path: str, values: tf.Tensor, center: Floats, scale: Floats) -> _Affine:
    if not values.shape[1:].is_compatible_with(center.shape):
        raise ValueError(
            f"{path}: expected values of shape {center.shape}, as in the statistics, got {values.shape[1:]}"
        )
    if not (np.isfinite(center).all() and np.isfinite(scale).all()):
        raise ValueError(
            f"{path}: the statistics are not finite: they are of no values, or of some that are infinite. "
            "Leave the field out, or make the statistics of other episodes"
        )
    return center, scale


def _zero_undefined(steps: Dense, path: str, values: tf.Tensor) -> Any:
    """Values of a field, with zeros where it is undefined."""
    of, _, _ = path.partition("/")
    if of in ACTED_FIELDS:
        require_fields(steps, IS_LAST)  # without this flag, undefined rows are unknown
    elif not (of == OBSERVATION and OBSERVATION_VALID in steps):
        return values
    return zero_unless(is_defined(steps, of), values)
