"""Statistics of datasets of episodes against NumPy, in both forms, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base.running_statistics import EpisodeStatistics
from rlds_kit.transformations.episode_statistics import episode_statistics
from tests.transformations.episodes import Steps, make_steps, step_indices, taken, to_dense_episodes

COUNTED = {"observation/camera", "action", "reward", "discount", "tag:placed", "info/lives"}


@st.composite
def several_steps(draw: st.DrawFn) -> list[Steps]:
    """Steps of a few episodes with the same fields, with gaps and garbage where nothing is defined."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    return [
        make_steps(
            length,
            seed=draw(st.integers(0, 2**32 - 1)),
            observation="nested",
            step_index=draw(step_indices(length)),
            final_observation=False,
            undefined="garbage",
        )
        for length in lengths
    ]


def to_nested_episodes(several: list[Steps]) -> tf.data.Dataset:
    """Episodes whose steps are datasets."""
    return to_episodes(several).map(
        lambda episode: {**episode, "steps": tf.data.Dataset.from_tensor_slices(episode["steps"])}
    )


def to_episodes(several: list[Steps]) -> tf.data.Dataset:
    """Episodes whose steps are dense."""
    return to_dense_episodes(several).map(lambda steps: {"steps": steps, "episode_id": 7})


def flat(steps: Steps) -> dict[str, np.ndarray[Any, Any]]:
    """The counted fields by path."""
    nested = {"observation/camera": steps["observation"]["camera"], "info/lives": steps["info"]["lives"]}
    return nested | {path: steps[path] for path in COUNTED if path in steps}


def defined(steps: Steps, path: str) -> np.ndarray[Any, Any]:
    """Which rows of a field count."""
    if path in {"action", "reward", "discount"}:
        return taken(steps)
    return steps["observation_valid"] if path.startswith("observation") else np.ones(len(steps["is_last"]), bool)


