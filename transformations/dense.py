"""The two forms of an episode's steps: a dataset of single steps, and one dict of tensors `[T, ...]`."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeAlias

import tensorflow as tf

from rlds_kit.transformations.one_episode import check_form, check_rows

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
    """The steps of one episode as tensors `[T, ...]`, whichever of the two forms they have.

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
    """Makes a function of dense steps take, and then return, a dataset of steps too."""

    def either(steps: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        result = function(as_one_episode(steps), *args, **kwargs)
        return from_dense(result) if isinstance(steps, tf.data.Dataset) else result

    return functools.update_wrapper(either, function)


def _no_rows(spec: tf.TensorSpec) -> tf.Tensor:
    shape = [1 if size is None else size for size in spec.shape.as_list()]
    return tf.zeros([0, *shape], spec.dtype)
