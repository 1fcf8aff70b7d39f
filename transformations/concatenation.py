"""Concatenates datasets of steps, also if their fields differ."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types
from rlds_kit.transformations.from_spec import zeros_from_spec

_WINDOW = 256  # steps that are passed on at once; they are not copied


def concatenate(steps1: tf.data.Dataset, steps2: tf.data.Dataset) -> tf.data.Dataset:
    """Concatenates two datasets; fields that one of them lacks, at any depth, are added to it as zeros.

    The zeros of a field have its shape, with size 0 for dimensions of unknown size. So
    `padded_batch` always works; `batch` needs a known shape, which `tf.ensure_shape` gives.

    Args:
      steps1: dataset of dicts, nested or not, or of anything else if both have the same structure.
      steps2: the same.

    Raises:
      ValueError: a field is a dict in one dataset and not in the other, or has another dtype or number of dimensions.

    >>> first = tf.data.Dataset.from_tensors({"info": {"lives": 3}})
    >>> second = tf.data.Dataset.from_tensors({"info": {"score": 7.0}})
    >>> [int(step["info"]["lives"]) for step in concatenate(first, second)]
    [3, 0]
    """
    spec1, spec2 = steps1.element_spec, steps2.element_spec
    _check(spec1, spec2, "step")
    return _completed(steps1, spec1, spec2).concatenate(_completed(steps2, spec2, spec1))


def concat_if_terminal(
    steps: tf.data.Dataset, make_extra_steps: Callable[[rlds_types.Step], tf.data.Dataset]
) -> tf.data.Dataset:
    """Appends steps to an episode whose final step is terminal, such as absorbing states; leaves another as it is.

    The steps are read once, and only when the result is. An episode without steps stays without.

    Args:
      steps: dataset of steps, which have the field `is_terminal`.
      make_extra_steps: from the final step to a dataset of the steps to append. Fields that they lack, and fields that
        only they have, are zeros elsewhere, as in `concatenate`.

    Raises:
      ValueError: the steps have no field `is_terminal`.

    >>> steps = tf.data.Dataset.from_tensor_slices({"observation": [1, 2], "is_terminal": [False, True]})
    >>> extended = concat_if_terminal(steps, lambda final: tf.data.Dataset.from_tensors(final))
    >>> [int(step["observation"]) for step in extended]
    [1, 2, 2]
    """
    spec = steps.element_spec
    if not isinstance(spec, dict) or rlds_types.IS_TERMINAL not in spec:
        raise ValueError(f"concat_if_terminal: expected steps with a field {rlds_types.IS_TERMINAL!r}, got {spec}")

    # A window is a dataset of the steps in it. An empty one, of which `window` makes none, marks the end; its
    # cardinality is 0, or unknown (-2) like that of the steps.
    windows = steps.window(_WINDOW).map(tf.data.Dataset.zip)
    empty = tf.data.Dataset.from_tensors(steps.take(0))
    pairs = empty.concatenate(windows).concatenate(empty).window(2, shift=1, drop_remainder=True)

    def extend(pair: tf.data.Dataset) -> tf.data.Dataset:
        before, window = pair.take(1).get_single_element(), pair.skip(1).get_single_element()
        final = before.skip(before.cardinality() - 1).take(tf.cast(window.cardinality() <= 0, tf.int64))
        return concatenate(window, final.filter(_is_terminal).flat_map(make_extra_steps))

    return pairs.flat_map(extend)


def _is_terminal(step: rlds_types.Step) -> tf.Tensor:
    return step[rlds_types.IS_TERMINAL]


def _completed(steps: tf.data.Dataset, spec: Any, other: Any) -> tf.data.Dataset:
    """The steps, with zeros for fields that only the other dataset has."""
    if not _lacks(spec, other):
        return steps
    return steps.map(lambda step: _filled(step, other))


def _lacks(spec: Any, other: Any) -> bool:
    if isinstance(spec, dict):
        return any(key not in spec or _lacks(spec[key], inner) for key, inner in other.items())
    return isinstance(spec, tuple) and any(map(_lacks, spec, other))


def _filled(step: Any, other: Any) -> Any:
    if isinstance(step, dict):
        missing = {key: _nothing(inner) for key, inner in other.items() if key not in step}
        return {key: _filled(value, other[key]) if key in other else value for key, value in step.items()} | missing
    if isinstance(step, tuple):
        filled = map(_filled, step, other)
        return type(step)(*filled) if hasattr(step, "_fields") else tuple(filled)
    return step


def _nothing(spec: Any) -> Any:
    def known(leaf: Any) -> Any:
        if not isinstance(leaf, tf.TensorSpec) or leaf.shape.rank is None:
            return leaf
        return tf.TensorSpec([0 if size is None else size for size in leaf.shape], leaf.dtype)

    return zeros_from_spec(tf.nest.map_structure(known, spec))


def _check(spec1: Any, spec2: Any, place: str) -> None:
    if isinstance(spec1, dict) and isinstance(spec2, dict):
        for key in spec1.keys() & spec2.keys():
            _check(spec1[key], spec2[key], f"{place}[{key!r}]")
    elif isinstance(spec1, tuple) and isinstance(spec2, tuple) and len(spec1) == len(spec2):
        for index, pair in enumerate(zip(spec1, spec2, strict=True)):
            _check(*pair, f"{place}[{index}]")
    elif not _agree(spec1, spec2):
        raise ValueError(f"concatenate: {place} is {spec1} in the first dataset and {spec2} in the second")


def _agree(spec1: Any, spec2: Any) -> bool:
    if isinstance(spec1, tf.TensorSpec) and isinstance(spec2, tf.TensorSpec):
        ranks = {spec1.shape.rank, spec2.shape.rank}
        return spec1.dtype == spec2.dtype and (None in ranks or len(ranks) == 1)
    return type(spec1) is type(spec2) and not isinstance(spec1, dict | tuple)
