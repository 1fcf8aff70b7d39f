"""Values made from specs."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import step_spec, uniform_from_spec, zero_dataset_like, zeros_from_spec

DTYPES = [
    *(tf.bool, tf.string, tf.uint8, tf.int8, tf.uint16, tf.int32, tf.uint64, tf.int64),
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64),
]
specs = st.recursive(
    st.builds(tf.TensorSpec, st.lists(st.integers(0, 3), max_size=3), st.sampled_from(DTYPES)),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1) | st.tuples(inner, inner),
    max_leaves=4,
)


@given(specs)
@settings(max_examples=50)
def test_zeros_have_the_spec(spec: Any) -> None:
    """Structure, shapes and dtypes are those of the spec, and the values zeros of their kind."""
    zeros = zeros_from_spec(spec)
    tf.nest.assert_same_structure(zeros, spec)
    for zero, leaf in zip(tf.nest.flatten(zeros), tf.nest.flatten(spec), strict=True):
        assert leaf.is_compatible_with(zero)
        nothing = b"" if leaf.dtype == tf.string else 0
        assert set(np.ravel(zero.numpy()).tolist()) <= {nothing}


def test_unknown_dimensions_become_one() -> None:
    """The spec of a batch gives a batch of one; an unknown rank gives a scalar."""
    assert zeros_from_spec(tf.TensorSpec([None, 3, None], tf.int32)).shape == [1, 3, 1]
    assert zeros_from_spec(tf.TensorSpec(None, tf.int32)).shape == []


@pytest.mark.parametrize(
    "value",
    [
        tf.ragged.constant([[1], [2, 3]]),
        tf.ragged.constant([[[1], [2, 3]], []]),
        tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1),
        tf.ragged.constant([["a"]], row_splits_dtype=tf.int32),
    ],
    ids=["ragged", "ragged twice", "with a dense dimension", "of text"],
)
def test_zeros_of_ragged_tensors(value: tf.RaggedTensor) -> None:
    """They have no values, and the spec of the original."""
    spec = tf.RaggedTensorSpec.from_value(value)
    zeros = zeros_from_spec(spec)
    assert spec.is_compatible_with(zeros)
    assert zeros.flat_values.shape[0] == 0


def test_zeros_of_a_dataset_are_refused() -> None:
    """There is no such thing; the error says what came."""
    with pytest.raises(TypeError, match="expected a tensor's spec, got DatasetSpec"):
        zeros_from_spec({"steps": tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))})


def test_zero_dataset_has_one_element_of_the_same_spec() -> None:
    """A dataset and its spec serve alike."""
    steps = tf.data.Dataset.from_tensor_slices({"observation": [[1, 2], [3, 4]], "name": ["a", "b"]})
    for like in (steps, tf.data.DatasetSpec.from_value(steps)):
        zeros = zero_dataset_like(like)
        assert zeros.element_spec == steps.element_spec
        assert [step["name"].numpy() for step in zeros] == [b""]


@given(
    st.sampled_from([tf.uint8, tf.int8, tf.int16, tf.uint32, tf.int32, tf.int64, tf.float16, tf.float32, tf.float64])
)
@settings(max_examples=9)
def test_random_numbers_are_in_the_range(dtype: tf.DType) -> None:
    """Of every dtype there are all values of the range, and no others."""
    values = uniform_from_spec({"x": tf.TensorSpec([500], dtype)}, 2, 5, seed=1)["x"]
    assert values.dtype == dtype
    floor = np.floor(values.numpy().astype(np.float64))
    assert set(floor) <= {2.0, 3.0, 4.0, 5.0 if dtype == tf.float16 else 4.0}
    assert set(floor) >= {2.0, 3.0, 4.0}


def test_random_booleans_are_of_both_kinds() -> None:
    values = uniform_from_spec(tf.TensorSpec([1000], tf.bool), 0, 1, seed=1).numpy()
    assert values.dtype == bool
    assert 400 < values.sum() < 600


def test_random_numbers_repeat_with_the_seeds() -> None:
    """The same seeds give the same numbers."""
    spec = {"a": tf.TensorSpec([5], tf.float32), "b": tf.TensorSpec([None], tf.uint8)}
    found = []
    for _ in range(2):
        tf.random.set_seed(3)
        found.append(tf.nest.map_structure(lambda value: value.numpy(), uniform_from_spec(spec, 0, 9, seed=1)))
    np.testing.assert_equal(found[0], found[1])
    assert found[0]["b"].shape == (1,)


@pytest.mark.parametrize(("low", "high"), [(-1, 10), (0, 257), (0, None)])
def test_range_beyond_the_dtype_is_refused(low: int, high: int | None) -> None:
    with pytest.raises(ValueError, match="is not within the values of uint8, 0 to 255"):
        uniform_from_spec(tf.TensorSpec([3], tf.uint8), low, high, seed=1)


def test_random_text_is_refused() -> None:
    """There is no uniform distribution of it."""
    with pytest.raises(TypeError, match="expected a spec of numbers or booleans"):
        uniform_from_spec(tf.TensorSpec([3], tf.string), 0, 1, seed=1)


def test_step_spec() -> None:
    """It is that of the steps, whatever else the episodes have."""
    steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0]})
    assert step_spec(tf.data.Dataset.from_tensors({"steps": steps, "id": 1})) == steps.element_spec


@pytest.mark.parametrize("element", [1, {"id": 1}, {"steps": {"reward": [1.0]}}], ids=["number", "no steps", "dense"])
def test_step_spec_of_something_else_is_refused(element: Any) -> None:
    """The error says what an episode is."""
    with pytest.raises(TypeError, match="expected a dataset of episodes, each a dict with a dataset 'steps'"):
        step_spec(tf.data.Dataset.from_tensors(element))
