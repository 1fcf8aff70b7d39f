"""Copies share no memory with what they are copies of."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from rlds_kit.logger.value_copy import copy_value


class Pair(NamedTuple):
    left: Any
    right: Any


@pytest.mark.parametrize(
    "wrap",
    [lambda x: x, lambda x: {"a": x}, lambda x: [1, [x]], lambda x: (x, None), lambda x: Pair(x, "text")],
    ids=["array", "dict", "list", "tuple", "named tuple"],
)
def test_copy_is_equal_of_the_same_type_and_apart(wrap: Any) -> None:
    """Arrays are copied wherever they are."""
    array = np.arange(3)
    value = wrap(array)
    copied = copy_value(value)
    array += 1
    np.testing.assert_equal(copied, wrap(np.arange(3)))
    assert type(copied) is type(value)


def test_strange_objects_are_shared() -> None:
    """Refusing them is the recorder's business."""
    thing = object()
    assert copy_value([thing])[0] is thing
