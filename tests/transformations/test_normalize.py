"""Normalization against NumPy, in every mode, its inverse, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base.running_statistics import EpisodeStatistics, Rows, gather_statistics
from rlds_kit.transformations.normalize import (
    denormalize,
    denormalize_from_bounds,
    normalize,
    normalize_to_bounds,
)
from tests.transformations.episodes import MODES, Steps, episode_steps, make_steps, run, taken, to_numpy, to_tensors


def statistics_of(**fields: Any) -> EpisodeStatistics:
    """Statistics of values, all of which are defined."""
    count = len(next(iter(fields.values()))) + 1
    padded = {path.replace("__", "/"): np.concatenate([rows, rows[:1]]) for path, rows in fields.items()}
    rows = Rows(np.zeros(count, int), padded, observation_valid=np.arange(count) < count - 1)
    return gather_statistics([rows])


@pytest.fixture(name="statistics")
def of_some_values() -> EpisodeStatistics:
    """Statistics of the fields of `make_steps`, of other values."""
    rng = np.random.default_rng(5)
    return statistics_of(
        observation=rng.normal(2, 3, (50, 3)), action=rng.normal(-1, 0.5, (50, 2)), reward=rng.normal(0, 2, 50)
    )


def expected(steps: Steps, statistics: EpisodeStatistics, fields: tuple[str, ...], floor: float = 1e-3) -> Steps:
    """The plain way."""
    result = dict(steps)
    for field in fields:
        one = statistics[field]
        values = (steps[field].astype(np.float64) - one.mean) / np.maximum(one.std, floor)
        everywhere = np.ones(len(values), bool)
        mask = steps.get("observation_valid", everywhere) if field == "observation" else taken(steps)
        result[field] = np.where(mask.reshape([-1, *[1] * (values.ndim - 1)]), values, 0).astype(np.float32)
    return result


@pytest.mark.parametrize("mode", MODES)
def test_against_numpy_in_every_mode(mode: str, statistics: EpisodeStatistics) -> None:
    """By default the floating-point fields of observation and action; nothing else changes."""
    steps = make_steps(7, step_index=[0, 1, 2, 5, 6, 7, 9], final_observation=False)
    actual = run(lambda given: normalize(given, statistics), steps, mode)
    wanted = expected(steps, statistics, ("observation", "action"))
    tf.nest.assert_same_structure(actual, wanted)
    tf.nest.map_structure(np.testing.assert_array_equal, actual, wanted)
    assert actual["observation"].dtype == np.float32


@settings(max_examples=20)
@given(episode_steps(min_length=0, optional=[]), st.floats(0.01, 2))
def test_undefined_rows_become_zeros_whatever_they_hold(steps: Steps, floor: float) -> None:
    """Any field can be named; values in undefined rows become zeros."""
    rng = np.random.default_rng(0)
    statistics = statistics_of(action=rng.normal(size=(9, 2)), reward=rng.normal(size=9), discount=rng.normal(size=9))
    fields = ("action", "reward", "discount")
    actual = to_numpy(normalize(to_tensors(steps), statistics, fields, floor))
    for field in fields:
        np.testing.assert_array_equal(actual[field], expected(steps, statistics, fields, floor)[field])


@settings(max_examples=20)
@given(episode_steps(), st.sampled_from([(0.0, 1.0), (0.1, 0.8)]))
def test_denormalizing_gives_back_what_was(steps: Steps, quantiles: tuple[float, float]) -> None:
    """Up to float32, where a value is defined; what was clipped comes back as the bound."""
    rng = np.random.default_rng(0)
    statistics = statistics_of(action=rng.normal(size=(9, 2)))
    tensors = to_tensors({name: value for name, value in steps.items() if name != "observation"})
    mask = taken(steps)
    standard = denormalize(normalize(tensors, statistics), statistics)
    np.testing.assert_allclose(standard["action"][mask], steps["action"][mask], rtol=1e-5, atol=1e-5)
    bounded = normalize_to_bounds(tensors, statistics, quantiles=quantiles)
    assert np.abs(bounded["action"]).max() <= 1
    back = denormalize_from_bounds(bounded, statistics, quantiles=quantiles)
    clipped = np.clip(steps["action"], *statistics["action"].quantile(quantiles))
    np.testing.assert_allclose(back["action"][mask], clipped[mask], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_bounds_become_minus_one_and_one(mode: str) -> None:
    """In every mode; an element that does not vary becomes 0, and what is beyond is clipped."""
    statistics = statistics_of(observation=np.array([[0.0, 5.0], [4.0, 5.0], [1.0, 5.0]]))
    steps = make_steps(4) | {"observation": np.array([[0, 5], [4, 5], [3, 5], [9, 7]], np.float32)}
    actual = run(lambda given: normalize_to_bounds(given, statistics, ["observation"]), steps, mode)
    np.testing.assert_array_equal(actual["observation"], np.array([[-1, 0], [1, 0], [0.5, 0], [1, 1]], np.float32))


def test_images_have_bounds_but_no_quantiles() -> None:
    """Minimum and maximum are known of every field."""
    frames = np.random.default_rng(0).integers(0, 256, (5, 20, 20), np.uint8)
    statistics = statistics_of(observation=frames)
    steps = {"observation": tf.constant(frames), "is_last": tf.range(5) == 4}
    scaled = normalize_to_bounds(steps, statistics, ["observation"])["observation"].numpy()
    assert (scaled.min(), scaled.max()) == (-1, 1)
    with pytest.raises(ValueError, match="quantile_elements"):
        normalize_to_bounds(steps, statistics, ["observation"], quantiles=(0.01, 0.99))


def test_nested_fields_have_their_own_statistics() -> None:
    """By path; fields without statistics are left as they are."""
    steps = {
        "observation": {"arm": tf.constant([[1.0], [3.0]]), "camera": tf.zeros([2, 4], tf.uint8)},
        "is_last": tf.constant([False, True]),
    }
    statistics = statistics_of(observation__arm=np.array([[1.0], [3.0]]))
    result = to_numpy(normalize(steps, statistics))
    assert result["observation"]["arm"].tolist() == [[-1], [1]]
    assert result["observation"]["camera"].dtype == np.uint8


def test_hardly_varying_elements_are_not_blown_up() -> None:
    """The floor is the smallest divisor."""
    steps = {"observation": tf.constant([5.0, 5.5]), "is_last": tf.constant([False, True])}
    statistics = statistics_of(observation=np.array([5.0, 5.0]))
    assert normalize(steps, statistics)["observation"].numpy().tolist() == [0, 500]
    assert normalize(steps, statistics, floor=0.5)["observation"].numpy().tolist() == [0, 1]


def test_far_from_zero_nothing_is_lost() -> None:
    """Differences are taken in float64, before anything is rounded to float32."""
    times = np.array([1e9, 1e9 + 1, 1e9 + 2])
    steps = {"observation": tf.constant(times), "is_last": tf.constant([False, False, True])}
    result = normalize(steps, statistics_of(observation=times))["observation"]
    np.testing.assert_allclose(result, [-(1.5**0.5), 0, 1.5**0.5], rtol=1e-6)


STEPS = {"observation": tf.zeros([2, 3]), "action": tf.zeros([2]), "is_last": tf.constant([False, True])}


def test_fields_without_statistics_are_refused() -> None:
    with pytest.raises(KeyError, match="no statistics of 'action', only of observation"):
        normalize(STEPS, statistics_of(observation=np.zeros((2, 3))), ["action"])


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="no field 'camera'"):
        normalize(STEPS, statistics_of(observation=np.zeros((2, 3))), ["camera"])


def test_nothing_to_normalize_is_refused() -> None:
    """Rather than to return the steps as they were."""
    with pytest.raises(ValueError, match="name the fields to normalize"):
        normalize(STEPS, statistics_of(info=np.zeros(2)))


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"observation: expected values of shape \(1,\)"):
        normalize(STEPS, statistics_of(observation=np.zeros((2, 1))))


def test_text_is_refused() -> None:
    with pytest.raises(TypeError, match="observation: expected numbers or bools, got string"):
        normalize(
            STEPS | {"observation": tf.constant(["a", "b"])}, statistics_of(observation=np.zeros(2)), ["observation"]
        )


@pytest.mark.parametrize("values", [[np.nan, np.nan], [np.inf, 0.0]])
def test_statistics_that_are_not_finite_are_refused(values: list[float]) -> None:
    """They would turn every value into NaN."""
    steps = STEPS | {"observation": tf.zeros([2])}
    with pytest.raises(ValueError, match="observation: the statistics are not finite"):
        normalize(steps, statistics_of(observation=np.array(values)))


def test_actions_without_is_last_are_refused() -> None:
    """They may be a policy's, and have no last row that is undefined."""
    with pytest.raises(ValueError, match="is_last"):
        denormalize({"action": tf.zeros([2])}, statistics_of(action=np.zeros(2)))


@pytest.mark.parametrize("floor", [0.0, -1.0, float("nan")])
def test_floors_that_are_none_are_refused(floor: float) -> None:
    """Division by zero is what a floor is against."""
    with pytest.raises(ValueError, match="expected a floor above 0"):
        normalize(STEPS, statistics_of(observation=np.zeros((2, 3))), floor=floor)


@pytest.mark.parametrize("quantiles", [(1.0, 0.0), (0.5, 0.5), (-0.1, 1.0), (0.0, 1.1)])
def test_quantiles_that_do_not_ascend_are_refused(quantiles: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="two quantiles that ascend"):
        normalize_to_bounds(STEPS, statistics_of(observation=np.zeros((2, 3))), quantiles=quantiles)
