"""The two forms of an episode's steps: a dataset of single steps, and one dict of tensors `[T, ...]`."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias

import tensorflow as tf

from rlds_kit.base.rlds_types import IS_LAST, STEPS
from rlds_kit.transformations.fields import SAME_ROWS, leaves

Dense: TypeAlias = dict[str, Any]
"""The steps of one episode as a dict, nested or not, of tensors `[T, ...]`."""

_P = ParamSpec("_P")
_ALL = tf.int64.max


def to_dense(steps: Any) -> Dense:
    """Batches all steps of an episode: each tensor of the result has a leading dimension of time.

    Works eagerly, in a `tf.function` and in `Dataset.map`, also for an episode without steps. All steps are in memory.

    Args:
      steps: a dataset of steps; or dense steps, which are returned as they are.

    Raises:
      tf.errors.InvalidArgumentError: a field's shape changes from step to step.

    >>> to_dense(tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]}))["reward"].numpy()
    array([1., 2.], dtype=float32)
    """
    if not isinstance(steps, tf.data.Dataset):
        return dict(steps)
    none = tf.nest.map_structure(_no_rows, steps.element_spec)
    whole = steps.batch(_ALL).concatenate(tf.data.Dataset.from_tensors(none)).take(1)
    dense: Dense = whole.get_single_element()
    return dense


def from_dense(steps: Dense) -> tf.data.Dataset:
    """The steps one by one: the inverse of `to_dense`.

    >>> len(from_dense({"reward": tf.constant([1.0, 2.0])}))
    2
    """
    return tf.data.Dataset.from_tensor_slices(steps)


def as_one_episode(steps: Any) -> Dense:
    """Converts the steps of one episode, in either form, to tensors `[T, ...]`.

    Raises:
      TypeError: they have neither form.
      ValueError: they are not the steps of one episode.
      tf.errors.InvalidArgumentError: the same, if it is found only when the graph runs.
    """
    check_form(steps)
    dense: Dense = tf.nest.map_structure(tf.convert_to_tensor, to_dense(steps))
    check_rows(dense)
    return dense


def on_either_form(
    function: Callable[Concatenate[Dense, _P], Dense],
) -> Callable[Concatenate[Any, _P], Any]:
    """Decorates a function of dense steps so that it also accepts a dataset of steps, and then returns one."""

    def either(steps: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        result = function(as_one_episode(steps), *args, **kwargs)
        return from_dense(result) if isinstance(steps, tf.data.Dataset) else result

    return functools.update_wrapper(either, function)


def _no_rows(spec: tf.TensorSpec) -> tf.Tensor:
    shape = [1 if size is None else size for size in spec.shape.as_list()]
    return tf.zeros([0, *shape], spec.dtype)


_NO_TENSORS: Final = (tf.RaggedTensor, tf.SparseTensor, tf.data.Dataset)


def check_form(steps: Any) -> None:
    """Checks that a value can be the steps of one episode: a dataset of dicts, or a dict of tensors.

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
