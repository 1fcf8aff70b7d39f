"""Whether a second writer may append."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from tests.spec.strategies import any_specs, values

FLOAT = specs.Array((), np.float32)
TEXT = specs.Text()


@given(any_specs)
def test_a_spec_is_compatible_with_itself(spec: specs.Spec) -> None:
    """The same writer may append again."""
    assert specs.compatible(spec, spec) == []


@given(st.data(), any_specs, any_specs)
def test_values_of_a_compatible_writer_fit(data: st.DataObject, old: specs.Spec, new: specs.Spec) -> None:
    """What a writer that may append records fits the dataset's spec."""
    if not specs.compatible(old, new):
        assert specs.problems(old, data.draw(values(new))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (specs.Array((2,), np.int8, "x", 0, 1), specs.Array((2,), np.int8, "y", 5)),
        (specs.Array((None,), np.int8), specs.Array((2,), np.int8)),
        (specs.Text("x", 1, 2, "a"), specs.Text("y")),
        (specs.Bytes("x"), specs.Bytes("y")),
        (specs.Any(), TEXT),
        (specs.Optional(TEXT), TEXT),
        (specs.Optional(TEXT), specs.NONE),
        (specs.Dict({"a": specs.Optional(TEXT), "b": specs.Any()}), specs.Dict({})),
        (specs.Tuple((TEXT,)), specs.Tuple((specs.Text("x"),))),
        (specs.Sequence(specs.Text("x")), specs.Sequence(TEXT)),
        (specs.Graph(FLOAT, FLOAT), specs.Graph(specs.Array((), np.float32, "x"), FLOAT)),
        (specs.OneOf((TEXT,)), specs.OneOf((specs.Text("x"),))),
    ],
)
def test_names_and_bounds_may_differ_and_the_new_may_be_narrower(old: specs.Spec, new: specs.Spec) -> None:
    """Any spec with the same structure, dtype and shape may append."""
    assert specs.compatible(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        (specs.Array((2,), np.int8), specs.Array((3,), np.int8), ["x"]),
        (specs.Array((2,), np.int8), specs.Array((None,), np.int8), ["x"]),
        (specs.Array((2,), np.int8), specs.Array((2,), np.int16), ["x"]),
        (TEXT, specs.Bytes(), ["x"]),
        (TEXT, specs.Any(), ["x"]),
        (TEXT, specs.Optional(TEXT), ["x"]),
        (specs.Dict({"a": TEXT, "b": TEXT}), specs.Dict({"a": FLOAT, "c": TEXT}), ["x/a", "x/b", "x/c"]),
        (specs.Tuple((TEXT,)), specs.Tuple(()), ["x"]),
        (specs.Tuple((TEXT, TEXT)), specs.Tuple((TEXT, FLOAT)), ["x/(1)"]),
        (specs.List((TEXT,)), specs.List((FLOAT,)), ["x/[0]"]),
        (specs.Sequence(TEXT), specs.Sequence(TEXT, True), ["x"]),
        (specs.Sequence(TEXT), specs.Sequence(FLOAT), ["x/(0)"]),
        (specs.Graph(TEXT, TEXT), specs.Graph(FLOAT, FLOAT), ["x/(0)", "x/(1)"]),
        (specs.Graph(TEXT), specs.Graph(TEXT, FLOAT), ["x"]),
        (specs.OneOf((TEXT,)), specs.OneOf((TEXT, TEXT)), ["x"]),
    ],
)
def test_every_difference_is_named_with_its_place(old: specs.Spec, new: specs.Spec, places: list[str]) -> None:
    """Another structure, dtype or shape is a problem."""
    assert [problem.place for problem in specs.compatible(old, new, "x")] == places


def test_the_message_names_both() -> None:
    """The message describes the existing and the new spec."""
    found = specs.compatible(FLOAT, specs.Array((), np.float64), "reward")
    assert [str(problem) for problem in found] == ["reward: the dataset has float32 (), this writer has float64 ()"]
