"""Values as JSON: of bounded size, whatever was recorded."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.replay.values import MOST_VALUES, at, below, shown

ARRAYS = st.builds(
    np.zeros,
    st.lists(st.integers(0, 40), max_size=4).map(tuple),
    st.sampled_from(["bool", "int8", ">i4", "uint64", "float16", ">f8", "complex64", "<U3", ">U2"]),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | ARRAYS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_anything_is_json(value: Any) -> None:
    """JSON that browsers can read: no NaN, no very long numbers."""
    json.loads(json.dumps(shown(value), allow_nan=False))


@given(st.dictionaries(st.text(max_size=4), st.lists(st.integers(), min_size=1, max_size=3), min_size=1, max_size=4))
def test_every_part_has_a_place(value: dict[str, list[int]]) -> None:
    for key, items in value.items():
        place = below("observation", key)
        assert at({"observation": value}, below(place, len(items) - 1) or "") == items[-1]


@pytest.mark.parametrize(
    "value", [[[0] * 3000] * 3000, {str(number): {"a": [1, 2]} for number in range(50_000)}, [np.zeros(4096)] * 5000]
)
def test_what_is_too_much_is_cut(value: Any) -> None:
    text = json.dumps(shown(value))
    assert len(text) < 12_000_000
    assert text.count('"kind"') <= 3 * MOST_VALUES
    assert '"cut"' in text or shown(value)["size"] > len(shown(value)["items"])


@pytest.mark.parametrize("value", ["x" * 10**6, b"x" * 10**6])
def test_long_text_and_bytes_begin(value: Any) -> None:
    """Their beginning is shown, with the full length."""
    found = shown(value)
    assert found["size"] == 10**6
    assert len(json.dumps(found)) < 21_000


@pytest.mark.parametrize("place", ["observation/2", "observation/-1", "observation/²", "observation/0/0", "", "x/y"])
def test_places_without_a_value_are_errors(place: str) -> None:
    """Negative indices and other digits are refused."""
    with pytest.raises(LookupError):
        at({"observation": [1, 2]}, place)


def test_big_endian_arrays_say_so() -> None:
    """Their type is named, and their values are shown as numbers."""
    found = shown(np.array([1, 2], ">i4"))
    assert (found["dtype"], found["values"]) == (">i4", [1, 2])
