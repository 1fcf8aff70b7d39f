"""The number of steps of an episode."""

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rlds_kit.transformations import BATCH_AUTO_TUNE, episode_length


def steps_of(count: int, *, is_known: bool) -> tf.data.Dataset:
    """Nested steps, of a number that tf.data knows or does not."""
    steps = tf.data.Dataset.from_tensor_slices({"observation": {"a": tf.range(count)}})
    return steps if is_known else steps.filter(lambda _: True)


def in_a_map(steps: tf.data.Dataset) -> Any:
    """What a map over the steps finds."""
    return next(iter(tf.data.Dataset.from_tensors(steps).map(episode_length)))


WAYS = pytest.mark.parametrize(
    "way", [episode_length, tf.function(episode_length), in_a_map], ids=["eager", "function", "map"]
)


@WAYS
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_length(count: int, is_known: bool, way: Callable[..., Any]) -> None:
    """It is that of the episode, an int32, however it is found."""
    length = way(steps_of(count, is_known=is_known))
    assert length == count
    assert length.dtype == tf.int32


@pytest.mark.parametrize("size", [BATCH_AUTO_TUNE, 0, 1, 2, 3, 10])
def test_number_counted_at_once_makes_no_difference(size: int) -> None:
    """It changes the speed only."""
    assert episode_length(steps_of(7, is_known=False), size) == 7


def test_steps_of_any_structure_are_counted() -> None:
    """Ragged ones, pairs, and steps that contain datasets."""
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).filter(lambda _: True)
    assert episode_length(rows) == 2
    assert episode_length(tf.data.Dataset.zip((rows, tf.data.Dataset.range(9)))) == 2
    nested = tf.data.Dataset.range(3).map(lambda n: {"inner": tf.data.Dataset.range(n)}).filter(lambda _: True)
    assert episode_length(nested) == 3


@WAYS
def test_dataset_without_end_is_an_error(way: Callable[..., Any]) -> None:
    """Its length is not -1."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="got a dataset that does not end"):
        way(tf.data.Dataset.range(3).repeat())
