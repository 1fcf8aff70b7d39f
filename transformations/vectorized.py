"""Applies a function of one step to many steps at once, if TensorFlow can vectorize it."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from rlds_kit.transformations.auto_batch import auto_batch_size, batched_spec, is_dense


def vectorize(function: Callable[..., Any], spec: Any) -> Callable[..., Any] | None:
    """Converts a function of one element to a function of a batch.

    Args:
      function: of one element. Python's `if` and `while` on tensors are allowed, as in `Dataset.map`.
      spec: of one element.

    Returns:
      A function of a batch that gives the results of all its elements; None where TensorFlow has no vectorized form of
      an operation (`tf.py_function`, decoding of images, assignment of a variable, results whose shapes differ, ...).
    """
    if not is_dense(spec):
        return None
    # Inside `vectorized_map` nothing converts Python's control flow, and an operation that does not depend on the step
    # would run once a batch. In a tf.function of its own both are as they are in `Dataset.map`.
    traced = tf.function(function)

    def of_batch(*batch: Any) -> Any:
        return tf.vectorized_map(lambda step: traced(*step), batch, fallback_to_while_loop=False)

    many = tf.nest.map_structure(batched_spec, spec)
    arguments = many if type(many) is tuple else (many,)  # as `Dataset.map` passes them
    with _muted():
        try:
            concrete: Callable[..., Any] = tf.function(of_batch).get_concrete_function(*arguments)
        except Exception:  # noqa: BLE001  mapped step by step, the function raises its own errors again
            return None
    return concrete


def map_in_batches(
    steps: tf.data.Dataset, function: Callable[..., Any], summary: Callable[[Any], Any], size: int
) -> tf.data.Dataset:
    """Applies a function to each step, then another to batches of the results.

    Args:
      steps: dataset of steps.
      function: of one step.
      summary: of a batch of the function's results.
      size: how many steps to process at once, or `BATCH_AUTO_TUNE`.
    """
    many = auto_batch_size(steps.element_spec, size)
    vectorized = vectorize(function, steps.element_spec) if many > 1 else None
    if vectorized:
        return steps.batch(many).map(lambda *step: summary(vectorized(*step)), num_parallel_calls=tf.data.AUTOTUNE)
    results = steps.map(function, num_parallel_calls=tf.data.AUTOTUNE)
    spec = results.element_spec
    return results.batch(min(many, auto_batch_size(spec))).map(
        lambda *batch: summary(tf.nest.pack_sequence_as(spec, tf.nest.flatten(batch)))
    )


@contextlib.contextmanager
def _muted() -> Iterator[None]:
    """Prevents TensorFlow from logging an error for an operation that it cannot vectorize."""

    def nothing(_: logging.LogRecord) -> bool:
        return False

    logger = tf.get_logger()
    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)
