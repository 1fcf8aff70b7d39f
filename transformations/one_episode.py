"""The checks that a function was given the steps of one episode, and what they say if it was not."""

from collections.abc import Mapping
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base.rlds_types import IS_LAST, STEPS
from rlds_kit.transformations.field_paths import leaves
from rlds_kit.transformations.fields import SAME_ROWS

_NO_TENSORS: Final = (tf.RaggedTensor, tf.SparseTensor, tf.data.Dataset)


def check_form(steps: Any) -> None:
    """Checks that something may be the steps of one episode: a dataset of dicts, or a dict of tensors.

    Raises:
      TypeError: it is something else, or a field is ragged, sparse or a dataset.
      ValueError: it is an episode or a dataset of episodes, or there are no fields.
    """
    is_dataset = isinstance(steps, tf.data.Dataset)
    fields = steps.element_spec if is_dataset else steps
    if not isinstance(fields, Mapping):
        raise TypeError(
            "expected the steps of one episode, a tf.data.Dataset of dicts or a dict of tensors [T, ...]; "
            f"got {'a dataset of ' if is_dataset else ''}{type(fields).__name__}"
        )
    if STEPS in fields:
        raise ValueError(
            f"expected the steps of one episode, got {'a dataset of episodes' if is_dataset else 'an episode'} with "
            f"fields {', '.join(fields)}; apply the function to the steps of each: "
            'episodes.map(lambda episode: {**episode, "steps": function(episode["steps"])})'
        )
    by_path = leaves(fields)
    if not by_path:
        raise ValueError("expected the steps of one episode, got steps without fields")
    for path, leaf in by_path.items():
        is_tensor = isinstance(leaf, tf.TensorSpec) if is_dataset else not isinstance(leaf, _NO_TENSORS)
        if not is_tensor:
            raise TypeError(
                f"expected fields that have one shape in all steps; {path!r} is of type {type(leaf).__name__}. Give it "
                "a shape, by padding for instance, or leave it out"
            )


def check_rows(steps: Mapping[str, Any]) -> None:
    """Checks that dense steps are those of one episode: rows in each field, and `is_last` on no row but the last.

    Raises:
      ValueError: a field is a scalar, `is_last` has more than one dimension, or fields are known to differ in length.
      tf.errors.InvalidArgumentError: these are the steps of several episodes.
    """
    by_path = leaves(steps)
    for path, leaf in by_path.items():
        if leaf.shape.rank == 0:
            raise ValueError(f"expected tensors [T, ...], one row for each step; the field {path!r} is a scalar")
    known = {path: leaf.shape[0] for path, leaf in by_path.items() if leaf.shape.rank}
    if len(set(known.values()) - {None}) > 1:
        raise ValueError(f"{SAME_ROWS} {', '.join(f'{path}: {count}' for path, count in known.items())}")
    if IS_LAST in steps:
        _check_is_last(steps[IS_LAST])


def _check_is_last(is_last: tf.Tensor) -> None:
    if is_last.shape.rank not in (1, None):
        raise ValueError(
            f"expected is_last of shape [T], the steps of one episode; got {is_last.shape}. Transform episodes before "
            "they are batched"
        )
    tf.debugging.Assert(
        ~tf.reduce_any(is_last[:-1]),
        ["expected the steps of one episode; is_last is set before the last step, so these are the steps of several"],
    )
