"""Functions over steps, over the steps of episodes, and over their datasets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlds_kit.transformations import BATCH_AUTO_TUNE, apply_nested_steps, map_nested_steps, map_steps

STEPS = tf.data.Dataset.from_tensor_slices(
    {"observation": {"a": np.arange(10, dtype=np.float32).reshape(5, 2)}, "reward": np.arange(5, dtype=np.float32)}
)
SIZES = pytest.mark.parametrize("size", [BATCH_AUTO_TUNE, 0, 1, 2, 5, 99])


def episodes() -> tf.data.Dataset:
    """Episodes of 0, 1, 2 and 3 steps, with metadata."""
    return tf.data.Dataset.range(4).map(lambda n: {"steps": STEPS.take(n), "episode_id": n, "agent": {"name": "me"}})


def changes(step: Any) -> Any:
    """Changes the dict that it is given."""
    step["reward"] += 1
    step["observation"]["b"] = step["observation"]["a"][0]
    return step


def another_structure(step: Any) -> Any:
    """Gives what is no step."""
    return step["reward"], (step["observation"]["a"],)


def branches(step: Any) -> Any:
    """Absorbing states as people write them, with `if` on a tensor."""
    if step["reward"] > 2:
        return {"observation": tf.zeros_like(step["observation"]["a"])}
    return {"observation": step["observation"]["a"]}


def not_vectorizable(step: Any) -> Any:
    """Has no vectorized form."""
    return tf.strings.as_string(step["reward"])


FUNCTIONS = pytest.mark.parametrize("function", [changes, another_structure, branches, not_vectorizable])


def as_lists(elements: tf.data.Dataset) -> list[Any]:
    """The content of a dataset, comparable."""
    return [tf.nest.map_structure(lambda value: np.asarray(value).tolist(), element) for element in elements]


@SIZES
@FUNCTIONS
def test_map_steps_is_map(function: Callable[[Any], Any], size: int) -> None:
    """The result is that of `Dataset.map`, whatever the function and the batch size."""
    mapped = map_steps(STEPS, function, size)
    assert as_lists(mapped) == as_lists(STEPS.map(function))
    assert mapped.element_spec == STEPS.map(function).element_spec


@FUNCTIONS
def test_map_nested_steps_maps_every_episode(function: Callable[[Any], Any]) -> None:
    """Steps are mapped, and metadata stay."""
    mapped = list(map_nested_steps(episodes(), function))
    assert [as_lists(episode["steps"]) for episode in mapped] == [
        as_lists(STEPS.take(n).map(function)) for n in range(4)
    ]
    assert [(int(one["episode_id"]), one["agent"]["name"].numpy()) for one in mapped] == [(n, b"me") for n in range(4)]


@pytest.mark.parametrize("size", [0, 1])
def test_a_size_of_one_maps_step_by_step(size: int) -> None:
    """The number of steps stays known, and the function's Python code runs once, as in `Dataset.map`."""
    calls: list[Any] = []

    def counted(step: Any) -> Any:
        calls.append(step)
        return not_vectorizable(step)

    assert len(map_steps(STEPS, another_structure, size)) == len(STEPS)
    assert len(list(map_steps(STEPS, counted, size))) == len(STEPS)
    assert len(calls) == 1


def test_steps_that_are_tuples_are_unpacked() -> None:
    """As `Dataset.map` does it."""
    pairs = tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(3)))
    assert as_lists(map_steps(pairs, lambda a, b: a + b)) == [0, 2, 4]


def test_steps_of_unknown_shape_are_mapped() -> None:
    """Ragged steps are mapped one by one."""
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    assert as_lists(map_steps(rows, tf.reduce_sum)) == [1, 5]


def test_random_numbers_differ_from_step_to_step() -> None:
    """Each step draws its own, also when many are mapped at once."""
    drawn = as_lists(map_steps(tf.data.Dataset.range(50), lambda _: tf.random.uniform([])))
    assert len(set(drawn)) > 40


def test_function_may_use_what_surrounds_it() -> None:
    """Tensors from outside, of a map over episodes too."""
    scaled = episodes().map(
        lambda episode: map_steps(
            episode["steps"], lambda step: step["reward"] + tf.cast(episode["episode_id"], tf.float32)
        )
    )
    assert [as_lists(rewards) for rewards in scaled] == [[], [1.0], [2.0, 3.0], [3.0, 4.0, 5.0]]


def test_map_steps_in_a_function() -> None:
    """Inside a tf.function it is the same."""

    def total(steps: tf.data.Dataset) -> tf.Tensor:
        return map_steps(steps, lambda step: step["reward"] * 2).reduce(0.0, tf.add)

    assert tf.function(total)(STEPS) == 20


def test_apply_nested_steps() -> None:
    """A function of the dataset of steps; metadata stay, and the given episodes do not change."""
    given = episodes()
    applied = list(apply_nested_steps(given, lambda steps: steps.take(1)))
    assert [len(list(episode["steps"])) for episode in applied] == [0, 1, 1, 1]
    assert [int(episode["episode_id"]) for episode in applied] == [0, 1, 2, 3]
    assert [len(list(episode["steps"])) for episode in given] == [0, 1, 2, 3]


def test_apply_nested_steps_may_reduce() -> None:
    """What the function gives becomes the field, even if it is no dataset."""
    counted = apply_nested_steps(episodes(), lambda steps: steps.cardinality())
    assert [int(episode["steps"]) for episode in counted] == [0, 1, 2, 3]


@pytest.mark.parametrize("function", [map_nested_steps, apply_nested_steps])
def test_steps_alone_are_refused(function: Callable[..., Any]) -> None:
    """Wrong nesting is an error that says what an episode is."""
    with pytest.raises(TypeError, match="expected a dataset of episodes"):
        function(STEPS, lambda steps: steps)
