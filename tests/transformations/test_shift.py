"""Shifted fields against NumPy's slices."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import BATCH_AUTO_TUNE, shift_keys


def steps_of(count: int) -> dict[str, Any]:
    """Steps in which every value identifies the step."""
    numbers = np.arange(count)
    return {"observation": {"a": numbers, "b": (numbers[:, None] * [1, 10],)}, "action": numbers, "reward": numbers / 2}


def moved(values: np.ndarray, shift: int) -> np.ndarray:
    """Of a field that is shifted."""
    return values[shift:] if shift > 0 else values[: max(0, len(values) + shift)]


@given(
    count=st.integers(0, 9),
    shift=st.integers(-10, 10),
    keys=st.sets(st.sampled_from(["observation", "action", "reward"])),
    spare=st.none() | st.integers(1, 4),
)
@settings(max_examples=50)
def test_shift(count: int, shift: int, keys: set[str], spare: int | None) -> None:
    """Keys come from `shift` steps later, everything else stays, and the batch size makes no difference."""
    steps = steps_of(count)
    batch_size = BATCH_AUTO_TUNE if spare is None else abs(shift) + spare
    shifted = shift_keys(tf.data.Dataset.from_tensor_slices(steps), sorted(keys), shift, batch_size)
    found = [tf.nest.flatten(step) for step in shifted.as_numpy_iterator()]

    parts = {key: shift if key in keys else -shift for key in steps}
    columns = {key: tf.nest.map_structure(lambda v, n=parts[key]: moved(v, n), nest) for key, nest in steps.items()}
    assert len(found) == max(0, count - abs(shift))
    for index, step in enumerate(found):
        np.testing.assert_equal(step, [column[index] for column in tf.nest.flatten(columns)])


@pytest.mark.parametrize("shift", [-4, -2, -1, 1, 2, 4])
def test_shift_of_steps_whose_shapes_differ(shift: int) -> None:
    """Steps that cannot be batched are shifted all the same."""
    texts = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 2], [], [4] * 4]))
    steps = tf.data.Dataset.zip({"text": texts, "action": tf.data.Dataset.range(4)})
    found = [(step["text"].numpy().tolist(), int(step["action"])) for step in shift_keys(steps, ["text"], shift)]
    lists = [[1], [2, 2], [], [4] * 4]
    assert found == [(lists[i + shift], i) for i in range(4) if 0 <= i + shift < 4]


def test_shift_of_nothing_is_the_identity() -> None:
    """With shift 0 every step stays as it is."""
    steps = tf.data.Dataset.from_tensor_slices(steps_of(4))
    assert [int(step["action"]) for step in shift_keys(steps, ["observation"], 0)] == [0, 1, 2, 3]


@pytest.mark.parametrize("shift", [-1, 1])
def test_shift_of_large_images(shift: int) -> None:
    """Steps above 100 kB are shifted in either direction."""
    images = np.arange(4, dtype=np.uint8)[:, None, None, None] * np.ones((4, 210, 160, 4), np.uint8)
    steps = tf.data.Dataset.from_tensor_slices({"observation": images, "action": np.arange(4)})
    found = [(int(step["observation"][0, 0, 0]), int(step["action"])) for step in shift_keys(steps, ["action"], shift)]
    assert found == [(i, i + shift) for i in range(4) if 0 <= i + shift < 4]


def test_shift_in_every_episode() -> None:
    """It works on the steps inside `Dataset.map`."""
    episodes = tf.data.Dataset.range(4).map(
        lambda n: {"steps": tf.data.Dataset.range(n).map(lambda i: {"observation": i, "action": i})}
    )
    shifted = episodes.map(lambda episode: shift_keys(episode["steps"], ["action"], -1))
    assert [[int(step["action"]) for step in steps] for steps in shifted] == [[], [], [0], [0, 1]]


STEPS = tf.data.Dataset.from_tensor_slices(steps_of(4))


@pytest.mark.parametrize(("shift", "size"), [(2, 2), (-3, 2), (0, 0), (1, 1)])
def test_batch_size_that_the_shift_exceeds_is_refused(shift: int, size: int) -> None:
    """There would be nothing left of a batch."""
    with pytest.raises(ValueError, match=rf"expected a batch_size above \|shift\| = {abs(shift)}, got {size}"):
        shift_keys(STEPS, ["observation"], shift, size)


def test_unknown_key_is_refused() -> None:
    """A misspelt key is an error, not a dataset that is the same as before."""
    with pytest.raises(ValueError, match=r"no fields \['obs'\]; they have \['action', 'observation', 'reward'\]"):
        shift_keys(STEPS, ["obs"], 1)


def test_one_string_is_refused() -> None:
    """A string is a sequence of letters, hardly what was meant."""
    with pytest.raises(TypeError, match=r"Write \['action'\]"):
        shift_keys(STEPS, "action", 1)


def test_steps_that_are_no_dicts_are_refused() -> None:
    """There are no keys to shift."""
    with pytest.raises(TypeError, match="expected steps that are dicts"):
        shift_keys(tf.data.Dataset.range(3), ["action"], 1)
