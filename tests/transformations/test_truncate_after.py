"""Episodes cut after a condition."""

from typing import Any

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations import truncate_after_condition


@given(st.lists(st.booleans(), max_size=8))
@settings(max_examples=25)
def test_steps_up_to_the_first_that_satisfies(flags: list[bool]) -> None:
    """It is included; without one, all steps are returned."""
    steps = tf.data.Dataset.from_tensor_slices({"n": tf.range(len(flags)), "stop": tf.constant(flags, tf.bool)})
    found = [int(step["n"]) for step in truncate_after_condition(steps, lambda step: step["stop"])]
    assert found == list(range(flags.index(True) + 1 if True in flags else len(flags)))


def test_steps_behind_it_are_not_read() -> None:
    """An endless dataset is cut too. One step behind is looked at, to see that it is over."""
    seen = []

    def see(number: tf.Tensor) -> bool:
        seen.append(int(number))
        return int(number) == 2

    def condition(step: tf.Tensor) -> tf.Tensor:
        return tf.py_function(see, [step], tf.bool)

    cut = truncate_after_condition(tf.data.Dataset.range(10).repeat(), condition)
    assert [int(n) for n in cut] == [0, 1, 2]
    assert seen == [0, 1, 2, 3]


def test_condition_may_branch() -> None:
    """Python's `if` on a tensor works, as in any function that is mapped."""

    def condition(step: tf.Tensor) -> Any:
        if step > 0:
            return step > 1
        return False

    assert [int(n) for n in truncate_after_condition(tf.data.Dataset.range(5), condition)] == [0, 1, 2]


def test_fields_stay() -> None:
    """`is_last` of the new final step is as it was: cutting is not ending."""
    steps = tf.data.Dataset.from_tensor_slices({"reward": [1.0, 5.0, 2.0], "is_last": [False, False, True]})
    cut = list(truncate_after_condition(steps, lambda step: step["reward"] > 3))
    assert [bool(step["is_last"]) for step in cut] == [False, False]
