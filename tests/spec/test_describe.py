"""Values and specs in words."""

import doctest

import pytest

from rlds_kit.spec import describe, describe_value
from rlds_kit.spec.describe import MAX_CHARACTERS


def test_examples_of_docstrings() -> None:
    assert doctest.testmod(describe).failed == 0


@pytest.mark.parametrize("length", [0, 10, MAX_CHARACTERS - 7, MAX_CHARACTERS - 6, MAX_CHARACTERS - 5, 1000])
def test_long_values_are_cut_to_the_limit(length: int) -> None:
    """What fits is whole; of the rest as much is shown as fits before three dots."""
    whole = f"str {'a' * length!r}"
    shown = describe_value("a" * length)
    assert shown == (whole if len(whole) <= MAX_CHARACTERS else f"{whole[: MAX_CHARACTERS - 3]}...")
    assert len(shown) == min(len(whole), MAX_CHARACTERS)
