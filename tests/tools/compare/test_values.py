"""Differences of values."""

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.tools.compare import ABSENT, differences, short

NAN_WITH_PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text(max_size=3) | st.binary()
)
VALUES = st.recursive(
    SCALARS | st.lists(st.integers(0, 255), max_size=4).map(lambda items: np.array(items, np.uint8)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_value_does_not_differ_from_itself(value: object) -> None:
    """NaN included, whatever the nest."""
    assert list(differences(value, value)) == []


@given(VALUES, VALUES)
def test_differences_are_the_same_from_both_sides(a: object, b: object) -> None:
    """Which value comes first changes no path, kind or count."""
    there, back = ({(found.path, found.kind, found.count) for found in differences(*pair)} for pair in ((a, b), (b, a)))
    assert there == back


@pytest.mark.parametrize(
    ("a", "b", "kind", "largest"),
    [
        (0.0, -0.0, "value", 0),
        (math.nan, NAN_WITH_PAYLOAD, "value", None),
        (math.inf, 1.0, "value", math.inf),
        (True, 1, "type", 0),
        (1, 1.0, "type", 0),
        (1.0, np.float64(1), "type", 0),
        (np.float64(1), np.array(1.0), "type", 0),
        (np.float32(0.5), np.float64(1), "type", 0.5),
        (np.zeros(2, "<f4"), np.zeros(2, ">f4"), "type", 0),
        (np.zeros(2), np.zeros((2, 1)), "shape", None),
        ((1, 2), (1, 2, 3), "shape", None),
        ((1,), [1], "type", None),
        (np.str_("a"), np.str_("ab"), "value", None),
        (np.str_("a"), "a", "type", None),
        (2**80, 2**80 + 1, "value", 1),
        (2**5000, 0, "value", math.inf),
        (2**53, 2**53 + 1, "value", 1),
        (np.uint8(255), np.uint8(0), "value", 255),
        (np.array([2**63, 0], np.uint64), np.array([2**63 + 1, 0], np.uint64), "value", 1),
        (1 + 2j, 4 + 6j, "value", 5),
        ("a", "b", "value", None),
        (b"a", b"b", "value", None),
        (None, 0, "type", None),
        ({}, [], "type", None),
        ([[1], [2, 3]], 3, "type", None),
        (ABSENT, None, "missing", None),
    ],
)
def test_what_differs_and_by_how_much(a: object, b: object, kind: str, largest: float | None) -> None:
    """Types, shapes and bits are distinguished, and the difference of numbers is exact."""
    (found,) = differences(a, b)
    assert (found.kind, found.max_difference) == (kind, largest)


def test_elements_of_an_array_are_counted() -> None:
    """The first that differs stands for a large array; the largest difference is over all."""
    a = np.zeros((4, 5), np.float32)
    b = a.copy()
    b[1, 2], b[3, 4] = 3, -7
    (found,) = differences(a, b, "observation")
    assert (found.count, found.max_difference, short(found.a), short(found.b)) == (
        2,
        7,
        "0.0 at [1, 2]",
        "3.0 at [1, 2]",
    )


def test_parts_of_a_nest_are_named() -> None:
    """Paths include dicts and sequences, and the side that lacks a key is known."""
    a, b = {"x": [1, {"y": 2}], "only": 1}, {"x": [1, {"y": 3}]}
    assert [(found.path, found.kind) for found in differences(a, b, "info")] == [
        ("info/x[1]/y", "value"),
        ("info/only", "missing"),
    ]


@pytest.mark.parametrize(
    "value", ["x" * 500, np.zeros((9, 9)), np.ones((3, 2)), {"a": np.arange(999)}, list(range(999)), b"x" * 500]
)
def test_short_is_short(value: Any) -> None:
    """Whatever it is, it fits into a line."""
    text = short(value)
    assert len(text) <= 60
    assert "\n" not in text
