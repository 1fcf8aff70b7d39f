"""Absorbing states against a loop, in every mode, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from rlds_kit.transformations import absorbing
from rlds_kit.transformations.absorbing import add_absorbing_states
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


def expected_steps(steps: Steps) -> Steps:
    """The steps with an absorbing state of zeros."""
    steps = {**steps, "is_absorbing": np.zeros_like(steps["is_last"])}
    if not steps.get("is_terminal", np.zeros(1, bool))[-1:].any():
        return steps
    longer: Steps = tf.nest.map_structure(lambda leaf: np.concatenate([leaf, leaf[-1:]]), steps)
    if "discount" in steps and len(steps["discount"]) > 1 and taken(steps)[-2] and steps["discount"][-2] == 0:
        longer["discount"][-3] = 1

    def blank(leaf: np.ndarray) -> None:
        leaf[-2:] = b"" if leaf.dtype == object else 0

    for field in {"observation", "action", "reward", "discount"} & steps.keys():
        tf.nest.map_structure(blank, longer[field])
    if "discount" in steps:
        longer["discount"][-2] = 1
    longer["is_first"][-1] = False
    longer["is_last"][-2:] = False, True
    longer["is_terminal"][-2:] = False
    longer["is_absorbing"][-2:] = True
    if "step_index" in steps:
        longer["step_index"][-1] += 1
    if "observation_valid" in steps:
        longer["observation_valid"][-2:] = True
    return longer


@given(episode_steps(min_length=0, optional=("discount", "is_terminal", "reward", "action")))
def test_equals_loop(steps: Steps) -> None:
    """Terminal states become absorbing, all other episodes only get the bit."""
    assert_same(to_numpy(add_absorbing_states(to_tensors(steps))), expected_steps(steps))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["terminated", "truncated"])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_every_mode(mode: str, end: Any, length: int) -> None:
    """Dense or a dataset, eager or in a graph, the steps are the same."""
    steps = make_steps(length, end=end, observation="nested")
    assert_same(run(add_absorbing_states, steps, mode), expected_steps(steps))


def test_transitions_of_an_absorbing_state() -> None:
    """The last transitions lead into the absorbing state and from there to itself, and all of them are bootstrapped."""
    actual = transitions(add_absorbing_states(to_tensors(make_steps(3))))
    assert actual["is_absorbing"].numpy().tolist() == [False, False, True]
    assert not actual["next_observation"].numpy()[1:].any()
    assert actual["discount"].numpy()[1:].tolist() == [1, 1]


def test_discount_that_led_to_the_terminal_step() -> None:
    """Only the 0 of a transition into the terminal step is replaced: no other discount, and no undefined value."""
    recorded = make_steps(4) | {"discount": np.array([0, 1, 0.5, 0], np.float32)}
    actual = add_absorbing_states(to_tensors(recorded))["discount"]
    assert actual.numpy().tolist() == [0, 1, 0.5, 1, 0]
    behind_a_gap = make_steps(4, step_index=[0, 1, 2, 9]) | {"discount": np.array([0, 1, 0, 0], np.float32)}
    actual = add_absorbing_states(to_tensors(behind_a_gap))["discount"]
    assert actual.numpy().tolist() == [0, 1, 0, 1, 0]


def test_repeated_observation_and_action() -> None:
    """The absorbing state may look like the terminal one, with the last action that was taken."""
    steps = make_steps(3, undefined="garbage")
    actual = to_numpy(add_absorbing_states(to_tensors(steps), absorbing.repeat, absorbing.repeat))
    np.testing.assert_array_equal(actual["observation"], steps["observation"][[0, 1, 2, 2]])
    np.testing.assert_array_equal(actual["action"][:3], steps["action"][[0, 1, 1]])
    assert not actual["action"][3].any()


def test_random_action() -> None:
    """The absorbing action may be random: within its bounds, and another one in each episode."""
    episodes = to_dense_episodes([make_steps(3)] * 5)
    action = absorbing.uniform(2, 3, seed=7)
    drawn = [one["action"].numpy()[2] for one in episodes.map(lambda dense: add_absorbing_states(dense, action=action))]
    assert all(((values >= 2) & (values < 3)).all() for values in drawn)
    assert len({values.tobytes() for values in drawn}) == 5


@pytest.mark.parametrize(
    "make", [lambda _: tf.zeros([2]), lambda _: tf.zeros([3], tf.int32), lambda value: {"a": value}]
)
def test_absorbing_value_of_another_kind(make: Any) -> None:
    """An absorbing observation of another shape, dtype or structure is refused."""
    with pytest.raises(ValueError, match="expected an absorbing observation like the observation it stands for"):
        add_absorbing_states(to_tensors(make_steps(3)), observation=make)


@pytest.mark.parametrize("field", ["observation", "is_last"])
def test_missing_fields(field: str) -> None:
    """The error names the field that is needed."""
    with pytest.raises(ValueError, match=rf"expected steps with the fields \['{field}'\]"):
        add_absorbing_states(to_tensors(without(make_steps(3), field)))


def test_twice() -> None:
    """A field `is_absorbing` is never overwritten."""
    with pytest.raises(ValueError, match=r"already have fields \['is_absorbing'\]"):
        add_absorbing_states(add_absorbing_states(to_tensors(make_steps(3))))
