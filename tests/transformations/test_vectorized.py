"""Functions of one step, run on many at once where that is possible."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlds_kit.transformations.vectorized import map_in_batches, vectorize

STEPS = tf.data.Dataset.from_tensor_slices(
    {"vector": np.arange(12, dtype=np.float32).reshape(4, 3), "n": np.arange(4), "name": ["a", "b", "c", "d"]}
)


def branches(step: Any) -> Any:
    """Python's control flow, on tensors."""
    if step["n"] > 1:
        return {"x": step["vector"] * 2}
    return {"x": step["vector"]}


def loops(step: Any) -> Any:
    """A loop whose length depends on the step."""
    total = tf.constant(0, tf.int64)
    for i in tf.range(step["n"]):
        total += i
    return total


def constants(_: Any) -> Any:
    """Python's own values, which do not depend on the step."""
    return {"a": 1, "b": True, "c": ("x", 2.5)}


def texts(step: Any) -> Any:
    """Text has no vectorized form."""
    return tf.strings.join([step["name"], "!"])


def shapes(step: Any) -> Any:
    """Results whose shapes differ."""
    return tf.boolean_mask(step["vector"], step["vector"] > 4)


def prefixes(step: Any) -> Any:
    """Slices whose ends depend on the step."""
    return step["vector"][: step["n"]]


def in_python(step: Any) -> Any:
    """Python's own code, run for each step."""
    return tf.numpy_function(lambda vector: vector * 2, [step["vector"]], tf.float32)


def datasets(step: Any) -> Any:
    """A dataset for each step."""
    return tf.data.Dataset.from_tensor_slices(step["vector"])


def test_vectorizable_functions() -> None:
    """What TensorFlow can vectorize is: the results of a batch are those of its steps."""
    batch = next(iter(STEPS.batch(4)))
    for function in (branches, loops, constants, tf.function(branches)):
        vectorized = vectorize(function, STEPS.element_spec)
        assert vectorized is not None
        singles = list(STEPS.map(function).batch(4))
        tf.nest.map_structure(np.testing.assert_array_equal, vectorized(batch), singles[0])


@pytest.mark.parametrize("function", [texts, shapes, prefixes, in_python, datasets])
def test_other_functions(function: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Functions that cannot be vectorized are detected without log messages, before any data are read."""
    with caplog.at_level(logging.DEBUG):
        assert vectorize(function, STEPS.element_spec) is None
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_assignment_to_a_variable_is_not_vectorized() -> None:
    """It happens once for each step, not once for each batch."""
    count = tf.Variable(0)

    def counted(step: Any) -> Any:
        count.assign_add(1)
        return step["n"]

    assert vectorize(counted, STEPS.element_spec) is None


def test_mistakes_show_when_mapped() -> None:
    """An error of the function's own is not hidden."""
    assert vectorize(lambda step: step["missing"], STEPS.element_spec) is None
    with pytest.raises(KeyError, match="missing"):
        map_in_batches(STEPS, lambda step: step["missing"], lambda batch: batch, size=2)


def test_logger_is_left_as_it_was() -> None:
    """TensorFlow's other messages come through afterwards."""
    before = list(tf.get_logger().filters)
    vectorize(texts, STEPS.element_spec)
    assert tf.get_logger().filters == before


@pytest.mark.parametrize("size", [1, 2, 3, 10, -1])
@pytest.mark.parametrize("function", [branches, loops, texts])
def test_summary_of_batches(function: Callable[[Any], Any], size: int) -> None:
    """Batches of results have all of them in order, for any size."""
    batches = map_in_batches(STEPS, function, lambda batch: {"results": batch}, size)
    found = tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), *(batch["results"] for batch in batches))
    tf.nest.map_structure(np.testing.assert_array_equal, found, next(iter(STEPS.map(function).batch(9))))


def test_large_results_make_small_batches() -> None:
    """Where results are larger than steps, as decoded images are, they count."""

    def decoded(step: Any) -> tf.Tensor:
        text = tf.strings.length(step["name"])  # prevents vectorization
        return tf.ensure_shape(tf.fill([150_000], tf.cast(text, tf.uint8)), [150_000])

    assert [len(batch) for batch in map_in_batches(STEPS, decoded, lambda batch: batch, -1)] == [1, 1, 1, 1]
