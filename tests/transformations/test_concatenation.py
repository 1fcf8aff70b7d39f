"""Datasets one after the other, with and without the same fields."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import concat_if_terminal, concatenate, zero_dataset_like

# Fields that a dataset may have or lack: the path, and the values.
FIELDS: dict[tuple[str, ...], np.ndarray] = {
    ("observation", "image"): np.full((2, 2), 9, np.uint8),
    ("observation", "state", "position"): np.array(1.5),
    ("observation", "state", "name"): np.array(b"arm"),
    ("action",): np.array([1, 2]),
    ("is_last",): np.array(True),
    ("info", "lives"): np.array(3, np.int8),
}
paths = st.sets(st.sampled_from(sorted(FIELDS)), min_size=1)


def nest(values: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    """The dict of dicts that has values at paths."""
    result: dict[str, Any] = {}
    for path, value in values.items():
        inner = result
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    return result


@given(paths, paths, st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=30)
def test_missing_fields_are_zeros(first: set[Any], second: set[Any], n_first: int, n_second: int) -> None:
    """At every depth, both datasets get the fields of the other."""
    one = tf.data.Dataset.from_tensors(nest({path: FIELDS[path] for path in first})).repeat(n_first)
    other = tf.data.Dataset.from_tensors(nest({path: FIELDS[path] for path in second})).repeat(n_second)
    both = concatenate(one, other)
    assert both.cardinality() == n_first + n_second

    def expected(present: set[Any]) -> dict[str, Any]:
        everything = {path: FIELDS[path] for path in first | second}
        return nest({path: v if path in present else np.zeros_like(v) for path, v in everything.items()})

    wanted = [expected(first)] * n_first + [expected(second)] * n_second
    found = list(both.as_numpy_iterator())
    for step, want in itertools.zip_longest(found, wanted):
        np.testing.assert_equal(step, want)


def test_equal_structures_are_not_touched() -> None:
    """What is the same in both is concatenated as it is, dict or not."""
    assert [int(n) for n in concatenate(tf.data.Dataset.range(2), tf.data.Dataset.range(1))] == [0, 1, 0]


class Arm(NamedTuple):
    """A step may contain tuples, named or not."""

    left: Any
    right: Any


def test_dicts_in_tuples_are_completed() -> None:
    """The union goes through tuples, which keep their class."""
    one = tf.data.Dataset.from_tensors({"arms": Arm({"a": 1}, (2,))})
    other = tf.data.Dataset.from_tensors({"arms": Arm({"b": 3}, (4,))})
    steps = [tf.nest.map_structure(int, step["arms"]) for step in concatenate(one, other)]
    assert steps == [Arm({"a": 1, "b": 0}, (2,)), Arm({"a": 0, "b": 3}, (4,))]


def test_unknown_dimensions_are_filled_with_nothing() -> None:
    """No row is made up where the size is unknown, so that padding makes a batch of it."""
    spec = {"points": tf.TensorSpec([None, 3], tf.float32)}
    points = tf.data.Dataset.from_generator(
        lambda: ({"points": np.ones((n, 3))} for n in (2, 1)), output_signature=spec
    )
    both = concatenate(points, tf.data.Dataset.from_tensors({"is_padding": True}))
    assert [step["points"].shape.as_list() for step in both] == [[2, 3], [1, 3], [0, 3]]
    assert next(iter(both.padded_batch(3)))["points"].shape == [3, 2, 3]


def test_ragged_fields_are_filled_with_nothing() -> None:
    """A ragged field of a known number of rows has that many, empty."""
    rows = tf.ragged.constant([[[1], [2, 3]]])
    both = concatenate(tf.data.Dataset.from_tensor_slices({"rows": rows}), tf.data.Dataset.from_tensors({"n": 1}))
    real, filler = (step["rows"].to_list() for step in both)
    assert (real, filler) == ([[1], [2, 3]], [[]])


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        ({"a": {"b": 1}}, {"a": 1}, r"step\['a'\] is"),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, r"step\['a'\]\['b'\] is"),
        ({"a": [1]}, {"a": 1}, r"step\['a'\] is"),
        ({"a": (1, 2)}, {"a": (1, 2, 3)}, r"step\['a'\] is"),
        ({"a": (1, 2.0)}, {"a": (1, 2)}, r"step\['a'\]\[1\] is"),
        ({"a": 1}, 1, "step is"),
    ],
    ids=["dict and not", "dtype", "rank", "length", "in a tuple", "no dict"],
)
def test_fields_that_do_not_fit_are_refused(one: Any, other: Any, place: str) -> None:
    """The error has the place, and the type in each of the two."""
    with pytest.raises(ValueError, match=place):
        concatenate(tf.data.Dataset.from_tensors(one), tf.data.Dataset.from_tensors(other))


def episode(length: int, *, is_terminal: bool, is_known: bool = True) -> tf.data.Dataset:
    """An episode whose number of steps tf.data knows or does not."""
    flags = np.arange(length) == length - 1 if is_terminal else np.zeros(length, bool)
    steps = tf.data.Dataset.from_tensor_slices({"observation": np.arange(length), "is_terminal": flags})
    return steps if is_known else steps.filter(lambda _: True)


def numbers(steps: tf.data.Dataset) -> list[int]:
    """The observations of an episode."""
    return [int(step["observation"]) for step in steps]


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("length", [1, 2, 255, 256, 257, 512])
def test_terminal_episode_is_extended(length: int, is_known: bool) -> None:
    """The extra steps come from the final one, whatever the length."""
    steps = episode(length, is_terminal=True, is_known=is_known)
    extended = concat_if_terminal(steps, lambda final: tf.data.Dataset.from_tensors(final).repeat(2))
    assert numbers(extended) == [*range(length), length - 1, length - 1]


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("length", [0, 1, 256, 257])
def test_other_episode_is_left_alone(length: int, is_known: bool) -> None:
    """A truncated episode and one without steps stay as they are."""
    steps = episode(length, is_terminal=False, is_known=is_known)
    extended = concat_if_terminal(steps, lambda final: tf.data.Dataset.from_tensors(final).repeat(2))
    assert numbers(extended) == [*range(length)]


def test_terminal_flag_in_the_middle_does_not_count() -> None:
    """Only the final step decides."""
    steps = tf.data.Dataset.from_tensor_slices({"observation": [0, 1], "is_terminal": [True, False]})
    assert numbers(concat_if_terminal(steps, lambda final: zero_dataset_like(steps))) == [0, 1]


def test_extra_steps_may_have_other_fields() -> None:
    """They are zeros elsewhere, in an episode that is not extended too."""
    for is_terminal, expected in ((True, [False, False, True]), (False, [False, False])):
        extended = concat_if_terminal(
            episode(2, is_terminal=is_terminal), lambda _: tf.data.Dataset.from_tensors({"is_absorbing": True})
        )
        assert [bool(step["is_absorbing"]) for step in extended] == expected


def test_steps_are_read_once_and_late() -> None:
    """Nothing is read when the result is made, and every step once when it is read."""
    reads = []

    def generate() -> Any:
        for index in range(3):
            reads.append(index)
            yield {"observation": index, "is_terminal": index == 2}

    spec = {"observation": tf.TensorSpec([], tf.int64), "is_terminal": tf.TensorSpec([], tf.bool)}
    steps = tf.data.Dataset.from_generator(generate, output_signature=spec)
    extended = concat_if_terminal(steps, tf.data.Dataset.from_tensors)
    assert reads == []
    assert numbers(extended) == [0, 1, 2, 2]
    assert reads == [0, 1, 2]


def test_episodes_are_extended_in_a_map() -> None:
    """It works on the steps inside `Dataset.map` and in a function."""
    episodes = tf.data.Dataset.range(3).map(
        lambda n: {"steps": tf.data.Dataset.range(n).map(lambda i: {"observation": i, "is_terminal": i == 1})}
    )
    extended = episodes.map(lambda one: concat_if_terminal(one["steps"], tf.data.Dataset.from_tensors))
    assert [numbers(steps) for steps in extended] == [[], [0], [0, 1, 1]]


def test_steps_without_the_flag_are_refused() -> None:
    """The error says what is missing."""
    steps = tf.data.Dataset.from_tensor_slices({"observation": [0, 1]})
    with pytest.raises(ValueError, match="expected steps with a field 'is_terminal'"):
        concat_if_terminal(steps, tf.data.Dataset.from_tensors)
