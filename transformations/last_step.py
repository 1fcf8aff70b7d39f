"""The final step of an episode."""

from typing import Any

import tensorflow as tf

from rlds_kit.transformations.fold import fold
from rlds_kit.transformations.from_spec import zeros_from_spec
from rlds_kit.transformations.length import finite_cardinality
from rlds_kit.transformations.sliding_batch import rows_of

_WINDOW = 64  # steps that are searched together; they are not copied


def final_step(steps_dataset: tf.data.Dataset) -> Any:
    """The last step. Where the number of steps is unknown they are all read once; otherwise the others are skipped.

    Args:
      steps_dataset: dataset of at least one step, of any structure.

    Raises:
      tf.errors.InvalidArgumentError: there is no step, or there is no end of them.

    >>> final_step(tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]}))["reward"].numpy()
    np.float32(2.0)
    """
    count = finite_cardinality(steps_dataset, "final_step")
    return tf.cond(
        count < 0, lambda: _last_of_unknown_number(steps_dataset), lambda: _last_of_known_number(steps_dataset, count)
    )


def _last_of_known_number(steps: tf.data.Dataset, count: tf.Tensor) -> Any:
    _check(count > 0)
    return steps.skip(count - 1).get_single_element()


def _last_of_unknown_number(steps: tf.data.Dataset) -> Any:
    def last_of(*window: Any) -> tuple[tf.Tensor, Any]:
        rows = rows_of(tf.nest.pack_sequence_as(steps.element_spec, tf.nest.flatten(window)))
        return True, rows.skip(rows.cardinality() - 1).get_single_element()

    nothing = False, zeros_from_spec(steps.element_spec)
    some, last = fold(steps.window(_WINDOW).map(last_of), nothing, lambda _, newest: newest)
    _check(some)
    return last


def _check(some: tf.Tensor) -> None:
    tf.debugging.assert_equal(
        some, True, message="final_step: expected an episode of one step or more, got one of none"
    )