def check(statistics: EpisodeStatistics, several: list[Steps]) -> None:
    """Against the plain way."""
    assert set(statistics.fields) == COUNTED
    for path, one in statistics.fields.items():
        rows = np.concatenate([flat(steps)[path][defined(steps, path)] for steps in several]).astype(np.float64)
        assert (one.count == len(rows)).all()
        if len(rows):
            np.testing.assert_allclose(one.mean, rows.mean(0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(one.std, rows.std(0), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal([one.min, one.max], [rows.min(0), rows.max(0)])
            tolerance = 1e-12 + 1.01 * float(one.relative_error.max())
            np.testing.assert_allclose(one.quantile(0.3), np.quantile(rows, 0.3, axis=0), rtol=tolerance)
    returns = [steps["reward"][taken(steps)].astype(np.float64).sum() for steps in several]
    np.testing.assert_allclose(statistics.returns["reward"].mean, np.mean(returns), rtol=1e-12, atol=1e-12)
    assert statistics.length.max == max(len(steps["is_last"]) for steps in several)
    assert statistics.episodes == len(several)


@settings(max_examples=8)
@given(several_steps())
def test_against_numpy_in_both_forms(several: list[Steps]) -> None:
    """Each element of each field, only what is defined; the form of the steps makes no difference at all."""
    dense, nested = (episode_statistics(make(several)) for make in (to_episodes, to_nested_episodes))
    check(dense, several)
    assert nested.to_json() == dense.to_json()


def test_more_steps_than_fit_in_a_part() -> None:
    """Episodes are cut into parts, and put together again."""
    several = [make_steps(length, observation="nested", final_observation=False) for length in (70_000, 3, 66_000)]
    check(episode_statistics(to_episodes(several)), several)


def test_merging_gives_the_statistics_of_the_union() -> None:
    several = [make_steps(length, seed=length, observation="nested", final_observation=False) for length in (4, 9, 2)]
    parts = [episode_statistics(to_episodes(part)) for part in (several[:1], several[1:])]
    check(parts[0].merge(parts[1]), several)


def test_fields_can_be_named() -> None:
    """A name selects all fields in it; returns are always included."""
    statistics = episode_statistics(to_episodes([make_steps(5, observation="image")]), ["info", "observation"])
    assert set(statistics.fields) == {"info/lives", "observation"}
    assert statistics.returns["reward"].count == 1


def test_images_have_quantiles_only_on_demand() -> None:
    """They have too many elements."""
    steps = {"observation": tf.zeros([3, 20, 20], tf.uint8)}
    episodes = tf.data.Dataset.from_tensors({"steps": steps})
    assert episode_statistics(episodes)["observation"].sketches is None
    assert episode_statistics(episodes, quantile_elements=400)["observation"].quantile(0.5).shape == (20, 20)


def test_no_integer_wraps_around_and_no_small_spread_is_lost() -> None:
    """Bytes and float32 are summed in float64."""
    steps = {"bytes": tf.fill([12], tf.constant(200, tf.uint8)), "far": 4096.0 + tf.range(12.0) % 2 / 2048}
    statistics = episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
    assert statistics["bytes"].mean == 200
    assert statistics["bytes"].std == 0
    assert statistics["far"].std == pytest.approx(1 / 4096, rel=1e-9)


def test_episodes_without_steps_are_not_counted() -> None:
    """They have neither return nor length."""
    several = [make_steps(length) for length in (0, 3, 0, 2, 0)]
    statistics = episode_statistics(to_episodes(several))
    assert (statistics.episodes, statistics.steps) == (2, 5)


def test_no_rewards_no_returns() -> None:
    steps = {"observation": tf.zeros([3, 2])}
    assert episode_statistics(tf.data.Dataset.from_tensors({"steps": steps})).returns == {}


def test_fields_without_one_shape_are_left_out_and_refused_by_name() -> None:
    """Where shapes vary there are no elements to count."""

    def episode(size: tf.Tensor) -> dict[str, Any]:
        return {"steps": {"reward": tf.zeros([2]), "cloud": tf.zeros([2, size])}}

    episodes = tf.data.Dataset.range(1, 3).map(episode)
    assert set(episode_statistics(episodes).fields) == {"reward"}
    with pytest.raises(ValueError, match="cloud: expected values of one shape"):
        episode_statistics(episodes, ["cloud"])


def test_text_is_left_out_and_refused_by_name() -> None:
    """Only numbers and bools can be counted."""
    episodes = to_episodes([make_steps(2, observation="text")])
    assert "observation" not in episode_statistics(episodes).fields
    with pytest.raises(TypeError, match="observation: expected numbers or bools"):
        episode_statistics(episodes, ["observation"])


def test_unknown_fields_are_refused_by_name() -> None:
    """And the existing ones are listed."""
    with pytest.raises(ValueError, match="no field 'camera'; there are action, discount"):
        episode_statistics(to_episodes([make_steps(2)]), ["camera"])


def test_what_is_no_dataset_of_episodes_is_refused() -> None:
    with pytest.raises(
        ValueError, match="expected episodes with a field 'steps', got a dataset with the fields reward"
    ):
        episode_statistics(tf.data.Dataset.from_tensors({"reward": 1.0}))


@pytest.mark.parametrize(("count", "message"), [(0, "expected episodes with steps, got none"), (None, "for ever")])
def test_no_episodes_and_endless_ones_are_refused(count: int | None, message: str) -> None:
    episodes = to_episodes([make_steps(2)])
    with pytest.raises(ValueError, match=message):
        episode_statistics(episodes.repeat(count))


def test_fields_of_different_lengths_are_refused() -> None:
    """Rows would not belong together."""
    steps = {"observation": tf.zeros([4]), "action": tf.zeros([3])}
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="as many rows in each field"):
        episode_statistics(tf.data.Dataset.from_tensors({"steps": steps}))
