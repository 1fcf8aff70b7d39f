"""A dataset reduced to one value."""

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.fold import fold


@given(st.lists(st.integers(-99, 99), max_size=6))
@settings(max_examples=20)
def test_fold_is_reduce(numbers: list[int]) -> None:
    """It applies a function from the first to the last, also one whose order matters."""
    elements = tf.data.Dataset.from_tensor_slices(tf.constant(numbers, tf.int64))
    initial = tf.constant(7, tf.int64)
    found = fold(elements, initial, lambda so_far, element: so_far * 3 + element)
    assert found == elements.reduce(initial, lambda so_far, element: so_far * 3 + element)


def test_nests_and_growing_shapes() -> None:
    """State and elements may be nests, and the shape of the state may change."""
    elements = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": ([3, 4],)})
    initial = {"seen": tf.zeros([0], tf.int32), "last": tf.constant(0)}
    found = fold(
        elements, initial, lambda state, one: {"seen": tf.concat([state["seen"], [one["a"]]], 0), "last": one["b"][0]}
    )
    assert (found["seen"].numpy().tolist(), int(found["last"])) == ([1, 2], 4)


def test_in_a_function_and_in_a_map() -> None:
    def total(elements: tf.data.Dataset) -> tf.Tensor:
        return fold(elements, tf.constant(0, tf.int64), tf.add)

    assert tf.function(total)(tf.data.Dataset.range(4)) == 6
    assert [int(found) for found in tf.data.Dataset.range(4).map(lambda n: total(tf.data.Dataset.range(n)))] == [
        0,
        0,
        1,
        3,
    ]
