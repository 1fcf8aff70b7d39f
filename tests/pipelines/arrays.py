"""Nests of NumPy arrays: gathered from pipelines, joined, and compared."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import tensorflow as tf

from rlds_kit import transformations as rlt

MODES: Final = ("eager", "pipeline", "dense pipeline")
"""Where a function of steps runs: on each episode by itself, or inside `Dataset.map`, on nested or on dense steps."""


def gathered(dataset: tf.data.Dataset) -> Any:
    """All elements of a dataset, stacked."""
    return tf.nest.map_structure(lambda leaf: leaf.numpy(), rlt.to_dense(dataset))


def joined(parts: Iterable[Any]) -> Any:
    """Nests of arrays `[N, ...]`, one after the other."""
    return tf.nest.map_structure(lambda *arrays: np.concatenate(arrays), *parts)


def transformed(episodes: tf.data.Dataset, function: Callable[[Any], Any], mode: str) -> list[Any]:
    """What a function makes of the steps of each episode, computed in one of `MODES`."""
    if mode == "eager":
        results = [function(episode["steps"]) for episode in episodes]
    elif mode == "pipeline":
        results = list(episodes.map(lambda episode: function(episode["steps"])))
    else:
        results = list(episodes.map(lambda episode: function(rlt.to_dense(episode["steps"]))))
    return [_numpy(result) for result in results]


def assert_fields(actual: Any, expected: Any) -> None:
    """Asserts that fields have these dtypes and values; there may be other fields."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_fields(actual[name], value)
        return
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


def _numpy(result: Any) -> Any:
    if isinstance(result, tf.data.Dataset):
        return gathered(result)
    return tf.nest.map_structure(lambda leaf: leaf.numpy(), result)
