"""Truncation against a loop, in every mode, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.returns import returns
from rlds_kit.transformations.truncate import truncate
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    to_dense_episodes,
    to_numpy,
    to_tensors,
    without,
)

TAG = "tag:placed"


def expected_steps(steps: Steps, *, is_terminal: bool) -> Steps:
    """The steps up to the first that has the tag."""
    if is_terminal:
        steps = {"is_terminal": np.zeros_like(steps["is_last"]), **steps}
    hits = [row for row, is_met in enumerate(steps[TAG]) if is_met]
    if not hits:
        return steps
    end = hits[0]
    short: Steps = tf.nest.map_structure(lambda leaf: leaf[: end + 1].copy(), steps)
    short["is_last"][end] = True
    for field in {"action", "reward", "discount"} & steps.keys():
        short[field][end] = 0
    if is_terminal:
        short["is_terminal"][end] = True
        if "discount" in steps and end > 0:
            short["discount"][end - 1] = 0
    return short


@given(episode_steps(min_length=0, optional=("discount", "is_terminal", "reward", "action")), st.booleans())
def test_equals_loop(steps: Steps, is_terminal: bool) -> None:
    """An episode ends at the first step with the tag, or where it ended."""
    actual = to_numpy(truncate(to_tensors(steps), TAG, is_terminal))
    assert_same(actual, expected_steps(steps, is_terminal=is_terminal))


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hit", [0, 2, 4, None])
@pytest.mark.parametrize("is_terminal", [False, True])
def test_every_mode(mode: str, hit: int | None, is_terminal: bool) -> None:
    """Dense or a dataset, eager or in a graph, the steps are the same."""
    steps = make_steps(5, observation="nested") | {TAG: np.arange(5) == hit}
    actual = run(lambda dense: truncate(dense, TAG, is_terminal), steps, mode)
    assert_same(actual, expected_steps(steps, is_terminal=is_terminal))


@pytest.mark.parametrize("mode", MODES)
def test_empty_episode(mode: str) -> None:
    """An episode without steps stays as it is."""
    steps = make_steps(0)
    assert_same(run(lambda dense: truncate(dense, lambda dense: dense["reward"] > 0), steps, mode), steps)


def test_condition_of_several_fields() -> None:
    """A condition may be any function of the steps."""
    steps = make_steps(6) | {"reward": np.array([1, 9, 1, 9, 1, 0], np.float32)}
    short = truncate(to_tensors(steps), lambda dense: (dense["reward"] > 5) & (tf.range(6) > 1))
    assert short["reward"].numpy().tolist() == [1, 9, 1, 0]


def test_keeping_the_reward_of_the_step() -> None:
    """A condition that is met one step later preserves the reward of the step that met it."""
    steps = to_tensors(make_steps(4) | {"reward": np.array([1, 9, 1, 0], np.float32)})
    assert returns(truncate(steps, lambda dense: dense["reward"] > 5)) == 1
    later = truncate(steps, lambda dense: tf.concat([[False], dense["reward"][:-1] > 5], 0))
    assert returns(later) == 10


def test_a_terminal_step_stays_so() -> None:
    """Meeting the condition on the last step does not make an episode less terminal than it was."""
    steps = make_steps(3, end="terminated") | {TAG: np.array([False, False, True])}
    assert truncate(to_tensors(steps), TAG)["is_terminal"].numpy().tolist() == [False, False, True]


@pytest.mark.parametrize(
    "condition",
    ["action", lambda steps: steps["reward"], lambda steps: steps["action"] > 0, lambda _: tf.constant(value=True)],
    ids=["field of floats", "floats", "two dimensions", "scalar"],
)
def test_conditions_that_are_none(condition: Any) -> None:
    """A condition is one bool for each step."""
    with pytest.raises(ValueError, match=r"expected a condition that gives bool of shape \[T\]"):
        truncate(to_tensors(make_steps(3)), condition)


def test_nested_field_as_condition() -> None:
    """A nest of fields is no condition."""
    with pytest.raises(ValueError, match=r"expected a condition that gives bool of shape \[T\]"):
        truncate(to_tensors(make_steps(3)), "info")


def test_condition_of_another_length() -> None:
    """One bool too few is an error, also if that is only known when the graph runs."""
    episodes = to_dense_episodes([make_steps(5), make_steps(3)])
    short = episodes.map(lambda dense: truncate(dense, lambda dense: dense["reward"][1:] > 0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected a condition that gives one bool for each step"):
        list(short)


@pytest.mark.parametrize(("dropped", "named"), [(TAG, TAG), ("is_last", "is_last")])
def test_missing_fields(dropped: str, named: str) -> None:
    """The error names the field that is needed."""
    with pytest.raises(ValueError, match=rf"expected steps with the fields \['{named}'\]"):
        truncate(to_tensors(without(make_steps(3), dropped)), TAG)
