"""Batches of actions are checked alike, whether their form is known or not."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.logger.action_check import ActionCheck

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


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_batches_that_follow_are_checked_with_little(dtype: type[np.integer[Any]]) -> None:
    """Those like the first one, whether C has their dtype or not."""
    check = ActionCheck(specs.Array((), dtype, minimum=0, maximum=1))
    fine, wrong = np.array([0, 1], dtype), np.array([0, 2], dtype)
    assert check.copy_of(fine) is None
    forms = [check.bounds]
    assert check.are_fine(fine)
    forms.append(check.bounds)
    assert [each is None for each in forms] == [True, False]
    copies = [check.copy_of(each) for each in (fine, wrong, fine[:1], fine.astype(np.int16))]
    assert copies[0] is not None
    assert (copies[0].tolist(), copies[1:]) == ([0, 1], [None] * 3)
    assert not check.are_fine(wrong)
