"""The final step of an episode, whether tf.data knows how many there are or not."""

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rlds_kit.transformations import final_step


def unknown(steps: tf.data.Dataset) -> tf.data.Dataset:
    """The same steps, of a number that tf.data does not know."""
    return steps.filter(lambda *_: True)


def known(steps: tf.data.Dataset) -> tf.data.Dataset:
    """The steps as they are."""
    return steps


def in_a_map(steps: tf.data.Dataset) -> Any:
    """What a map over the steps finds."""
    return next(iter(tf.data.Dataset.from_tensors(steps).map(final_step)))


WAYS = pytest.mark.parametrize("way", [final_step, tf.function(final_step), in_a_map], ids=["eager", "function", "map"])
KINDS = pytest.mark.parametrize("kind", [known, unknown])


@WAYS
@KINDS
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 129])
def test_last_of_many(count: int, kind: Callable[..., Any], way: Callable[..., Any]) -> None:
    """Every leaf is that of the last step."""
    numbers = tf.range(count)
    step = way(kind(tf.data.Dataset.from_tensor_slices({"a": numbers, "b": (numbers[:, None] * 10,)})))
    assert (int(step["a"]), step["b"][0].numpy().tolist()) == (count - 1, [count * 10 - 10])


@WAYS
@KINDS
def test_episode_without_steps_is_an_error(kind: Callable[..., Any], way: Callable[..., Any]) -> None:
    """No step of zeros is made up, and a map over episodes does not end early."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected an episode of one step or more"):
        way(kind(tf.data.Dataset.range(0)))


@WAYS
def test_dataset_without_end_is_an_error(way: Callable[..., Any]) -> None:
    """It is not read to the end of time."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="got a dataset that does not end"):
        way(tf.data.Dataset.range(3).repeat())


@KINDS
def test_steps_need_not_be_dicts_nor_of_one_shape(kind: Callable[..., Any]) -> None:
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    assert final_step(kind(rows)).numpy().tolist() == [2, 3]
    pair = final_step(kind(tf.data.Dataset.zip((rows, tf.data.Dataset.range(2)))))
    assert (pair[0].numpy().tolist(), int(pair[1])) == ([2, 3], 1)
    (alone,) = final_step(kind(tf.data.Dataset.zip((rows,))))
    assert alone.numpy().tolist() == [2, 3]
