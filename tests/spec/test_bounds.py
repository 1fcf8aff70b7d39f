"""Whether values are within bounds."""

from typing import Any

import numpy as np
import pytest

from rlds_kit import spec as specs

UNIT = specs.Array((2,), np.float32, minimum=0, maximum=1)


def _floats(values: list[Any]) -> np.ndarray:
    return np.array(values, np.float32)


def _texts(spec: specs.Spec, value: object) -> list[str]:
    return [str(problem) for problem in specs.out_of_bounds(spec, value, "x")]


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        (UNIT, _floats([0.5, 1.5]), "x: 1 of 2 elements outside [0.0, 1.0]; the first is 1.5 at (1,)"),
        (UNIT, _floats([-1, 2]), "x: 2 of 2 elements outside [0.0, 1.0]; the first is -1.0 at (0,)"),
        (UNIT, _floats([np.nan, 1]), "x: 1 of 2 elements outside [0.0, 1.0]; the first is nan at (0,)"),
        (specs.Array((), np.int64, num_values=4), 4, "x: 4 is outside [0, 3]"),
        (specs.Array((), np.int64, num_values=4), np.int64(-1), "x: -1 is outside [0, 3]"),
        (
            specs.Array((2,), np.int8, maximum=[1, 2]),
            np.array([2, 2], np.int8),
            "x: 1 of 2 elements outside [None, [1, 2]]; the first is 2 at (0,)",
        ),
        (specs.Text("", 2, 3), "a", "x: length 1 is outside [2, 3]"),
        (specs.Text("", 2), "a", "x: length 1 is outside [2, None]"),
        (specs.Text(max_length=3), "abcd", "x: length 4 is outside [0, 3]"),
        (specs.Text(charset="ab"), "abcd", "x: characters outside the charset: 'c', 'd'"),
        (
            specs.Dict({"a": UNIT}),
            {"a": _floats([0, 2])},
            "x/a: 1 of 2 elements outside [0.0, 1.0]; the first is 2.0 at (1,)",
        ),
        (specs.Tuple((specs.Text(max_length=0),)), ("a",), "x/(0): length 1 is outside [0, 0]"),
        (specs.List((specs.Text(max_length=0),)), ["a"], "x/[0]: length 1 is outside [0, 0]"),
        (specs.Sequence(specs.Text(max_length=0)), ("", "a"), "x/(1): length 1 is outside [0, 0]"),
        (
            specs.Sequence(UNIT, stacked=True),
            _floats([[0, 2]]),
            "x: 1 of 2 elements outside [0.0, 1.0]; the first is 2.0 at (0, 1)",
        ),
        (specs.Optional(specs.Text(max_length=0)), "a", "x: length 1 is outside [0, 0]"),
        (specs.OneOf((specs.Text(max_length=0),)), (0, "a"), "x/(1): length 1 is outside [0, 0]"),
    ],
)
def test_what_is_outside_is_named(spec: specs.Spec, value: object, expected: str) -> None:
    """The message has the number of elements outside the bounds, the bounds, and the place."""
    assert _texts(spec, value) == [expected]


def test_graphs_are_checked_part_by_part() -> None:
    """Nodes, edges and the numbers of nodes each have bounds."""
    spec = specs.Graph(UNIT, specs.Array((), np.int64, num_values=2))
    value = (_floats([[2, 0]]), np.array([2]), np.array([[0, 1]]))
    assert [problem.place for problem in specs.out_of_bounds(spec, value, "x")] == ["x/(0)", "x/(1)", "x/(2)"]


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (UNIT, _floats([0, 1])),
        (specs.Array((2,), np.float32), _floats([np.nan, np.inf])),
        (specs.Array((2,), np.float32, minimum=-np.inf, maximum=np.inf), _floats([np.nan, np.inf])),
        (specs.Array((2,), np.float32, minimum=[np.nan, 0]), _floats([-5, 5])),
        (specs.Array((), np.uint64, maximum=2**64 - 2), 2**64 - 2),
        (specs.Text("", 1, 2, "ab"), "ab"),
        (specs.Optional(UNIT), None),
        (specs.Any(), 3),
        (specs.Bytes(), b"a"),
    ],
)
def test_what_is_inside_passes(spec: specs.Spec, value: object) -> None:
    """Bounds are inclusive; NaN and infinity as bounds exclude nothing."""
    assert _texts(spec, value) == []


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (UNIT, np.zeros(3, np.float32)),
        (UNIT, "a"),
        (specs.Text(max_length=0), 3),
        (specs.Dict({"a": UNIT}), 3),
        (specs.Dict({"a": UNIT}), {}),
        (specs.Tuple((UNIT,)), 3),
        (specs.Sequence(UNIT), 3),
        (specs.OneOf((UNIT,)), (5, 3)),
        (specs.Graph(UNIT), 3),
    ],
)
def test_what_does_not_fit_is_passed_over(spec: specs.Spec, value: object) -> None:
    assert _texts(spec, value) == []


class Untouchable(np.ndarray):
    """An array that cannot be compared."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        raise AssertionError


def test_bounds_that_cannot_be_exceeded_do_not_read_the_data() -> None:
    """An image whose bounds are those of its dtype is not scanned."""
    spec = specs.Array((210, 160, 3), np.uint8, minimum=0, maximum=255)
    assert _texts(spec, np.zeros((210, 160, 3), np.uint8).view(Untouchable)) == []
