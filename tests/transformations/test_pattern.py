"""Reference steps, patterns and configs."""

from typing import Any, NamedTuple

import pytest
import tensorflow as tf

from rlds_kit.transformations import (
    Condition,
    PatternNode,
    create_config,
    create_reference_step,
    pattern_from_transform,
    step_spec,
)


class Arm(NamedTuple):
    """A step may contain tuples, named or not."""

    left: Any
    right: Any


REFERENCE = create_reference_step({"a": None, "b": {"c": None, "d": (None, Arm(None, None))}, "e": [None]})


@pytest.mark.parametrize(
    ("node", "offsets", "history", "length"),
    [
        (REFERENCE["a"][-1], [0], 1, None),
        (REFERENCE["a"][-2], [-1], 2, None),
        (REFERENCE["a"][-1:], [0], 1, 1),
        (REFERENCE["a"][-1:0], [0], 1, 1),
        (REFERENCE["a"][-3:], [-2, -1, 0], 3, 3),
        (REFERENCE["a"][-3:-1], [-2, -1], 3, 2),
        (REFERENCE["a"][-5::2], [-4, -2, 0], 5, 3),
        (REFERENCE["a"][-4::3], [-3, 0], 4, 2),
        (REFERENCE["a"][-5:-1:2], [-4, -2], 5, 2),
    ],
)
def test_indices_count_from_the_newest_step(
    node: PatternNode, offsets: list[int], history: int, length: int | None
) -> None:
    """They select what Python's own would from a list whose last item is the newest step."""
    assert (list(node.offsets), node.history, node.length) == (offsets, history, length)
    queue = [-3, -2, -1, 0] if history <= 4 else [-4, -3, -2, -1, 0]
    key = node.stop if node.start is None else slice(node.start, node.stop or None, node.step)
    assert ([queue[key]] if isinstance(key, int) else queue[key]) == offsets


def test_reference_has_the_nest_of_the_step() -> None:
    """Dicts, tuples, named tuples and lists; each leaf knows where it is."""
    found = [
        REFERENCE["a"],
        REFERENCE["b"]["c"],
        REFERENCE["b"]["d"][0],
        REFERENCE["b"]["d"][1].right,
        REFERENCE["e"][0],
    ]
    assert [leaf[-1].path for leaf in found] == [("a",), ("b", "c"), ("b", "d", 0), ("b", "d", 1, 1), ("e", 0)]


def test_reference_of_a_dataset() -> None:
    """The spec of the steps is a step structure, and tf.nest maps over what it gives."""
    steps = tf.data.Dataset.from_tensor_slices({"observation": {"x": [1], "y": [[2]]}, "reward": [1.0]})
    spec = step_spec(tf.data.Dataset.from_tensors({"steps": steps}))
    pattern = pattern_from_transform(spec, lambda step: tf.nest.map_structure(lambda x: x[-2], step["observation"]))
    assert pattern == {
        "x": PatternNode(("observation", "x"), None, -2),
        "y": PatternNode(("observation", "y"), None, -2),
    }


BAD = [0, 1, "b", None, -1.5, True, slice(None), slice(None, -1), slice(-1, -2), slice(-2, -2), slice(0, None)]
BAD += [slice(-3, 1), slice(-3, None, 0), slice(-3, None, -1), slice(1, 3), slice("a", None)]


@pytest.mark.parametrize("key", BAD, ids=str)
def test_other_keys_are_refused(key: Any) -> None:
    """A step that has not arrived, and what is no index, is an error that names the field."""
    with pytest.raises(ValueError, match=r"pattern of step\['b'\]\['c'\]\[.*\]: expected a"):
        REFERENCE["b"]["c"][key]


def test_reference_field_cannot_be_iterated() -> None:
    """It has no first item, so nothing waits for one."""
    with pytest.raises(TypeError, match="not iterable"):
        list(REFERENCE["a"])


def test_config_needs_as_many_steps_as_its_oldest_leaf() -> None:
    """History is that of the leaf that reaches back furthest."""
    assert create_config({"x": REFERENCE["a"][-1], "y": (REFERENCE["a"][-4::2],)}).history == 4


def test_config_takes_lists_for_tuples() -> None:
    """A dataset would take a list for a tensor."""
    config = create_config(
        [REFERENCE["a"][-1], {"x": [REFERENCE["a"][-2]]}, Arm(REFERENCE["a"][-1], REFERENCE["a"][-2])]
    )
    assert isinstance(config.pattern, tuple)
    assert isinstance(config.pattern[1]["x"], tuple)
    assert isinstance(config.pattern[2], Arm)


def test_arguments_of_reverb_are_taken() -> None:
    """Code that was written for Reverb names a table."""
    condition = Condition.step_index() < 10
    config = create_config(REFERENCE["a"][-1], table="transition", conditions=[condition])
    assert config.conditions == (condition,)


@pytest.mark.parametrize("pattern", [{}, (), {"x": ()}])
def test_empty_pattern_is_refused(pattern: Any) -> None:
    """It would give elements without content."""
    with pytest.raises(ValueError, match="at least one leaf"):
        create_config(pattern)


def test_leaf_without_an_index_is_refused() -> None:
    """The error says what to write."""
    with pytest.raises(TypeError, match=r"Say which steps: step\['a'\]\[-1\]"):
        create_config({"x": REFERENCE["a"]})


def test_computed_leaf_is_refused() -> None:
    """Patterns select; a number is no selection."""
    with pytest.raises(TypeError, match="expected indexed leaves of a reference step, got 1"):
        create_config({"x": 1})


def test_condition_that_is_none_is_refused() -> None:
    """A forgotten comparison is an error that shows one."""
    with pytest.raises(TypeError, match=r"expected conditions, as Condition.step_index\(\) < 10 is"):
        create_config(REFERENCE["a"][-1], conditions=[Condition.step_index()])  # type: ignore[list-item]  # the mistake
