"""The union of specs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.spec.union import NOTHING
from tests.spec.strategies import any_specs, array_specs, recordables, values

related = st.tuples(array_specs(), array_specs()) | st.tuples(any_specs, any_specs)


@given(related)
def test_order_plays_no_part(pair: tuple[specs.Spec, specs.Spec]) -> None:
    a, b = pair
    assert specs.merge(a, b) == specs.merge(b, a)


@given(any_specs)
def test_merging_with_itself_changes_nothing(spec: specs.Spec) -> None:
    """Merging is idempotent, and what no value fits adds nothing."""
    assert specs.merge(spec, spec) == specs.merge(spec, NOTHING) == specs.merge(NOTHING, spec) == spec


@given(related)
def test_merging_again_changes_nothing(pair: tuple[specs.Spec, specs.Spec]) -> None:
    """The union already holds both parts."""
    whole = specs.merge(*pair)
    assert specs.merge(whole, pair[0]) == specs.merge(whole, pair[1]) == whole


@given(related, any_specs)
def test_grouping_plays_no_part(pair: tuple[specs.Spec, specs.Spec], c: specs.Spec) -> None:
    """Merging is associative, so that the order in which fields turn up does not show."""
    a, b = pair
    assert specs.merge(specs.merge(a, b), c) == specs.merge(a, specs.merge(b, c))


@given(st.data(), related)
def test_values_of_both_fit(data: st.DataObject, pair: tuple[specs.Spec, specs.Spec]) -> None:
    """Whatever fits a part fits the union."""
    part = data.draw(st.sampled_from(pair))
    value = data.draw(values(part))
    assert specs.problems(specs.merge(*pair), value) == []


@given(st.data(), related)
def test_bounds_of_both_fit(data: st.DataObject, pair: tuple[specs.Spec, specs.Spec]) -> None:
    """Whatever is within the bounds of a part is within those of the union."""
    part = data.draw(st.sampled_from(pair))
    value = data.draw(values(part))
    assume(not specs.out_of_bounds(part, value))
    assert specs.out_of_bounds(specs.merge(*pair), value) == []


@given(st.lists(recordables, min_size=1, max_size=4))
def test_dynamic_values_fit_what_they_turned_out_to_be(steps: list[object]) -> None:
    """Every step of a dynamic field fits the union of all steps."""
    whole: specs.Spec = NOTHING
    for step in steps:
        whole = specs.merge(whole, specs.infer(step))
    assert [specs.problems(whole, step) for step in steps] == [[] for _ in steps]


INT8 = specs.Array((), np.int8)
TEXT = specs.Text()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (specs.Array((2, 3), np.int8), specs.Array((4, 3), np.int8), specs.Array((None, 3), np.int8)),
        (INT8, specs.Array((), np.int16), specs.Any()),
        (INT8, specs.Array((1,), np.int8), specs.Any()),
        (INT8, specs.NONE, specs.Optional(INT8)),
        (specs.Optional(INT8), TEXT, specs.Any()),
        (INT8, TEXT, specs.Any()),
        (specs.Any("x"), specs.Text("x"), specs.Any("x")),
        (
            specs.Dict({"a": INT8}),
            specs.Dict({"b": TEXT}),
            specs.Dict({"a": specs.Optional(INT8), "b": specs.Optional(TEXT)}),
        ),
        (specs.Tuple((INT8,)), specs.Tuple(()), specs.Sequence(INT8)),
        (specs.List((INT8,)), specs.List(()), specs.Any()),
        (specs.Tuple(()), specs.List(()), specs.Any()),
        (specs.Sequence(INT8, True), specs.Sequence(INT8), specs.Any()),
        (specs.Sequence(INT8, True), specs.Sequence(TEXT, True), specs.Sequence(specs.Any(), True)),
        (specs.Sequence(TEXT, True), specs.Sequence(specs.Bytes(), True), specs.Sequence(specs.Any(), True)),
        (specs.Graph(INT8), specs.Graph(INT8, TEXT), specs.Any()),
        (specs.Graph(INT8, INT8), specs.Graph(TEXT, INT8), specs.Graph(specs.Any(), INT8)),
        (specs.OneOf((INT8,)), specs.OneOf((specs.NONE, TEXT)), specs.OneOf((specs.Optional(INT8), TEXT))),
        (specs.Text("x", 1, 3, "ab"), specs.Text("y", 0, 5, "bc"), specs.Text("", 0, 5, "abc")),
        (
            specs.Array((), np.int8, "x", 0, 1),
            specs.Array((), np.int8, "x", -1, 0),
            specs.Array((), np.int8, "x", -1, 1),
        ),
        (
            specs.Array((2,), np.int8, "", [0, 1]),
            specs.Array((3,), np.int8, "", -5),
            specs.Array((None,), np.int8, "", -5),
        ),
        (
            specs.Array((), np.int8, num_values=2),
            specs.Array((), np.int8, num_values=3),
            specs.Array((), np.int8, "", 0, 2),
        ),
    ],
)
def test_each_rule(a: specs.Spec, b: specs.Spec, expected: specs.Spec) -> None:
    """The union is the narrowest spec that has room for both."""
    assert specs.merge(a, b) == expected
