"""Conditions and what they are made of."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rlds_kit.transformations import Condition

OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize(("sign", "compare"), OPERATORS.items())
def test_comparisons_make_conditions(sign: str, compare: Callable[[Any, Any], Any]) -> None:
    """Each operator keeps its sign and its number."""
    condition = compare(Condition.steps_since_applied(), 4)
    assert isinstance(condition, Condition)
    assert (condition.quantity.kind, condition.comparison, condition.value) == ("steps_since_applied", sign, 4)


def test_number_may_come_first() -> None:
    """Python turns the comparison around."""
    condition = 3 < Condition.step_index()  # noqa: SIM300  the subject
    assert isinstance(condition, Condition)
    assert (condition.comparison, condition.value) == (">", 3)


def test_remainder_is_kept() -> None:
    """And the quantity that it is taken of stays as it was."""
    index = Condition.step_index()
    condition = index % 3 != 1
    assert isinstance(condition, Condition)
    assert (condition.quantity.modulus, index.modulus) == (3, None)


def test_data_has_the_nest_of_the_step() -> None:
    """Each leaf can be compared."""
    condition = Condition.data({"a": {"b": (None, None)}})["a"]["b"][1] == False  # noqa: E712  a condition
    assert (condition.quantity.path, condition.value) == (("a", "b", 1), 0)


@pytest.mark.parametrize(
    ("value", "kept"), [(np.int64(3), 3), (np.float32(0.5), 0.5), (np.True_, 1), (True, 1), (2.5, 2.5)]
)
def test_numbers_of_numpy_are_numbers(value: Any, kept: float) -> None:
    """They are stored as Python's."""
    condition = Condition.step_index() >= value
    assert (condition.value, type(condition.value)) == (kept, type(kept))


@pytest.mark.parametrize("value", ["3", None, [1]])
def test_other_values_are_refused(value: Any) -> None:
    """Only numbers can be compared with."""
    with pytest.raises(TypeError, match="condition on step_index: expected a number to compare with"):
        Condition.step_index() < value  # noqa: B015  it raises


@pytest.mark.parametrize("modulus", [0, -2, 2.5])
def test_modulus_must_be_positive(modulus: int) -> None:
    """There is no remainder otherwise."""
    with pytest.raises(ValueError, match="expected a positive integer"):
        Condition.step_index() % modulus


def test_truth_is_refused() -> None:
    """`0 < index < 5` and `and` would forget the first condition."""
    with pytest.raises(TypeError, match="Give several as a list"):
        0 < Condition.step_index() < 5  # noqa: B015  it raises
