"""Rows of one form: what they become is the same whether each value is looked at or not."""

import doctest
import enum
import inspect
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError, UnsupportedTypeError
from rlds_kit.storage import row_form
from rlds_kit.storage.branch import Branch
from rlds_kit.storage.declared import AGAIN, MANY, DeclaredFields
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.row_form import form_of
from tests.storage import strategies

DECLARED = specs.Dict(
    {
        "observation": specs.Dict({"frame": specs.Array((2, 2), np.uint8), "speed": specs.Array((), np.float64)}),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)
WIDE = 2**64
ENOUGH = MANY + 3


class Color(enum.IntEnum):
    """A number that is more than one."""

    RED = 1


class Named(dict[str, Any]):
    """A dict that is more than one."""


@pytest.fixture(autouse=True)
def _is_built() -> None:
    if row_form.native is None:
        pytest.skip("the C extension is absent: no compiler when this was installed, or RLDS_KIT_PURE=1")


def taken(rows: list[dict[str, Any]], declared: specs.Dict | None = None) -> list[Any]:
    """What becomes of rows, one after the other; of those that are refused, why."""
    fields, found = DeclaredFields(declared or specs.Dict({})), list[Any]()
    for row in rows:
        try:
            leaves, _ = fields.leaves(row, {})
        except (SpecError, UnsupportedTypeError) as error:
            found.append(str(error))
        else:
            found.append([(key, item if type(item) is bytes else id(item)) for key, item in leaves])
    return found


def looked_at(rows: list[dict[str, Any]], declared: specs.Dict | None = None) -> list[Any]:
    """The same without forms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_form, "native", None)
        return taken(rows, declared)


def form_after(rows: list[dict[str, Any]], declared: specs.Dict | None = None) -> Any:
    """What is remembered of rows."""
    fields = DeclaredFields(declared or specs.Dict({}))
    for row in rows:
        fields.leaves(row, {})
    return fields._observed.form


ODD: list[Any] = [
    0,
    WIDE,
    -WIDE,
    True,
    None,
    1.5,
    1j,
    "text",
    b"bytes",
    {},
    (),
    [],
    {1: 2},
    Color.RED,
    Named(a=1),
    {"a": {"b": 1}},
    {"a": {}},
    {"b": 1, "a": 2},
    {"a": 2, "b": 1},
    np.float32(1),
    np.str_("x"),
    np.datetime64(1, "s"),
    np.datetime64(1, "ms"),
    np.timedelta64(1, "D"),
    np.zeros(2),
    np.zeros(3),
    np.zeros(2, ">f8"),
    np.zeros(2, np.float32),
    np.zeros((2, 2)),
    np.zeros((2, 2), order="F"),
    np.zeros(4)[::2],
    np.array(1.0),
    np.zeros(2).view(np.memmap),
]


@given(st.lists(st.dictionaries(st.sampled_from("xy"), st.sampled_from(ODD), max_size=2), min_size=3, max_size=9))
def test_rows_become_what_they_become_when_each_value_is_looked_at(rows: list[dict[str, Any]]) -> None:
    """Columns and the very objects, whatever came before."""
    again = [row for row in rows for _ in range(MANY + 2)]
    assert taken(again) == looked_at(again)


@given(st.lists(strategies.values, min_size=1, max_size=3))
def test_any_recordable_value_becomes_what_it_becomes_when_looked_at(items: list[Any]) -> None:
    """Alone and below a name."""
    rows = [row for item in items for row in [{"x": item, "y": {"z": item}}] * (MANY + 3)]
    assert [[key for key, _ in row] for row in taken(rows)] == [[key for key, _ in row] for row in looked_at(rows)]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_value_of_another_form_goes_to_its_own_column(odd: Any) -> None:
    """After rows of one form, and before more of them."""
    plain = {"x": {"n": 3, "array": np.zeros(2)}}
    rows: list[dict[str, Any]] = [*[plain] * ENOUGH, {"x": {"n": odd, "array": np.zeros(2)}}, plain, {"x": odd}]
    assert taken(rows) == looked_at(rows)


def test_rows_of_one_form_are_not_looked_at() -> None:
    """Once there were many of them."""
    row = {"x": {"n": 3, "empty": {}}, "frame": np.zeros((2, 2))}
    form = form_after([row] * ENOUGH)
    assert isinstance(form.leaves({"x": {"n": 4, "empty": {}}, "frame": np.ones((2, 2))}), Leaves)
    assert form.leaves({"x": {"n": 4}, "frame": np.ones((2, 2))}) is None


@pytest.mark.parametrize("count", [1, 2, ENOUGH])
@pytest.mark.parametrize(
    ("odd", "problem"),
    [
        ({"observation": {"frame": np.zeros((2, 3), np.uint8), "speed": 1.0}}, r"observation/frame|observation.*frame"),
        ({"observation": {"frame": np.zeros((2, 2), np.int8), "speed": 1.0}}, "uint8"),
        ({"observation": {"frame": np.zeros((2, 2), np.uint8)}}, "speed"),
        ({"observation": {"frame": np.zeros((2, 2), np.uint8), "speed": "fast"}}, "speed"),
    ],
)
def test_what_does_not_fit_is_refused_after_any_number_of_rows(count: int, odd: Any, problem: str) -> None:
    """Declared fields are checked in every row."""
    fields = DeclaredFields(DECLARED)
    fit = {"observation": {"frame": np.zeros((2, 2), np.uint8), "speed": 1.0}}
    for _ in range(count):
        fields.leaves(fit, {})
    with pytest.raises(SpecError, match=problem):
        fields.leaves(odd, {})
    fields.leaves(fit, {})


@pytest.mark.parametrize(
    ("spec", "fit", "odd"),
    [
        (specs.Array((), np.int8), 3, 300),
        (specs.Array((), np.int64), 3, WIDE),
        (specs.Array((), np.float32), 0.5, 0.1),
        (specs.Array((), np.float32), np.array(0.5), np.array(0.1)),
        (specs.Array((), np.float32), np.float64(0.5), np.float64(0.1)),
        (specs.Array((), "<U2"), np.str_("ab"), np.str_("abc")),
        (specs.Dict({"x": specs.Array((), np.int8)}), {"x": 3}, {"x": 300}),
    ],
)
def test_a_value_that_is_not_held_is_refused_after_any_number_of_rows(spec: specs.Spec, fit: Any, odd: Any) -> None:
    """A type does not determine it."""
    fields = DeclaredFields(specs.Dict({"observation": spec}))
    for _ in range(ENOUGH):
        fields.leaves({"observation": fit}, {})
    with pytest.raises(SpecError, match="observation"):
        fields.leaves({"observation": odd}, {})


_SEEN = specs.Dict({"image": specs.Array((2,), np.uint8), "mission": specs.Text()})


@pytest.mark.parametrize(
    ("spec", "item"),
    [
        (specs.Array((), np.float64), 1.0),
        (specs.Array((), np.float64), np.float64(1)),
        (specs.Array((), np.int64), 1),
        (specs.Array((), np.int64), np.int64(1)),
        (specs.Array((), ">i4"), np.int32(1)),
        (specs.Array((), np.bool_), True),
        (specs.Array((2,), np.float32), np.zeros(2, np.float32)),
        (specs.Text(), "go"),
        (_SEEN, {"image": np.zeros(2, np.uint8), "mission": ""}),
    ],
)
def test_what_fits_by_its_type_has_a_form(spec: specs.Spec, item: Any) -> None:
    """Rewards of MuJoCo, and observations that are numbers, text, or dicts, among them."""
    assert form_after([{"observation": item}] * ENOUGH) is not None
    assert form_after([{"observation": item}] * ENOUGH, specs.Dict({"observation": spec})) is not None


def test_a_row_that_was_refused_has_no_form() -> None:
    """Its names may be those of the other side then."""
    fields = DeclaredFields(specs.Dict({}))
    row = {"x": 1}
    for _ in range(ENOUGH):
        fields.leaves(row, {})
        fields.forget()
    fields.leaves({}, row)


@pytest.mark.parametrize("given", [[np.zeros(2)], (np.zeros(2), np.zeros(2)), np.zeros(2)])
def test_what_is_no_such_tuple_is_refused_after_any_number_of_rows(given: Any) -> None:
    """A list may contain the same arrays."""
    fields = DeclaredFields(specs.Dict({"observation": specs.Tuple((specs.Array((2,), np.float64),))}))
    for _ in range(3):
        fields.leaves({"observation": (np.zeros(2),)}, {})
        with pytest.raises(SpecError, match="observation"):
            fields.leaves({"observation": given}, {})


def test_an_action_that_is_no_tuple_stays_what_it_is() -> None:
    """What the agent did is data."""
    branch = Branch("action", specs.Tuple((specs.Array((), np.int64),)))
    assert [key.path for key, _ in branch.leaves((1,))] == ["action/(0)"]
    assert [key.kind for key, _ in branch.leaves([1])] == [pb.TREE]


def test_rows_of_another_form_get_theirs_in_time() -> None:
    fields = DeclaredFields(specs.Dict({}))
    rows: list[dict[str, Any]] = [{"x": 1}, {"x": {"y": 1.0}}]
    for row, count in zip(rows, (ENOUGH, AGAIN + ENOUGH), strict=True):
        for _ in range(count):
            fields.leaves(row, {})
        assert fields._observed.form is not None
        assert fields._observed.form.leaves(row) is not None


def test_a_row_that_is_nested_deeply_has_no_form() -> None:
    """It is recorded as it was before there were forms."""
    row: dict[str, Any] = {"x": 1}
    for _ in range(20):
        row = {"x": row}
    leaves = Branch("info").leaves(row)

    def below(depth: int) -> Any:
        return below(depth - 1) if depth else form_of(row, leaves)

    depth = sys.getrecursionlimit() - len(inspect.stack())
    assert any(below(depth - room) is None for room in range(30, 70))


def test_structured_dtypes_have_no_form() -> None:
    """Comparing their names may run code, and C requires that the compared objects do not change."""
    row = {"x": np.zeros(2, [("a", "i4")])}
    assert form_of(row, Leaves([], [])) is None


@pytest.mark.parametrize("arguments", [(), (1,), (np.zeros(1), 1), (1, np.zeros(1))])
def test_the_extension_checks_its_arguments(arguments: tuple[Any, ...]) -> None:
    """What is no array is refused."""
    assert row_form.native is not None
    with pytest.raises(TypeError, match="expected"):
        row_form.native.is_alike(*arguments)
    with pytest.raises(TypeError, match="expected"):
        row_form.native.put_row(*arguments[:1], 0, *arguments[1:])


@pytest.mark.parametrize("form", [("a",), (1, int), ("a", int, "b")])
def test_a_form_that_is_none_changes_nothing(form: Any) -> None:
    """It is refused, or no row is of it."""
    assert row_form.native is not None
    try:
        assert row_form.native.values(form, {"a": 1}) is None
    except IndexError:
        assert len(form) % 2


def test_examples() -> None:
    assert doctest.testmod(row_form).failed == 0
