"""Means and standard deviations against NumPy."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import BATCH_AUTO_TUNE, mean_and_std, sar_fields_mask


def episodes_of(*episodes: dict[str, Any]) -> tf.data.Dataset:
    """A dataset of episodes from columns of steps."""
    nested = [tf.data.Dataset.from_tensors({"steps": tf.data.Dataset.from_tensor_slices(steps)}) for steps in episodes]
    result = nested[0]
    for episode in nested[1:]:
        result = result.concatenate(episode)
    return result


def masked(step: Any) -> Any:
    """A nested field, with the mask that is in the data."""
    return {"x": {"a": step["x"], "b": (step["x"][0],)}}, {"x": step["valid"]}


def expected(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sample deviation, NaN where they are undefined."""
    values = values.astype(np.float64)
    nan = np.full(values.shape[1:], math.nan)
    return values.mean(0) if len(values) else nan, values.std(0, ddof=1) if len(values) > 1 else nan


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    dtype=st.sampled_from(["uint8", "int16", "int64", "float16", "float32", "float64"]),
    offset=st.sampled_from([0, 100]),
    size=st.sampled_from([BATCH_AUTO_TUNE, 1, 3]),
    seed=st.integers(0, 99),
)
@settings(max_examples=15)
def test_moments(lengths: list[int], dtype: str, offset: int, size: int, seed: int) -> None:
    """They are NumPy's over the valid steps of all episodes, however many are worked on at once."""
    rng = np.random.default_rng(seed)
    columns = [
        {"x": (rng.integers(0, 100, (n, 2)) + offset).astype(dtype), "valid": rng.random(n) < 0.7} for n in lengths
    ]
    mean, std = mean_and_std(episodes_of(*columns), masked, size)
    values = np.concatenate([steps["x"][steps["valid"]] for steps in columns])
    wanted_mean, wanted_std = expected(values)
    for found, wanted in ((mean, wanted_mean), (std, wanted_std)):
        assert found["x"]["a"].dtype == found["x"]["b"][0].dtype == tf.float64
        np.testing.assert_allclose(found["x"]["a"], wanted, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found["x"]["b"][0], wanted[0], rtol=1e-12, atol=1e-12)


def reward(step: Any) -> Any:
    """The reward, valid on every step."""
    return {"reward": step["reward"]}, {"reward": True}


def test_small_integers_do_not_wrap() -> None:
    """The mean of a constant is that constant, and its deviation 0."""
    mean, std = mean_and_std(episodes_of({"reward": np.full(12, 200, np.uint8)}), reward)
    assert (float(mean["reward"]), float(std["reward"])) == (200, 0)


@pytest.mark.parametrize("size", [BATCH_AUTO_TUNE, 1, 7])
def test_small_deviation_from_a_large_mean(size: int) -> None:
    """A difference of two sums of squares would be wrong by many times the deviation."""
    values = np.random.default_rng(0).normal(1e9, 1e-2, 500)
    mean, std = mean_and_std(episodes_of({"reward": values}), reward, size)
    np.testing.assert_allclose(mean["reward"], values.mean(), rtol=1e-15)
    np.testing.assert_allclose(std["reward"], values.std(ddof=1), rtol=1e-4)


@pytest.mark.parametrize("garbage", [math.nan, math.inf, 1e300])
def test_what_is_not_valid_is_not_looked_at(garbage: float) -> None:
    """Undefined values may be anything."""
    steps = {"reward": np.array([1.0, 3.0, garbage]), "is_last": [False, False, True]}
    mean, std = mean_and_std(
        episodes_of(steps), lambda step: ({"reward": step["reward"]}, {"reward": not step["is_last"]})
    )
    assert (float(mean["reward"]), float(std["reward"])) == (2, math.sqrt(2))


@pytest.mark.parametrize(("valid", "mean_of"), [([False, False], math.nan), ([True, False], 5.0)])
def test_too_few_valid_steps_are_undefined(valid: list[bool], mean_of: float) -> None:
    """Without one there is no mean, with one no deviation: both are NaN, never 0."""
    steps = {"x": np.array([[5.0], [7.0]]), "valid": valid}
    mean, std = mean_and_std(episodes_of(steps), masked)
    np.testing.assert_equal(mean["x"]["a"].numpy(), [mean_of])
    assert np.isnan(std["x"]["a"].numpy()).all()


def test_data_is_read_once() -> None:
    passes = []

    def generate() -> Any:
        passes.append(1)
        yield from ({"reward": float(i)} for i in range(3))

    steps = tf.data.Dataset.from_generator(generate, output_signature={"reward": tf.TensorSpec([], tf.float64)})
    mean, std = mean_and_std(tf.data.Dataset.from_tensors({"steps": steps}), reward)
    assert (float(mean["reward"]), float(std["reward"]), len(passes)) == (1, 1, 1)


def test_in_a_function() -> None:
    steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 2.0, 3.0]})
    found = tf.function(lambda episodes: mean_and_std(episodes, reward))(tf.data.Dataset.from_tensors({"steps": steps}))
    assert [float(value["reward"]) for value in found] == [2, 1]


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("convert", [bool, tf.constant])
def test_sar_fields(is_last: bool, convert: Any) -> None:
    """Action and reward of the last step are invalid, whether the flag is Python's or a tensor."""
    step = {"observation": 1.0, "action": 2, "reward": 3.0, "discount": 4.0, "is_last": convert(is_last)}
    data, mask = sar_fields_mask(step)
    assert data == {"observation": 1.0, "action": 2, "reward": 3.0}
    assert {key: bool(value) for key, value in mask.items()} == {
        "observation": True,
        "action": not is_last,
        "reward": not is_last,
    }


def test_sar_fields_over_episodes() -> None:
    """The last step of each episode gives its observation only."""
    steps = {"observation": [[1.0], [3.0]], "action": [5, 99], "reward": [7.0, 99.0], "is_last": [False, True]}
    mean, _ = mean_and_std(episodes_of(steps, steps), sar_fields_mask)
    assert {key: np.ravel(value).tolist() for key, value in mean.items()} == {
        "observation": [2.0],
        "action": [5.0],
        "reward": [7.0],
    }


def test_missing_field_of_sar_is_named() -> None:
    """The error says what the step has, and what to do."""
    with pytest.raises(ValueError, match=r"has no \['action'\], only \['is_last', 'observation', 'reward'\]"):
        sar_fields_mask({"observation": 1, "reward": 2, "is_last": True})


def test_mask_for_other_fields_is_refused() -> None:
    """Fields and masks have the same keys."""
    with pytest.raises(ValueError, match=r"got fields \['reward'\] and a mask for \['rewards'\]"):
        mean_and_std(
            episodes_of({"reward": [1.0]}), lambda step: ({"reward": step["reward"]}, {"rewards": tf.constant(True)})
        )


def test_text_is_refused() -> None:
    """The error names the dtype and says what to do."""
    with pytest.raises(TypeError, match=r"expected numbers, got string\. Leave the field out"):
        mean_and_std(episodes_of({"reward": ["a"]}), reward)


def test_steps_alone_are_refused() -> None:
    """Wrong nesting is an error that says what an episode is."""
    with pytest.raises(TypeError, match="expected a dataset of episodes"):
        mean_and_std(tf.data.Dataset.range(3), reward)
