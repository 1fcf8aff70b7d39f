"""Sums over steps against NumPy."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rlds_kit.transformations import BATCH_AUTO_TUNE, sum_dataset, sum_nested_steps

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@given(
    values=st.sampled_from(INTEGERS).flatmap(
        lambda dtype: arrays.arrays(dtype, st.tuples(st.integers(0, 9), st.integers(1, 2)))
    ),
    size=st.sampled_from([BATCH_AUTO_TUNE, 1, 2, 4]),
)
@settings(max_examples=12)
def test_integers_do_not_wrap(values: np.ndarray, size: int) -> None:
    """They are added as int64, for any batch size, with or without steps."""
    total = sum_dataset(tf.data.Dataset.from_tensor_slices({"x": values}), lambda step: {"sum": (step["x"],)}, size)
    assert total["sum"][0].dtype == tf.int64
    np.testing.assert_array_equal(total["sum"][0], values.astype(np.int64).sum(0))


def test_bytes_sum_beyond_a_byte() -> None:
    """Five times 200 is 1000."""
    steps = tf.data.Dataset.from_tensor_slices(np.full(5, 200, np.uint8))
    assert sum_dataset(steps, lambda step: step) == 1000


def test_booleans_count() -> None:
    """The sum of a flag is how often it is set."""
    steps = tf.data.Dataset.from_tensor_slices({"is_first": [True, False, True]})
    total = sum_dataset(steps, lambda step: step["is_first"])
    assert (int(total), total.dtype) == (2, tf.int64)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        *((tf.float16, tf.float32), (tf.bfloat16, tf.float32), (tf.float32, tf.float32), (tf.float64, tf.float64)),
        *((tf.complex64, tf.complex64), (tf.complex128, tf.complex128), (tf.uint64, tf.uint64)),
    ],
)
@pytest.mark.parametrize("size", [BATCH_AUTO_TUNE, 1])
def test_dtype_of_the_sum(dtype: tf.DType, result: tf.DType, size: int) -> None:
    """Floats keep their dtype, but the small ones become float32, in which 2 x 40,000 is no infinity."""
    steps = tf.data.Dataset.from_tensor_slices(tf.cast(tf.constant([40_000.0, 40_000.0]), dtype))
    total = sum_dataset(steps, lambda step: step, size)
    assert total.dtype == result
    assert complex(total.numpy()) == 2 * complex(tf.cast(tf.cast(40_000.0, dtype), tf.complex128).numpy())


def test_long_sums_of_float32_lose_nothing() -> None:
    """A thousand ones beside 2^24 would vanish one by one in float32."""
    rewards = np.concatenate([[2.0**24], np.ones(1000)]).astype(np.float32)
    for size in (BATCH_AUTO_TUNE, 1, 7):
        total = sum_dataset(tf.data.Dataset.from_tensor_slices(rewards), lambda step: step, size)
        assert float(total) == 2.0**24 + 1000


def test_last_reward_is_masked_by_the_function() -> None:
    """The sum includes every given value; the undefined reward is left out as the documentation shows."""
    steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0, 99.0], "is_last": [False, False, True]})
    assert sum_dataset(steps, lambda step: step["reward"]) == 102
    assert sum_dataset(steps, lambda step: tf.where(step["is_last"], 0.0, step["reward"])) == 3


def test_python_values_are_summed() -> None:
    """A constant 1 counts the steps."""
    assert sum_dataset(tf.data.Dataset.range(7), lambda _: 1) == 7


@pytest.mark.parametrize("size", [BATCH_AUTO_TUNE, 1, 2])
def test_function_that_cannot_be_vectorized(size: int) -> None:
    """Text is parsed step by step."""
    steps = tf.data.Dataset.from_tensor_slices(["1", "20", "300"])
    assert sum_dataset(steps, lambda step: tf.strings.to_number(step, tf.int32), size) == 321


def test_sum_of_no_steps_is_zero() -> None:
    """In the shape of the data."""
    steps = tf.data.Dataset.from_tensor_slices({"x": np.ones((3, 2), np.uint8)}).take(0)
    assert sum_dataset(steps, lambda step: step["x"]).numpy().tolist() == [0, 0]


def episodes() -> tf.data.Dataset:
    """Episodes of 0 to 3 steps."""
    return tf.data.Dataset.range(4).map(lambda n: {"steps": tf.data.Dataset.range(n).map(lambda i: {"reward": i + 1})})


def test_sum_over_all_episodes() -> None:
    """And of each, inside `Dataset.map`."""

    def reward(step: Any) -> Any:
        return step["reward"]

    assert sum_nested_steps(episodes(), reward) == 1 + (1 + 2) + (1 + 2 + 3)
    each = episodes().map(lambda episode: sum_dataset(episode["steps"], reward))
    assert [int(total) for total in each] == [0, 1, 3, 6]


def test_text_is_refused() -> None:
    """The error names the dtype and says what to do."""
    with pytest.raises(TypeError, match="expected numbers or booleans, got string"):
        sum_dataset(tf.data.Dataset.from_tensor_slices(["a"]), lambda step: step)


def test_steps_alone_are_refused() -> None:
    """Wrong nesting is an error that says what an episode is."""
    with pytest.raises(TypeError, match="expected a dataset of episodes"):
        sum_nested_steps(tf.data.Dataset.range(3), lambda step: step)
