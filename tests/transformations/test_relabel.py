"""New rewards, in every mode, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from rlds_kit.transformations.relabel import relabel
from rlds_kit.transformations.transitions import transitions
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    taken,
    to_dense_episodes,
    to_numpy,
    to_tensors,
    without,
)


@given(episode_steps(min_length=0, optional=("reward",)))
def test_equals_loop(steps: Steps) -> None:
    """A step's reward is what the function gives where an action led on, and 0 elsewhere, garbage or not."""
    actual = to_numpy(relabel(to_tensors(steps), lambda dense: 1 + dense["action"][:, 0]))
    expected = np.zeros(len(steps["is_last"]), np.float32)
    for row in np.flatnonzero(taken(steps)):
        expected[row] = 1 + steps["action"][row, 0]
    assert_same(actual, {**steps, "reward": expected})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [0, 1, 5])
def test_every_mode(mode: str, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the rewards are the same."""
    steps = make_steps(length, observation="nested", step_index=[0, 1, 4, 5, 6][:length])
    actual = run(lambda dense: relabel(dense, lambda dense: dense["info"]["lives"] + 1), steps, mode)
    assert_same(actual, {**steps, "reward": np.where(taken(steps), steps["info"]["lives"] + 1, 0)})


@given(episode_steps(final_observation=True))
def test_rewards_of_where_the_action_led(steps: Steps) -> None:
    """A reward may depend on the observation that the transition leads to."""
    steps["observation"] = np.arange(len(steps["is_last"]), dtype=np.float32) ** 2
    relabeled = relabel(to_tensors(steps), lambda dense: dense["next_observation"] - dense["observation"])
    actual = to_numpy(transitions(relabeled))
    np.testing.assert_array_equal(actual["reward"], actual["next_observation"] - actual["observation"])


def test_rewards_of_what_came_of_it() -> None:
    """A reward may depend on the whole episode."""
    steps = make_steps(4)
    actual = relabel(to_tensors(steps), lambda dense: tf.fill([4], dense["observation"][-1, 0]))
    assert actual["reward"].numpy().tolist() == [*[steps["observation"][-1, 0]] * 3, 0]


def test_rewards_for_each_agent() -> None:
    """The function may give a nest of rewards."""
    steps = to_tensors(make_steps(3))
    actual = relabel(steps, lambda _: {"anna": np.array([1, 2, 3]), "ben": np.array([4.0, 5.0, 6.0])})["reward"]
    assert {name: value.numpy().tolist() for name, value in actual.items()} == {"anna": [1, 2, 0], "ben": [4, 5, 0]}


@pytest.mark.parametrize("reward", [tf.constant([True] * 3), tf.constant(["a"] * 3), tf.constant([1j] * 3)])
def test_rewards_that_are_no_numbers(reward: Any) -> None:
    """Bools, text and complex numbers are refused."""
    with pytest.raises(TypeError, match=f"expected a reward_fn that gives numbers; reward is {reward.dtype.name}"):
        relabel(to_tensors(make_steps(3)), lambda _: reward)


@pytest.mark.parametrize("shape", [(), (3, 1)])
def test_rewards_of_another_shape(shape: tuple[int, ...]) -> None:
    """A column, what a network gives, is not silently broadcast."""
    with pytest.raises(ValueError, match=r"expected a reward_fn that gives \[T\], one number for each step"):
        relabel(to_tensors(make_steps(3)), lambda _: tf.zeros(shape))


def test_rewards_of_another_length() -> None:
    """One reward too few, as transitions have it, is an error."""
    relabeled = to_dense_episodes([make_steps(5)]).map(lambda dense: relabel(dense, lambda dense: dense["reward"][1:]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="one number for each step; reward has"):
        list(relabeled)


def test_steps_without_observations() -> None:
    """Without observations there is no next one either."""
    steps = to_tensors(without(make_steps(3), "observation"))
    assert relabel(steps, lambda dense: tf.fill([3], len(dense)))["reward"].numpy().tolist() == [len(steps)] * 2 + [0]
