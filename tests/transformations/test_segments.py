"""Which steps hang together, against loops."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

from rlds_kit.transformations.segments import is_acted, is_defined, segments
from tests.transformations.episodes import Steps, episode_steps, make_steps, taken, to_tensors


@given(episode_steps(min_length=0))
def test_segments_equal_loop(steps: Steps) -> None:
    """A segment goes from a step to the next one whose action leads nowhere."""
    length = len(steps["is_last"])
    first, last = segments(to_tensors(steps))
    for row in range(length):
        begin, end = row, row
        while begin > 0 and taken(steps)[begin - 1]:
            begin -= 1
        while taken(steps)[end]:
            end += 1
        assert (int(first[row]), int(last[row])) == (begin, end)
    assert (len(first), len(last)) == (length, length)


@given(episode_steps(min_length=0))
def test_actions_that_led_on(steps: Steps) -> None:
    """An action is defined where the next step has the next number."""
    assert is_acted(to_tensors(steps)).numpy().tolist() == taken(steps).tolist()


@pytest.mark.parametrize("index", [[0, 1, 3], [5, 6, 8], [1, 2, 1], [4, 5, 5]])
def test_any_jump_is_a_gap(index: list[int]) -> None:
    """So is a number that comes twice, or a smaller one; what the first number is does not matter."""
    assert is_acted(to_tensors(make_steps(3, step_index=index))).numpy().tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_numbers_of_any_integer_dtype(dtype: type[np.integer]) -> None:
    """Unsigned numbers do not wrap around into a gap that is none, nor hide one."""
    steps = to_tensors(make_steps(4) | {"step_index": np.array([0, 1, 3, 2], dtype)})
    assert is_acted(steps).numpy().tolist() == [True, False, False, False]


def test_defined_fields() -> None:
    """Each field is defined where the data model specifies it."""
    steps = to_tensors(make_steps(3, final_observation=False))
    defined = {field: is_defined(steps, field).numpy().tolist() for field in ("observation", "reward", "is_last")}
    assert defined == {"observation": [True, True, False], "reward": [True, True, False], "is_last": [True] * 3}


def test_static_length() -> None:
    """A known number of steps stays known."""
    steps = tf.data.Dataset.from_tensors(to_tensors(make_steps(3))).map(is_acted)
    assert steps.element_spec.shape == [3]
