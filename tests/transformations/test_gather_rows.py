"""Rows of nests of tensors."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.transformations.fields import gather_rows, latest_true, spread, zero_unless
from tests.transformations.episodes import assert_same, to_numpy


@given(st.lists(st.booleans(), max_size=20))
def test_latest_true_equals_loop(flags: list[bool]) -> None:
    """The last row up to each one whose flag is set."""
    expected = [max([-1, *(at for at in range(row + 1) if flags[at])]) for row in range(len(flags))]
    assert latest_true(tf.constant(flags, tf.bool)).numpy().tolist() == expected


def test_gather_windows() -> None:
    """Numbers of two dimensions give windows."""
    tree = {"a": tf.constant([[1, 2], [3, 4]]), "b": (tf.constant(["x", "y"]),)}
    actual = to_numpy(gather_rows(tree, tf.constant([[0, 1], [1, 1]])))
    assert actual["a"].tolist() == [[[1, 2], [3, 4]], [[3, 4], [3, 4]]]
    assert actual["b"][0].tolist() == [[b"x", b"y"], [b"y", b"y"]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1.5, np.nan], [np.inf, 2]]), np.array([[1.5, np.nan], [0, 0]])),
        (np.array([7, 7], np.uint8), np.array([7, 0], np.uint8)),
        (np.array([True, True]), np.array([True, False])),
        (np.array([b"x", b"y"], object), np.array([b"x", b""], object)),
    ],
    ids=["floats", "integers", "bools", "text"],
)
def test_zeros_of_each_dtype(value: np.ndarray, expected: np.ndarray) -> None:
    """What is masked is zero, False or empty, whatever stood there."""
    assert_same(to_numpy(zero_unless(tf.constant([True, False]), {"a": tf.constant(value)})), {"a": expected})


def test_more_dimensions_than_there_are() -> None:
    """A mask of windows does not silently broadcast over single steps."""
    with pytest.raises(ValueError, match=r"expected the leading dimensions of \(2,\), got \(2, 3\)"):
        spread(tf.ones([2, 3]), tf.ones([2]))
