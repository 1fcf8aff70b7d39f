"""The two forms of an episode's steps, there and back."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from rlds_kit.transformations.dense import as_one_episode, from_dense, on_either_form, to_dense
from tests.transformations.episodes import (
    MODES,
    Steps,
    assert_same,
    episode_steps,
    make_steps,
    run,
    to_dataset,
    to_numpy,
    to_tensors,
)


@given(episode_steps())
def test_there_and_back(steps: Steps) -> None:
    """Single steps and dense steps have the same values, bit for bit."""
    assert_same(to_numpy(to_dense(from_dense(to_tensors(steps)))), steps)


@pytest.mark.parametrize("length", [0, 3])
def test_as_dense_of_either_form(length: int) -> None:
    """Both forms give the same tensors."""
    steps = make_steps(length, observation="nested")
    assert_same(to_numpy(as_one_episode(to_tensors(steps))), steps)
    assert_same(to_numpy(as_one_episode(to_dataset(steps))), steps)


def test_what_was_given_is_not_changed() -> None:
    """A function may change the dict that it gets."""
    steps = to_tensors(make_steps(3))
    on_either_form(lambda dense: dense | {"reward": dense.pop("reward") + 1})(steps)
    assert "reward" in steps


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [0, 1, 3])
def test_either_form(mode: str, length: int) -> None:
    """A function of dense steps also accepts datasets of steps, with its arguments, and then returns one."""
    steps = make_steps(length, observation="nested")

    @on_either_form
    def add(dense: Steps, number: float, *, field: str) -> Steps:
        return {**dense, field: dense[field] + number}

    actual = run(lambda either: add(either, 2, field="reward"), steps, mode)
    assert_same(actual, {**steps, "reward": steps["reward"] + np.float32(2)})


def test_the_form_is_kept() -> None:
    """A dataset gives a dataset, a dict gives a dict."""
    same = on_either_form(lambda dense: dense)
    assert isinstance(same(to_dataset(make_steps(3))), tf.data.Dataset)
    assert isinstance(same(to_tensors(make_steps(3))), dict)
