"""Reduces a dataset to one value, fast enough to be called for every episode of a dataset."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.transformations.from_spec import zeros_from_spec


def fold(elements: tf.data.Dataset, initial: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Folds a dataset as `Dataset.reduce` does, without the cost of `reduce` in every call of `Dataset.map`.

    That cost is about 10 ms, more than most episodes take. This function takes less than 1 ms.

    Args:
      elements: of tensors.
      initial: nest of tensors, the result for a dataset without elements.
      function: from the result so far and an element to the next result.

    >>> int(fold(tf.data.Dataset.range(5), tf.constant(0, tf.int64), lambda total, element: total + element))
    10
    """
    end = tf.data.Dataset.from_tensors((zeros_from_spec(elements.element_spec), True))
    marked = tf.data.Dataset.zip((elements, tf.data.Dataset.from_tensors(False).repeat())).concatenate(end)

    def step(so_far: Any, marked_element: tuple[Any, tf.Tensor]) -> tuple[Any, Any]:
        element, is_end = marked_element
        result = tf.cond(is_end, lambda: so_far, lambda: function(so_far, element))
        return result, (result, is_end)

    results = marked.scan(initial, step).filter(lambda _, is_end: is_end)
    return results.map(lambda result, _: result).get_single_element()
