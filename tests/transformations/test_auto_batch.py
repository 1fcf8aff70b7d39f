"""The choice of a batch size."""

import math
from typing import Any

import pytest
import tensorflow as tf

from rlds_kit.transformations import BATCH_AUTO_TUNE
from rlds_kit.transformations.auto_batch import auto_batch_size, element_bytes, is_dense

FLOATS = tf.TensorSpec([17], tf.float32)
RAGGED = tf.RaggedTensorSpec([None, None], tf.int32)
STEPS = tf.data.DatasetSpec(FLOATS)


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        (FLOATS, 200_000 // 68),
        ({"observation": FLOATS, "nested": (tf.TensorSpec([], tf.bool),)}, 200_000 // 69),
        (tf.TensorSpec([210, 160, 3], tf.uint8), 1),
        (tf.TensorSpec([1000, 1000], tf.float64), 1),
        (tf.TensorSpec([None], tf.float32), 1),
        (tf.TensorSpec(None, tf.float32), 1),
        (tf.TensorSpec([0], tf.float32), 200_000),
        (tf.TensorSpec([], tf.string), 200),
        (RAGGED, 1),
        ({"steps": STEPS}, 1),
    ],
)
def test_size_is_chosen_by_bytes(spec: Any, size: int) -> None:
    """As many as fit in 200 kB, but at least one; one where a shape is not known. No structure is refused."""
    assert auto_batch_size(spec) == auto_batch_size(spec, BATCH_AUTO_TUNE) == size


def test_given_size_wins() -> None:
    """A size of the caller's own is taken as it is; 0 and 1 both mean one by one."""
    assert [auto_batch_size(FLOATS, hint) for hint in (0, 1, 7)] == [1, 1, 7]


def test_negative_size_is_refused() -> None:
    """-1 means: choose. Below that is a mistake."""
    with pytest.raises(ValueError, match="expected a positive number"):
        auto_batch_size(FLOATS, -2)


def test_unknown_bytes_are_infinite() -> None:
    """So that no sum with them is small."""
    assert element_bytes((FLOATS, tf.TensorSpec([None], tf.int8))) == math.inf


def test_only_tensors_are_dense() -> None:
    """Ragged tensors and datasets need another way to be batched."""
    assert is_dense({"observation": (FLOATS, FLOATS)})
    assert not is_dense({"observation": RAGGED})
    assert not is_dense({"steps": STEPS})
