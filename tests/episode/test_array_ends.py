"""Rows of arrays that are compared."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.episode import array_ends
from rlds_kit.episode.array_ends import differ, joined


@given(st.data(), st.sampled_from(["u1", "?", "<u2", ">f4", "f8", "c16", "U3", "i1,f8"]))
def test_rows_differ_if_any_bit_does(data: st.DataObject, dtype: str) -> None:
    """Also not-a-numbers, zeros with a sign, and rows whose bytes are no whole number of words."""
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(0, 4), st.integers(0, 3)))
    one = np.zeros(shape, dtype)
    other = one.copy()
    size = one.nbytes // len(one)
    flips = data.draw(st.lists(st.tuples(st.integers(0, len(one) - 1), st.integers(0, 8 * size - 1)))) if size else []
    raw = other.reshape(-1).view(np.uint8).reshape(len(one), -1) if size else np.zeros((len(one), 0), np.uint8)
    for row, bit in flips:
        raw[row, bit // 8] ^= 1 << bit % 8
    expected = [any(each) for each in raw]
    for left, right in ((one, other), (other[:, ::-1][:, ::-1], one)):
        assert differ(left, right, len(one)).tolist() == expected


def test_rows_of_several_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is compared, however many fit into one comparison; nests have rows that differ in any part."""
    one: Any = {"x": np.arange(70.0).reshape(-1, 7), "y": (np.arange(10),)}
    other: Any = {"x": one["x"].copy(), "y": (one["y"][0].copy(),)}
    other["x"][[0, 4], 6] += 1
    other["y"][0][9] = 0
    for size in (1, 56, 100, 1 << 20):
        monkeypatch.setattr(array_ends, "_COMPARED_BYTES", size)
        assert np.flatnonzero(differ(one, other, 10)).tolist() == [0, 4, 9]


def test_joined_arrays_have_the_type_that_numpy_gives_them() -> None:
    """Where all have one type, where they have several, and where bytes are swapped."""
    for types in (("f4", "f4"), ("f4", "f8"), (">f4", ">f4"), ("U1", "U3")):
        parts = [np.ones((2, 3), each) for each in types]
        found, expected = joined(parts), np.concatenate(parts)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    objects = np.full(1 << 17, None)
    assert joined([objects, objects[:1]]).tolist() == [None] * (len(objects) + 1)
