"""Splits: complete, disjoint, the same as without TensorFlow, and what is refused."""

from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base.split import part_of
from rlds_kit.transformations.split import split
from tests.transformations.episodes import make_steps, to_dense_episodes

FRACTIONS = {"train": 0.5, "validation": 0.2, "test": 0.3}


def ids(dataset: tf.data.Dataset) -> list[Any]:
    """Of the episodes."""
    return [episode["episode_id"].numpy() for episode in dataset]


def of_ids(values: Any) -> tf.data.Dataset:
    """Episodes with these ids."""
    return tf.data.Dataset.from_tensor_slices({"episode_id": values})


@settings(max_examples=15)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=30), st.integers(0, 2**63 - 1))
def test_every_episode_is_where_its_id_says(names: list[str], seed: int) -> None:
    """In one part, in order, and the same as with `part_of`, without TensorFlow."""
    names = [name.replace("\ud800", "") for name in names]
    parts = split(of_ids([name.encode() for name in names]), FRACTIONS, seed=seed)
    assert list(parts) == list(FRACTIONS)
    for part, dataset in parts.items():
        assert ids(dataset) == [name.encode() for name in names if part_of(name, FRACTIONS, seed) == part]


@pytest.mark.parametrize("dtype", [tf.int64, tf.int32, tf.uint8, tf.uint64])
def test_ids_may_be_numbers(dtype: tf.DType) -> None:
    """They are hashed as their decimal text."""
    parts = split(of_ids(tf.cast(tf.range(100), dtype)), FRACTIONS)
    for part, dataset in parts.items():
        assert ids(dataset) == [number for number in range(100) if part_of(number, FRACTIONS) == part]


def test_other_episodes_and_their_order_have_no_say() -> None:
    """Episodes that are added never move old ones."""
    few, many = (split(of_ids(tf.range(begin, end)), FRACTIONS) for begin, end in ((50, 100), (0, 200)))
    for part in FRACTIONS:
        assert set(ids(few[part])) == {number for number in ids(many[part]) if 50 <= number < 100}


@pytest.mark.parametrize("nested", [True, False])
def test_steps_come_along_in_either_form(nested: bool) -> None:
    """Everything else of an episode is as it was."""
    episodes = (
        to_dense_episodes([make_steps(length) for length in range(1, 20)])
        .enumerate()
        .map(
            lambda number, steps: {
                "episode_id": number,
                "steps": tf.data.Dataset.from_tensor_slices(steps) if nested else steps,
            }
        )
    )
    for episode in split(episodes, FRACTIONS)["train"]:
        length = len(list(episode["steps"])) if nested else len(episode["steps"]["reward"])
        assert length == episode["episode_id"].numpy() + 1


def test_another_key_keeps_together_what_belongs_together() -> None:
    """All episodes of one person are in one part."""
    episodes = tf.data.Dataset.range(100).map(lambda number: {"person": number % 5})
    parts = split(episodes, FRACTIONS, key="person")
    people = [{int(episode["person"]) for episode in part} for part in parts.values()]
    assert sum(map(len, people)) == len(set().union(*people)) == 5


def test_a_missing_key_is_refused() -> None:
    """The message says what to do."""
    episodes = tf.data.Dataset.from_tensors({"steps": {}, "uuid": "a"})
    with pytest.raises(
        ValueError, match=r"no field 'episode_id' to split by, only steps, uuid. Name another with `key="
    ):
        split(episodes, FRACTIONS)


@pytest.mark.parametrize("value", [1.5, [1, 2], True])
def test_a_key_of_another_kind_is_refused(value: Any) -> None:
    """Text or a whole number identifies episodes."""
    with pytest.raises(TypeError, match="expected a scalar of text or whole numbers in 'episode_id'"):
        split(tf.data.Dataset.from_tensors({"episode_id": value}), FRACTIONS)


def test_fractions_of_no_whole_are_refused() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        split(of_ids(["a"]), {"train": 0.9, "test": 0.2})
