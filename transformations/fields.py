"""Which fields a function needs in the steps of an episode, which may not be there, and how many rows they have."""

from collections.abc import Mapping
from typing import Any, Final

import tensorflow as tf

from rlds_kit.transformations.field_paths import leaves

SAME_ROWS: Final = (
    "expected as many rows in each field as there are steps. Data that hold one observation more than actions need a "
    "last row of zeros in action, reward and discount. Rows of"
)


def require_fields(steps: Mapping[str, Any], *fields: str) -> None:
    """Checks that steps have fields.

    Raises:
      ValueError: they lack one.
    """
    missing = [field for field in fields if field not in steps]
    if missing:
        raise ValueError(f"expected steps with the fields {missing}; these have only {sorted(steps)}")


def refuse_fields(steps: Mapping[str, Any], *fields: str) -> None:
    """Checks that steps lack the fields that a function adds, for it would overwrite them.

    Raises:
      ValueError: they have one.
    """
    present = [field for field in fields if field in steps]
    if present:
        raise ValueError(f"the steps already have fields {present}, which would be overwritten; rename or drop them")


def require_when_run(value: tf.Tensor, condition: tf.Tensor, *explanation: Any) -> tf.Tensor:
    """The value itself, but an error where the condition does not hold when the graph runs.

    Operations on the value wait for the check, so that its error comes first.

    Raises:
      tf.errors.InvalidArgumentError: the condition does not hold.
    """
    with tf.control_dependencies([tf.debugging.Assert(condition, explanation, summarize=99)]):
        return tf.identity(value)


def count_rows(tensor: tf.Tensor) -> tf.Tensor:
    """Counts the rows of a tensor, int64 of shape []."""
    return tf.size(tensor, tf.int64) if tensor.shape.rank == 1 else tf.shape(tensor, tf.int64)[0]


def count_steps(steps: Mapping[str, Any]) -> tf.Tensor:
    """Counts the rows of dense steps, int64 of shape [].

    Raises:
      tf.errors.InvalidArgumentError: fields differ in length.
    """
    by_path = leaves(steps)
    if all(leaf.shape.rank is not None and leaf.shape[0] is not None for leaf in by_path.values()):
        return count_rows(next(iter(by_path.values())))
    rows = tf.stack([count_rows(leaf) for leaf in by_path.values()])
    is_same = tf.reduce_all(rows == rows[0])
    return require_when_run(rows[0], is_same, f"{SAME_ROWS} {', '.join(by_path)}:", rows)
