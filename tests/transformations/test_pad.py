"""Episodes of equal length, from each form they may have, and what is refused."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.pad import pad_episodes
from tests.transformations.episodes import (
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    to_dense_episodes,
    to_numpy,
    to_tensors,
)

FORMS = ("dense", "dense steps", "nested")


def to_form(episodes: list[Steps], form: str) -> tf.data.Dataset:
    """A dataset of episodes in one of `FORMS`, those with metadata if they may have some."""
    dense = to_dense_episodes(episodes)
    if form == "dense":
        return dense
    if form == "dense steps":
        return dense.map(lambda steps: {"id": 7, "steps": steps})
    return dense.map(lambda steps: {"id": 7, "steps": tf.data.Dataset.from_tensor_slices(steps)})


def expected_steps(steps: Steps, length: int) -> Steps:
    """The steps and zeros after them."""

    def pad(leaf: np.ndarray) -> np.ndarray:
        missing = np.zeros((length - len(leaf), *leaf.shape[1:]), leaf.dtype)
        if leaf.dtype == object:
            missing[...] = b""
        return np.concatenate([leaf, missing])

    mask = np.arange(length) < len(steps["is_last"])
    return {**tf.nest.map_structure(pad, steps), "mask": mask}


@settings(max_examples=20)  # each one traces a graph
@given(episode_steps(min_length=0, max_length=10), st.integers(0, 3))
def test_equals_loop(steps: Steps, more: int) -> None:
    """Zeros, False and empty text follow the steps."""
    length = max(1, len(steps["is_last"]) + more)
    (actual,) = pad_episodes(tf.data.Dataset.from_tensors(to_tensors(steps)), length)
    assert_same(to_numpy(actual), expected_steps(steps, length))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_batched(form: str) -> None:
    """Episodes of different lengths, one of them empty, become one batch with its shape known."""
    episodes = [make_steps(length, seed=length, observation="nested") for length in (4, 0, 2)]
    padded = pad_episodes(to_form(episodes, form), 4).batch(3, drop_remainder=True)
    (batch,) = padded
    steps, spec = (batch, padded.element_spec) if form == "dense" else (batch["steps"], padded.element_spec["steps"])
    wanted = [expected_steps(episode, 4) for episode in episodes]
    assert_same(to_numpy(steps), tf.nest.map_structure(lambda *leaves: np.stack(leaves), *wanted))
    assert spec["observation"]["camera"].shape == [3, 4, 4, 5, 3]
    assert form == "dense" or batch["id"].numpy().tolist() == [7, 7, 7]


@pytest.mark.parametrize("form", FORMS)
def test_longer_episodes(form: str) -> None:
    """An episode that does not fit is an error that names both lengths, and says what to do."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected episodes of at most length=4 steps") as error:
        list(pad_episodes(to_form([make_steps(3), make_steps(5)], form), 4))
    assert "5" in str(error.value)


def test_length_below_one() -> None:
    """There is no episode of no length."""
    with pytest.raises(ValueError, match="expected length of at least 1, got 0"):
        pad_episodes(to_dense_episodes([make_steps(3)]), 0)
    with pytest.raises(TypeError, match=r"expected length to be an integer, got 5.0"):
        pad_episodes(to_dense_episodes([make_steps(3)]), 5.0)  # type: ignore[arg-type]  # the mistake


def test_steps_in_place_of_episodes() -> None:
    """Single steps have no dimension of time."""
    steps: Any = tf.data.Dataset.from_tensor_slices(to_tensors(make_steps(3)))
    with pytest.raises(ValueError, match=r"one row for each step; the field '.*' is a scalar"):
        pad_episodes(steps, 4)


def test_field_that_would_be_overwritten() -> None:
    """A recorded field is never overwritten."""
    with pytest.raises(ValueError, match=r"already have fields \['mask'\]"):
        pad_episodes(to_dense_episodes([make_steps(3) | {"mask": np.zeros(3)}]), 4)
