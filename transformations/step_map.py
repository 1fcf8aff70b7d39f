"""Applies a function to every step, or to the steps of every episode."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.auto_batch import BATCH_AUTO_TUNE, auto_batch_size
from rlds_kit.transformations.from_spec import step_spec
from rlds_kit.transformations.vectorized import vectorize


def map_steps(
    steps_dataset: tf.data.Dataset,
    transform_step: Callable[..., Any],
    optimization_batch_size: int = BATCH_AUTO_TUNE,
) -> tf.data.Dataset:
    """Applies a function to each step, to many at once if possible.

    The result is that of `Dataset.map`. To be fast, steps are batched, the function is vectorized with
    `tf.vectorized_map`, and the results are taken apart again. A function that TensorFlow cannot vectorize is mapped
    step by step; so is everything with `optimization_batch_size=1`. To find this out, the function's Python code runs
    more than once.

    Args:
      steps_dataset: dataset of steps.
      transform_step: from a step to anything that a dataset can store.
      optimization_batch_size: how many steps to transform at once. It changes the speed only; random numbers are drawn
        again for each step in both cases.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]})
    >>> [float(reward) for reward in map_steps(steps, lambda step: -step["reward"])]
    [-1.0, -2.0]
    """
    size = auto_batch_size(steps_dataset.element_spec, optimization_batch_size)
    return _mapper(steps_dataset.element_spec, transform_step, size)(steps_dataset)


def map_nested_steps(
    episodes_dataset: tf.data.Dataset,
    transform_step: Callable[..., Any],
    optimization_batch_size: int = BATCH_AUTO_TUNE,
) -> tf.data.Dataset:
    """Applies a function to each step of each episode, as `map_steps` does. Metadata stay as they are.

    Args:
      episodes_dataset: dataset of episodes.
      transform_step: from a step to anything that a dataset can store.
      optimization_batch_size: how many steps to transform at once. It changes the speed only.

    Raises:
      TypeError: the elements are no episodes.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]})
    >>> episodes = tf.data.Dataset.from_tensors({"steps": steps, "episode_id": 7})
    >>> negated = map_nested_steps(episodes, lambda step: {"reward": -step["reward"]})
    >>> [float(step["reward"]) for episode in negated for step in episode["steps"]]
    [-1.0, -2.0]
    """
    spec = step_spec(episodes_dataset)
    mapper = _mapper(spec, transform_step, auto_batch_size(spec, optimization_batch_size))
    return apply_nested_steps(episodes_dataset, mapper)


def apply_nested_steps(
    episodes_dataset: tf.data.Dataset, transform_step_dataset: Callable[[tf.data.Dataset], Any]
) -> tf.data.Dataset:
    """Applies a function to the dataset of steps of each episode. Metadata stay as they are.

    Args:
      episodes_dataset: dataset of episodes.
      transform_step_dataset: from a dataset of steps to another, or to anything else that becomes the field `steps`.

    Raises:
      TypeError: the elements are no episodes.

    >>> episodes = tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.range(5), "episode_id": 7})
    >>> [len(episode["steps"]) for episode in apply_nested_steps(episodes, lambda steps: steps.take(2))]
    [2]
    """
    step_spec(episodes_dataset)

    def transform(episode: rlds_types.Episode) -> rlds_types.Episode:
        return {**episode, rlds_types.STEPS: transform_step_dataset(episode[rlds_types.STEPS])}

    return episodes_dataset.map(transform)


def _mapper(spec: Any, function: Callable[[Any], Any], size: int) -> Callable[[tf.data.Dataset], tf.data.Dataset]:
    """A function that maps another one over a dataset of elements of a known spec."""
    vectorized = vectorize(function, spec) if size > 1 else None
    if vectorized:
        return lambda steps: steps.batch(size).map(vectorized).unbatch()
    return lambda steps: steps.map(function)
