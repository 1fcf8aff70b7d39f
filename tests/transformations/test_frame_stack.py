"""Stacks of frames against Gymnasium's wrapper and against a loop, in every mode."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from gymnasium.wrappers import FrameStackObservation
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.frame_stack import frame_stack
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    to_numpy,
    to_tensors,
)


def expected_stack(frames: np.ndarray[Any, Any], steps: Steps, size: int, padding_type: str) -> np.ndarray[Any, Any]:
    """Step by step, with a queue that a gap empties."""
    index = steps.get("step_index", np.arange(len(frames)))
    zero = b"" if frames.dtype == object else np.zeros(frames.shape[1:], frames.dtype)
    stacks, queue = [], []
    for row, frame in enumerate(frames):
        if row == 0 or index[row] != index[row - 1] + 1:
            queue = [frame if padding_type == "reset" else zero] * size
        queue = [*queue[1:], frame]
        stacks.append(np.array(queue, frames.dtype))
    return np.stack(stacks) if stacks else np.zeros((0, size, *frames.shape[1:]), frames.dtype)


@settings(max_examples=25)
@given(episode_steps(min_length=0, max_length=12), st.integers(1, 6), st.sampled_from(["reset", "zero"]))
def test_against_a_loop(steps: Steps, size: int, padding_type: str) -> None:
    """Any length, any kind of observation, with and without gaps; nothing else changes."""
    actual = to_numpy(frame_stack(to_tensors(steps), size, padding_type=padding_type))
    stacked = tf.nest.map_structure(
        lambda frames: expected_stack(frames, steps, size, padding_type), steps["observation"]
    )
    assert_same(actual, steps | {"observation": stacked})


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding_type", ["reset", "zero"])
def test_every_mode_gives_the_same(mode: str, padding_type: str) -> None:
    for length in (0, 6):
        steps = make_steps(length, observation="nested", step_index=[0, 1, 4, 5, 6, 7][:length])
        actual = run(lambda given: frame_stack(given, 3, padding_type=padding_type), steps, mode)
        stacked = tf.nest.map_structure(
            lambda frames, steps=steps: expected_stack(frames, steps, 3, padding_type), steps["observation"]
        )
        assert_same(actual, steps | {"observation": stacked})


@pytest.mark.parametrize("padding_type", ["reset", "zero"])
@pytest.mark.parametrize("size", [1, 4])
def test_the_same_as_the_wrapper_of_gymnasium(padding_type: str, size: int) -> None:
    environment = FrameStackObservation(gymnasium.make("CartPole-v1"), size, padding_type=padding_type)
    stack, _ = environment.reset(seed=0)
    stacks, done = [stack], False
    while not done:
        stack, _, terminated, truncated, _ = environment.step(len(stacks) % 2)
        stacks.append(stack)
        done = terminated or truncated
    recorded = {"observation": tf.constant(np.stack(stacks)[:, -1])}
    ours = frame_stack(recorded, size, padding_type=padding_type)["observation"]
    np.testing.assert_array_equal(ours, np.stack(stacks))


def test_shapes_are_known_when_the_graph_is_traced() -> None:
    """The length of the episode is not, everything else is."""
    spec = {"observation": tf.TensorSpec([None, 84, 84], tf.uint8)}
    traced = tf.function(lambda steps: frame_stack(steps, 4)).get_concrete_function(spec)
    assert traced.output_shapes["observation"].as_list() == [None, 4, 84, 84]


def test_one_field_of_a_nest_can_be_named() -> None:
    """The others stay as they are."""
    steps = make_steps(3, observation="nested")
    stacked = to_numpy(frame_stack(to_tensors(steps), 2, "observation/camera"))
    assert stacked["observation"]["camera"].shape == (3, 2, 4, 5, 3)
    assert stacked["observation"]["goal"]["words"].shape == (3,)


def test_bad_arguments_are_refused() -> None:
    """Each message says what was expected."""
    steps = to_tensors(make_steps(3))
    with pytest.raises(ValueError, match="size of at least 1, got 0"):
        frame_stack(steps, 0)
    with pytest.raises(TypeError, match=r"expected size to be an integer, got 2.0"):
        frame_stack(steps, 2.0)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ValueError, match="no field 'pixels'; there are action"):
        frame_stack(steps, field="pixels")
    with pytest.raises(ValueError, match="padding_type 'reset' or 'zero', got 'mirror'"):
        frame_stack(steps, padding_type="mirror")
