"""Values and datasets made from a spec: of zeros, or of random numbers."""

from typing import Any

import tensorflow as tf

from rlds_kit.base import rlds_types


def step_spec(episodes_dataset: tf.data.Dataset) -> dict[str, Any]:
    """The spec of the steps in a dataset of episodes.

    Args:
      episodes_dataset: dataset of episodes, each a dict with the dataset `steps`.

    Returns:
      `element_spec` of the steps.

    Raises:
      TypeError: the elements are no episodes.

    >>> steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0]})
    >>> step_spec(tf.data.Dataset.from_tensors({"steps": steps}))
    {'reward': TensorSpec(shape=(), dtype=tf.float32, name=None)}
    """
    episode = episodes_dataset.element_spec
    steps = episode.get(rlds_types.STEPS) if isinstance(episode, dict) else None
    if not isinstance(steps, tf.data.DatasetSpec):
        raise TypeError(
            f"expected a dataset of episodes, each a dict with a dataset {rlds_types.STEPS!r}; got elements {episode}"
        )
    spec: dict[str, Any] = steps.element_spec
    return spec


def zeros_from_spec(spec: Any) -> Any:
    """A nest of tensors of zeros: False for booleans, empty text for strings.

    Args:
      spec: nest of `tf.TensorSpec` and `tf.RaggedTensorSpec`. A dimension of unknown size becomes 1, so the spec of a
        batch gives a batch of one. Ragged dimensions become 0.

    Raises:
      TypeError: a leaf is of another type, such as a dataset.

    >>> zeros_from_spec({"reward": tf.TensorSpec([None], tf.float32)})["reward"].numpy()
    array([0.], dtype=float32)
    """
    return tf.nest.map_structure(_zeros, spec)


def zero_dataset_like(ds: Any) -> tf.data.Dataset:
    """Makes a dataset of one element: zeros in the structure of another dataset's elements.

    Args:
      ds: a `tf.data.Dataset`, or its `tf.data.DatasetSpec`.

    >>> len(zero_dataset_like(tf.data.Dataset.range(7)))
    1
    """
    return tf.data.Dataset.from_tensors(zeros_from_spec(ds.element_spec))


def uniform_from_spec(spec: Any, minval: Any, maxval: Any, seed: int | None) -> Any:
    """A nest of random tensors, uniform in `[minval, maxval)`. Booleans are true or false with equal chance.

    Args:
      spec: nest of `tf.TensorSpec` of numbers or booleans. A dimension of unknown size becomes 1.
      minval: lowest value.
      maxval: end of the range, not included; None is 1 if all leaves are floats or booleans.
      seed: as in `tf.random.uniform`.

    Raises:
      TypeError: a leaf is of a dtype that has no uniform distribution.
      ValueError: an integer leaf's dtype cannot store the range.

    >>> 0 <= uniform_from_spec(tf.TensorSpec([2], tf.uint8), 0, 10, seed=1).numpy().max() < 10
    np.True_
    """
    return tf.nest.map_structure(lambda leaf: _uniform(leaf, minval, maxval, seed), spec)


def _zeros(spec: Any) -> Any:
    if isinstance(spec, tf.RaggedTensorSpec):
        return _ragged_zeros(spec)
    if not isinstance(spec, tf.TensorSpec) or spec.dtype in (tf.variant, tf.resource):
        raise TypeError(f"expected a tensor's spec, got {spec}: there are no zeros of its kind. Leave the field out.")
    return tf.zeros(_shape(spec), spec.dtype)


def _ragged_zeros(spec: Any) -> tf.RaggedTensor:
    inner = [0, *(spec.shape[spec.ragged_rank + 1 :].as_list() if spec.shape.rank else ())]
    zeros: Any = tf.zeros([1 if size is None else size for size in inner], spec.dtype)
    for axis in range(spec.ragged_rank - 1, -1, -1):
        rows = 0 if axis else (1 if spec.shape[0] is None else spec.shape[0])
        zeros = tf.RaggedTensor.from_row_splits(zeros, tf.zeros([rows + 1], spec.row_splits_dtype))
    return zeros


def _shape(spec: tf.TensorSpec) -> list[int]:
    return [] if spec.shape.rank is None else [1 if size is None else size for size in spec.shape.as_list()]


def _uniform(spec: tf.TensorSpec, minval: Any, maxval: Any, seed: int | None) -> tf.Tensor:
    dtype = spec.dtype
    if dtype == tf.bool:
        return tf.random.uniform(_shape(spec), 0, 2, tf.int32, seed) == 1
    if dtype.is_floating or dtype in (tf.int32, tf.int64):
        return tf.random.uniform(_shape(spec), minval, maxval, dtype, seed)
    if not dtype.is_integer:
        raise TypeError(f"expected a spec of numbers or booleans, got {spec}")
    if minval < dtype.min or maxval is None or maxval - 1 > dtype.max:
        raise ValueError(f"[{minval}, {maxval}) is not within the values of {dtype.name}, {dtype.min} to {dtype.max}")
    return tf.cast(tf.random.uniform(_shape(spec), minval, maxval, tf.int64, seed), dtype)
