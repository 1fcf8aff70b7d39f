"""Batches of actions are checked alike, whether their form is known or not."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.logger.action_check import ActionCheck, copy_inside, copy_inside_in_python
from rlds_kit.storage.array_form import example_of

FLOATS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, float("nan"), float("inf")])


@given(st.lists(FLOATS, min_size=3, max_size=3), st.sampled_from([None, -1.0, 0.0]), st.sampled_from([None, 1.0]))
def test_bounds_of_floats(values: list[float], low: float | None, high: float | None) -> None:
    """Also of a NaN."""
    spec = specs.Array((), np.float64, minimum=low, maximum=high)
    actions = np.array(values)
    expected = not specs.out_of_bounds(specs.Array((3,), np.float64, minimum=low, maximum=high), actions)
    check = ActionCheck(spec)
    assert check.are_fine(actions) == expected  # of a form that is not known
    check.are_fine(np.zeros(3))
    assert check.are_fine(actions) == expected


@pytest.mark.parametrize("actions", [np.array([0, 2]), np.array([0, -1]), np.array([0.0, 1.0]), [0, 1], None])
def test_what_does_not_match_is_found_after_what_does(actions: object) -> None:
    """A batch of another form, or outside the bounds."""
    check = ActionCheck(specs.Array((), np.int64, minimum=0, maximum=1))
    for _ in range(2):
        assert check.are_fine(np.array([0, 1]))
        assert not check.are_fine(actions)


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
    found, expected = (check(example, *bounds, values) for check in (copy_inside, copy_inside_in_python))
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
    assert check(inside, low, high, inside).tolist() == inside.tolist()
    assert check(inside, low, high, outside) is None


@pytest.mark.parametrize("check", [copy_inside, copy_inside_in_python])
def test_actions_of_another_form_are_not_inside(check: Any) -> None:
    """Of another shape or dtype, a subclass, which may have more than its array, or no array."""
    example, low, high = np.zeros(2), np.array(0.0), np.array(2.0)
    others = np.zeros(3), np.zeros((2, 1)), np.zeros(2, np.float32), np.ma.zeros(2), [0.0, 0.0], None
    assert check(example, low, high, np.zeros(2)) is not None
    assert all(check(example, low, high, each) is None for each in others)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_batches_that_follow_are_checked_with_little(dtype: type[np.integer[Any]]) -> None:
    """Those like the first one, whether C has their dtype or not."""
    check = ActionCheck(specs.Array((), dtype, minimum=0, maximum=1))
    fine, wrong = np.array([0, 1], dtype), np.array([0, 2], dtype)
    assert check.copy_of(fine) is None
    assert check.are_fine(fine)
    copies = [check.copy_of(each) for each in (fine, wrong, fine[:1], fine.astype(np.int16))]
    assert copies[0] is not None
    assert (copies[0].tolist(), copies[1:]) == ([0, 1], [None] * 3)
    assert not check.are_fine(wrong)
