"""Batches within bounds are copied alike with the C extension and without it."""

import doctest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import bounds as module
from rlds_kit.storage.array_form import example_of, native
from rlds_kit.storage.bounds import Bounds, copy_inside, copy_inside_in_python

FLOATS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf")])


@given(
    st.sampled_from([np.int64, np.float32, np.float64, np.int32, ">f8"]),
    st.lists(st.lists(FLOATS, min_size=3, max_size=3), max_size=4),
    st.sampled_from([(), (3,), (1, 3), (1,)]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_c_and_python_find_the_same(
    dtype: str, rows: list[list[float]], shape: tuple[int, ...], has_low: bool, has_high: bool, is_turned: bool
) -> None:
    """One bound for all, or one for each dimension; C leaves what is not plain to NumPy."""
    values = np.nan_to_num(np.array(rows).reshape(-1, 3), posinf=9) if np.dtype(dtype).kind == "i" else np.array(rows)
    values = values.reshape(-1, 3).astype(dtype)
    values = np.asfortranarray(values) if is_turned else values
    size = int(np.prod(shape))
    low, high = (np.linspace(*ends, size).reshape(shape).astype(dtype) for ends in ((-1, 1), (1, 2)))
    bounds = low if has_low else None, high if has_high else None
    example = example_of(values)
    found, expected = (check(Bounds(example, *bounds), values) for check in (copy_inside, copy_inside_in_python))
    is_plain = np.dtype(dtype) in (np.int64, np.float32, np.float64) and values.flags.c_contiguous
    if found is not None or (is_plain and shape in ((), (3,))):
        np.testing.assert_equal(found, expected)
    assert found is not values
    assert found is None or not np.may_share_memory(found, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("check", [copy_inside, copy_inside_in_python])
def test_each_dimension_has_its_bounds(check: Any, dtype: type[np.floating[Any]]) -> None:
    """Those of another one would let an action pass."""
    low, high = np.array([-1, 0, 1], dtype), np.array([1, 1.5, 2], dtype)
    inside, outside = np.array([[-0.5, 1.2, 1.8]] * 2, dtype), np.array([[-0.5, 1.2, 1.8], [-0.5, -0.5, 1.8]], dtype)
    assert check(Bounds(inside, low, high), inside).tolist() == inside.tolist()
    assert check(Bounds(inside, low, high), outside) is None


@pytest.mark.parametrize("check", [copy_inside, copy_inside_in_python])
def test_actions_of_another_form_are_not_inside(check: Any) -> None:
    """Of another shape or dtype, a subclass, which may have more than its array, or no array."""
    bounds = Bounds(np.zeros(2), np.array(0.0), np.array(2.0))
    others = np.zeros(3), np.zeros((2, 1)), np.zeros(2, np.float32), np.ma.zeros(2), [0.0, 0.0], None
    assert check(bounds, np.zeros(2)) is not None
    assert all(check(bounds, each) is None for each in others)


@pytest.mark.skipif(native is None, reason="needs the C extension")
@pytest.mark.parametrize("wrong", [None, (), (np.zeros(2), None), [np.zeros(2), None, None], (3, None, None)])
def test_what_are_no_bounds_is_refused(wrong: Any) -> None:
    """With an error."""
    with pytest.raises(TypeError, match="expected an example, and two bounds or None"):
        copy_inside(wrong, np.zeros(2))


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
