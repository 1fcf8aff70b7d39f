"""Sliding batches against Python's slices."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import BATCH_AUTO_TUNE, batch, final_step


def expected(count: int, size: int, shift: int | None, stride: int, drop_remainder: bool) -> list[list[int]]:
    """The numbers in each window over `range(count)`."""
    windows = [list(range(start, count, stride))[:size] for start in range(0, count, shift or size)]
    return [window for window in windows if len(window) == size or not drop_remainder]


@given(
    count=st.integers(0, 12),
    size=st.integers(1, 5),
    shift=st.none() | st.integers(0, 7),
    stride=st.integers(1, 3),
    drop_remainder=st.booleans(),
)
@settings(max_examples=60)
def test_windows(count: int, size: int, shift: int | None, stride: int, drop_remainder: bool) -> None:
    """Windows hold what Python's slices do, tails shrink or are dropped, and the number of windows is known."""
    windows = batch(tf.data.Dataset.range(count), size, shift, stride, drop_remainder)
    found = [window.tolist() for window in windows.as_numpy_iterator()]
    assert found == expected(count, size, shift, stride, drop_remainder)
    assert windows.cardinality() == len(found)


@given(count=st.integers(0, 8), size=st.integers(1, 4), shift=st.integers(1, 5), drop_remainder=st.booleans())
@settings(max_examples=15)
def test_windows_of_ragged_elements(count: int, size: int, shift: int, drop_remainder: bool) -> None:
    """Elements that are no tensors are batched alike, in a nest too."""
    ragged = tf.RaggedTensor.from_row_lengths(tf.range(count * (count - 1) // 2), range(count))
    elements = tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(ragged), tf.data.Dataset.range(count)))
    windows = batch(elements, size, shift, 1, drop_remainder)
    assert [numbers.numpy().tolist() for _, numbers in windows] == expected(count, size, shift, 1, drop_remainder)
    assert [[len(row) for row in rows.to_list()] for rows, _ in windows] == [n.numpy().tolist() for _, n in windows]


def test_structure_is_kept() -> None:
    """Every leaf of a nest gets the leading dimension; strings and images too."""
    steps = {"observation": {"image": np.zeros((3, 2, 2), np.uint8), "text": ["a", "b", "c"]}, "action": ([1, 2, 3],)}
    first = next(iter(batch(tf.data.Dataset.from_tensor_slices(steps), size=2, shift=1)))
    assert first["observation"]["image"].shape == (2, 2, 2)
    assert first["observation"]["text"].numpy().tolist() == [b"a", b"b"]
    assert first["action"][0].numpy().tolist() == [1, 2]


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_full_windows_have_a_static_size(shift: int) -> None:
    """Without shorter windows, the leading dimension is known before any data is read."""
    assert batch(tf.data.Dataset.range(9), 2, shift, drop_remainder=True).element_spec.shape == [2]
    assert batch(tf.data.Dataset.range(9), 2, shift).element_spec.shape.as_list() == [None]


def test_datasets_of_episodes_are_batched() -> None:
    """Nested datasets become one element of a batch each."""
    episodes = tf.data.Dataset.range(4).map(lambda i: {"id": i, "steps": tf.data.Dataset.range(i)})
    assert [b["id"].numpy().tolist() for b in batch(episodes, size=2, shift=3)] == [[0, 1], [3]]


def test_tuples_of_one_stay_tuples() -> None:
    """Of tensors and of others."""
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]]))
    for elements in (tf.data.Dataset.range(2), rows):
        windows = batch(tf.data.Dataset.zip((elements,)), 2, 1)
        assert [type(window) for window in windows] == [tuple, tuple]


def test_unknown_and_endless_numbers_stay_so() -> None:
    """What is not known of the elements is not known of the windows."""
    numbers = tf.data.Dataset.range(5)
    assert batch(numbers.repeat(), 2, 1, drop_remainder=True).cardinality() == tf.data.INFINITE_CARDINALITY
    unknown = batch(numbers.filter(lambda _: True), 2, 1, drop_remainder=True)
    assert unknown.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert len(list(unknown)) == 4


def test_last_window_can_be_had() -> None:
    """Functions that trust the number of windows find the last one."""
    assert final_step(batch(tf.data.Dataset.range(5), 2, 1, drop_remainder=True)).numpy().tolist() == [3, 4]


def test_automatic_size() -> None:
    """It depends on the bytes of an element, and elements need not be dicts."""
    assert [len(b) for b in batch(tf.data.Dataset.range(30_000), BATCH_AUTO_TUNE)] == [25_000, 5_000]


@pytest.mark.parametrize(("size", "shift", "stride"), [(2, 1, 1), (2, 3, 1), (1, 4, 1), (2, 3, 2), (3, 1, 2)])
@pytest.mark.parametrize("drop_remainder", [False, True])
def test_number_of_windows_in_a_map(size: int, shift: int, stride: int, drop_remainder: bool) -> None:
    """Where the number of elements is a symbol, that of the windows is right too."""

    def windows(count: tf.Tensor) -> tuple[tf.data.Dataset, tf.Tensor]:
        found = batch(tf.data.Dataset.range(count), size, shift, stride, drop_remainder)
        return found, found.cardinality()

    for count, (found, cardinality) in enumerate(tf.data.Dataset.range(9).map(windows)):
        wanted = expected(count, size, shift, stride, drop_remainder)
        assert [window.numpy().tolist() for window in found] == wanted
        assert cardinality == len(wanted)


def test_inside_a_function_and_a_map() -> None:
    """Graphs give the same windows."""

    def windows(count: Any) -> tf.data.Dataset:
        return batch(tf.data.Dataset.range(count), 2, 1, drop_remainder=True)

    def total(count: tf.Tensor) -> tf.Tensor:
        return windows(count).reduce(tf.constant(0, tf.int64), lambda so_far, window: so_far + tf.reduce_sum(window))

    assert tf.function(total)(tf.constant(4, tf.int64)) == 1 + 3 + 5
    mapped = tf.data.Dataset.range(5).map(windows)
    assert [len(list(nested)) for nested in mapped] == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"size": 0}, "size"), ({"size": 2, "shift": -1}, "shift"), ({"size": 2, "stride": 0}, "stride")],
)
def test_bad_numbers_are_refused(arguments: dict[str, Any], name: str) -> None:
    """The error names the argument and what came."""
    with pytest.raises(ValueError, match=f"expected a positive {name}, got"):
        batch(tf.data.Dataset.range(4), **arguments)
