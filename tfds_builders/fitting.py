"""Converts the values of an episode to its features if that changes none of them, else raises an error."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlds_kit.base.rlds_types import STEPS
from rlds_kit.spec.describe import describe_value


def fitted(episode: Mapping[str, Any], features: Any) -> dict[str, Any]:
    """Converts an episode to the argument of `features.encode_example`.

    Args:
      episode: `{"steps": ..., **metadata}`; steps are a `tf.data.Dataset`, an iterable of dicts, or a dict of
        `[T, ...]`.
      features: a `tfds.features.FeaturesDict`.

    Raises:
      ValueError: a field is missing, unknown, or has another type; the message names it.

    >>> features = tfds.features.FeaturesDict({"steps": tfds.features.Dataset({"reward": np.float32})})
    >>> fitted({"steps": [{"reward": 1.0}]}, features)
    {'steps': [{'reward': array(1., dtype=float32)}]}
    """
    if STEPS not in episode:
        raise ValueError("the episode: expected steps, got none")
    facts = {name: value for name, value in episode.items() if name != STEPS}
    of_episode = {name: feature for name, feature in features.items() if name != STEPS}
    return {STEPS: _steps(episode[STEPS], features[STEPS].feature), **_dict(facts, of_episode, "the episode")}


def _steps(steps: Any, feature: Any) -> Any:
    if isinstance(steps, Mapping):
        return _dict(steps, feature, "the steps")
    each = steps.as_numpy_iterator() if hasattr(steps, "as_numpy_iterator") else steps
    return [_dict(step, feature, f"step {number}") for number, step in enumerate(each)]


def _dict(value: Any, feature: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(  # noqa: TRY004  the same error for every value that does not fit
            f"{place}: expected a dict with {', '.join(feature)}, got {describe_value(value)}"
        )
    if missing := [name for name in feature if name not in value]:
        raise ValueError(f"{place}: expected {', '.join(feature)}; {', '.join(missing)} is missing")
    if unknown := [name for name in value if name not in feature]:
        raise ValueError(f"{place}: expected {', '.join(feature)}; {', '.join(map(str, unknown))} has no feature")
    return {name: _fit(value[name], each, f"{place}, {name}") for name, each in feature.items()}


def _fit(value: Any, feature: Any, place: str) -> Any:
    if hasattr(feature, "items"):
        return _dict(value, feature, place)
    value = value.numpy() if hasattr(value, "numpy") else value
    dtype = np.dtype(feature.get_tensor_info().np_dtype)
    if isinstance(value, float) and not isinstance(value, np.generic) and dtype.kind == "f":
        return np.asarray(value, dtype)  # Python has only one float type, and TFDS rounds it
    if dtype.kind == "O" or not isinstance(value, np.ndarray | np.generic | bool | int | float):
        return value
    array = np.asarray(value)
    return value if array.dtype == object else _cast(array, dtype, place)


def _cast(array: np.ndarray, dtype: np.dtype[Any], place: str) -> np.ndarray:
    """Converts values to another dtype without changing them; no number becomes a boolean."""
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        back = cast.astype(array.dtype)
    is_flag = (array.dtype.kind == "b") != (dtype.kind == "b")
    if is_flag or not np.array_equal(back, array, equal_nan=array.dtype.kind in "fc"):
        raise ValueError(f"{place}: expected {dtype}, got {describe_value(array)}, which {dtype} does not hold exactly")
    return cast
