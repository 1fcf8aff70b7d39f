"""Downsampling against a loop, its law of rewards, and what becomes of actions that differ."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.downsample import downsample, first_action
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    taken,
    to_numpy,
    to_tensors,
)


def groups(steps: Steps, skip: int) -> list[range]:
    """The rows that become one step; those where no action was taken stand alone."""
    found: list[range] = []
    for row, acted in enumerate(taken(steps)):
        previous = found[-1] if found else range(0)
        joins = acted and 0 < len(previous) < skip and taken(steps)[row - 1]
        found[-1:] = [range(previous.start, row + 1)] if joins else [*found[-1:], range(row, row + 1)]
    return found


def expected(steps: Steps, skip: int) -> Steps:
    """Group by group."""
    rows = groups(steps, skip)
    mask = taken(steps)
    result: Steps = tf.nest.map_structure(lambda leaf: leaf[[group.start for group in rows]], steps)
    for place, group in enumerate(rows):
        acted = mask[group.start]
        for field in {"action", "reward", "discount"} & steps.keys():
            result[field][place] = 0
        if acted:
            result["action"][place] = steps["action"][group.start]
            result["reward"][place] = steps["reward"][group.start : group.stop].astype(np.float64).sum()
            if "discount" in steps:
                result["discount"][place] = steps["discount"][group.start : group.stop].astype(np.float64).prod()
    if "step_index" in steps:
        breaks = [not mask[group.start] for group in rows]
        result["step_index"] = np.arange(len(rows)) + np.cumsum([False, *breaks[:-1]])[: len(rows)]
    return result


@settings(max_examples=40)
@given(episode_steps(min_length=0, max_length=20), st.integers(1, 5))
def test_against_a_loop(steps: Steps, skip: int) -> None:
    """Any length, with and without gaps, garbage where nothing is defined."""
    actual = to_numpy(downsample(to_tensors(steps), skip, first_action))
    wanted = expected(steps, skip)
    for field in {"reward", "discount"} & steps.keys():
        np.testing.assert_allclose(actual.pop(field), wanted.pop(field), rtol=1e-6)
    assert_same(actual, wanted)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_the_same(mode: str) -> None:
    for length in (0, 9):
        steps = make_steps(length, observation="nested", step_index=[0, 1, 2, 3, 8, 9, 10, 11, 12][:length])
        del steps["discount"], steps["reward"]
        actual = run(lambda given: downsample(given, 2, first_action), steps, mode)
        steps["reward"] = np.zeros(length, np.float32)
        wanted = expected(steps, 2)
        del wanted["reward"]
        assert_same(actual, wanted)


@pytest.mark.parametrize("skip", range(1, 6))
def test_c44_the_sum_of_rewards_is_kept_for_every_length(skip: int) -> None:
    """From 1 to 50 steps; a last group that is short keeps its rewards too."""
    for length in range(1, 51):
        reward = np.random.default_rng(length).integers(-5, 6, length).astype(np.float32)
        steps = {"reward": tf.constant(reward), "discount": tf.ones([length])}
        kept = downsample(steps, skip)
        assert kept["reward"].numpy().sum() == reward[:-1].sum()
        assert len(kept["reward"]) == 1 + -(-(length - 1) // skip)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=20), st.integers(1, 5))
def test_the_sum_of_rewards_is_kept_across_gaps(jumps: list[int], skip: int) -> None:
    """Of those that are defined."""
    index = np.cumsum(np.maximum(jumps, 1))
    steps = make_steps(len(jumps), step_index=index.tolist())
    steps["reward"] = np.where(taken(steps), np.arange(len(jumps)), 0).astype(np.float64)
    assert downsample(to_tensors(steps), skip, first_action)["reward"].numpy().sum() == steps["reward"].sum()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.bool_])
def test_whole_rewards_do_not_wrap_around(dtype: type) -> None:
    steps = {"reward": tf.constant(np.full(9, 200).astype(dtype))}
    reward = downsample(steps, 4)["reward"]
    each = 1 if dtype is np.bool_ else 200
    assert (reward.dtype, reward.numpy().tolist()) == (tf.int64, [4 * each, 4 * each, 0])


def test_rewards_and_actions_may_be_nests() -> None:
    """With a key for each agent, for instance."""
    steps = {
        "action": {"ann": tf.constant([1, 1, 2]), "bob": tf.constant([[3.0], [3.0], [0.0]])},
        "reward": {"ann": tf.constant([1.0, 2.0, 9.0]), "bob": tf.constant([[1, 2], [3, 4], [9, 9]])},
    }
    result = to_numpy(downsample(steps, 2))
    assert tf.nest.map_structure(np.ndarray.tolist, result) == {
        "action": {"ann": [1, 0], "bob": [[3], [0]]},
        "reward": {"ann": [3, 0], "bob": [[4, 6], [0, 0]]},
    }


@pytest.mark.parametrize("mode", MODES)
def test_actions_that_differ_are_refused(mode: str) -> None:
    """Unless a function chooses one; the action of the last step is ignored."""
    steps: Steps = {"action": np.array([1, 1, 2, 2, 7]), "is_last": np.arange(5) == 4}
    assert run(lambda given: downsample(given, 2), steps, mode)["action"].tolist() == [1, 2, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="choose_action=first_action"):
        run(lambda given: downsample(given, 3), steps, mode)


def test_actions_can_be_chosen_by_a_function_of_ones_own() -> None:
    """It sees each group, and which of its actions were taken."""

    def last(actions: Any, is_taken: Any) -> Any:
        count = tf.reduce_sum(tf.cast(is_taken, tf.int32), 1)
        return tf.gather(actions, tf.maximum(count - 1, 0), axis=1, batch_dims=1)

    steps = {"action": tf.constant([1, 2, 3, 4, 5, 9])}
    assert downsample(steps, 3, first_action)["action"].numpy().tolist() == [1, 4, 0]
    assert downsample({"action": tf.constant([1, 2, 3, 4, 9])}, 2, last)["action"].numpy().tolist() == [2, 4, 0]


def test_a_skip_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="skip of at least 1, got 0"):
        downsample({"reward": tf.zeros([3])}, 0)
    with pytest.raises(TypeError, match=r"expected skip to be an integer, got 2.0"):
        downsample({"reward": tf.zeros([3])}, 2.0)  # type: ignore[arg-type]  # the mistake
