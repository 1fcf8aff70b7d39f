"""Whether values fit specs."""

import collections
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.spec.problem import at_entry, at_item, at_key
from tests.spec.strategies import any_specs, values

GRAPH = specs.Graph(specs.Array((2,), np.float32), specs.Array((), np.int64))


class Pair(NamedTuple):
    first: int
    second: int


def _texts(spec: specs.Spec, value: object, place: str = "x") -> list[str]:
    return [str(problem) for problem in specs.problems(spec, value, place)]


@given(st.data(), any_specs)
def test_values_that_fit_have_no_problem(data: st.DataObject, spec: specs.Spec) -> None:
    """A value made for a spec fits it."""
    assert specs.problems(spec, data.draw(values(spec))) == []


@st.composite
def _spoilt(draw: st.DrawFn, spec: specs.Spec, value: Any, place: str) -> tuple[Any, str]:
    """Replace one part of `value` by something that fits nothing; return the whole and where that part stood."""
    match spec:
        case specs.Dict(fields) if len(fields) > 0 and draw(st.booleans()):
            key = draw(st.sampled_from(list(fields)))
            part, where = draw(_spoilt(fields[key], value[key], at_key(place, key)))
            return {**value, key: part}, where
        case specs.Tuple(items) | specs.List(items) if len(items) > 0 and draw(st.booleans()):
            index = draw(st.integers(0, len(items) - 1))
            at = at_item if isinstance(spec, specs.Tuple) else at_entry
            part, where = draw(_spoilt(items[index], value[index], at(place, index)))
            return type(value)([*value[:index], part, *value[index + 1 :]]), where
        case specs.OneOf(alternatives) if draw(st.booleans()):
            part, where = draw(_spoilt(alternatives[value[0]], value[1], at_item(place, 1)))
            return (value[0], part), where
    return object(), place


def _is_dynamic(spec: specs.Spec) -> bool:
    """Whether some part may have any value; so may batches of optional values, for which there is no rule."""
    text = repr(spec)
    return "Any(" in text or ("Optional(" in text and ("stacked=True" in text or "Graph(" in text))


@given(st.data(), any_specs.filter(lambda spec: not _is_dynamic(spec)))
def test_a_spoilt_value_has_a_problem_where_it_was_spoilt(data: st.DataObject, spec: specs.Spec) -> None:
    """The one part that does not fit is the one place that is reported."""
    spoilt, place = data.draw(_spoilt(spec, data.draw(values(spec)), "x"))
    assert [problem.place for problem in specs.problems(spec, spoilt, "x")] == [place]


def test_every_problem_is_reported_at_once() -> None:
    """Nested problems are listed one by one, with their places."""
    spec = specs.Dict(
        {"pixels": specs.Array((210, 160, 3), np.uint8), "pose": specs.Tuple((specs.Text(),)), "on": specs.Bytes()}
    )
    value = {"pixels": np.zeros((84, 84), np.float32), "pose": (3,), "of/f": 1}
    with pytest.raises(SpecError) as caught:
        specs.require(spec, value, "observation")
    assert str(caught.value).splitlines() == [
        "observation/pixels: expected uint8 (210, 160, 3), got float32 (84, 84)",
        "observation/pose/(0): expected str, got int 3",
        "observation/on: missing, expected bytes",
        "observation/of~1f: unexpected int 1; the spec has pixels, pose, on",
    ]


def test_require_says_nothing_when_all_is_well() -> None:
    """A value that fits passes."""
    specs.require(specs.Text(), "a", "note")


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 3),
        ("int64", np.int8(3)),
        ("int64", np.uint32(3)),
        ("int64", np.array(3)),
        ("uint8", 255),
        ("uint64", 2**64 - 1),
        (">i2", 3),
        (">i2", np.int16(3)),
        ("float64", 0.1),
        ("float64", 1),
        ("float64", 1 << 70),
        ("float64", np.float32(0.1)),
        ("float64", np.float16(0.1)),
        ("float64", np.int64(1 << 53)),
        ("float64", np.nan),
        ("float64", np.array(0.1)),
        ("float32", 0.5),
        ("float32", -0.0),
        ("float32", np.inf),
        ("float32", np.nan),
        ("float32", np.float64(0.5)),
        ("float32", np.array(0.5)),
        ("float32", 1 << 24),
        ("float16", 2048),
        ("complex64", 1),
        ("complex64", 0.5),
        ("complex64", 0.5 + 1j),
        ("bool", True),
        ("bool", np.True_),
        ("bool", np.array(False)),
        ("<U3", "abc"),
        ("<U3", np.str_("a")),
        ("|S3", b"abc"),
    ],
)
def test_a_scalar_fits_when_its_dtype_holds_it_exactly(dtype: str, value: object) -> None:
    """Python and NumPy scalars and 0-d arrays fit where nothing is lost."""
    assert _texts(specs.Array((), dtype), value) == []


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 3.0),
        ("int64", True),
        ("int64", np.float32(3)),
        ("int64", 1 << 63),
        ("int64", np.timedelta64(1, "s")),
        ("uint8", 256),
        ("uint8", -1),
        ("uint8", np.int64(300)),
        ("float64", (1 << 53) + 1),
        ("float64", np.int64((1 << 53) + 1)),
        ("float64", 1 << 2000),
        ("float64", np.longdouble(1)),
        ("float64", 1j),
        ("float32", 0.1),
        ("float32", 1e300),
        ("float32", np.float64(0.1)),
        ("float32", (1 << 24) + 1),
        ("float16", 2049),
        ("float16", 1e300),
        ("complex64", 0.1),
        ("bool", 1),
        ("bool", 0.0),
        ("<U3", "abcd"),
        ("<U3", b"abc"),
        ("|S3", "abc"),
        ("float64", "1.0"),
        ("float64", None),
        ("float64", [1.0]),
        ("float64", np.array([1.0])),
        ("float64", object()),
    ],
)
def test_a_scalar_that_would_change_is_a_problem(dtype: str, value: object) -> None:
    """Rounding, wrapping, truncating and changing the kind of number are problems."""
    assert len(_texts(specs.Array((), dtype), value)) == 1


@given(st.sampled_from(["float16", "float32", "int8", "int32", "uint64", "float64"]), st.floats() | st.integers())
def test_a_scalar_that_fits_comes_back(dtype: str, value: float) -> None:
    """A value that fits is the same after a round trip through the dtype."""
    if not specs.problems(specs.Array((), dtype), value):
        restored = type(value)(np.asarray(value, dtype)[()])
        assert repr(restored) == repr(value)


def test_bfloat16_scalars_fit_by_value() -> None:
    """The dtype that NumPy lacks follows the same rule."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    spec = specs.Array((), ml_dtypes.bfloat16)
    assert _texts(spec, 0.5) == _texts(spec, ml_dtypes.bfloat16(0.1)) == _texts(spec, 256) == []
    assert len(_texts(spec, 0.1) + _texts(spec, 257)) == 2
    assert _texts(specs.Array((), np.float32), ml_dtypes.bfloat16(0.1)) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((2, 3), np.float64), "expected float32 (?, 3), got float64 (2, 3)"),
        (np.zeros((2, 4), np.float32), "expected float32 (?, 3), got float32 (2, 4)"),
        (np.zeros(3, np.float32), "expected float32 (?, 3), got float32 (3,)"),
        (np.zeros((2, 3), ">f4"), "expected float32 (?, 3), got >f4 (2, 3)"),
        ([[1.0, 2.0, 3.0]], "expected float32 (?, 3), got list of 1"),
        (1.0, "expected float32 (?, 3), got float 1.0"),
        (None, "expected float32 (?, 3), got None"),
    ],
)
def test_an_array_has_exactly_its_dtype_and_shape(value: object, text: str) -> None:
    """Anything but a NumPy array of the dtype and the known lengths is a problem."""
    assert _texts(specs.Array((None, 3), np.float32), value) == [f"x: {text}"]


def test_an_unknown_length_takes_any() -> None:
    """Unknown lengths fit, zero included."""
    assert [_texts(specs.Array((None, 3), np.float32), np.zeros((n, 3), np.float32)) for n in (0, 7)] == [[], []]


@pytest.mark.parametrize("make", [dict, collections.OrderedDict, types.MappingProxyType])
def test_any_mapping_is_a_dict(make: Any) -> None:
    """Environments return all sorts of dicts."""
    assert _texts(specs.Dict({"a": specs.Text()}), make({"a": "b"})) == []


def test_optional_and_dynamic_keys_may_be_absent() -> None:
    """Only required keys are missed."""
    spec = specs.Dict({"a": specs.Optional(specs.Text()), "b": specs.Any(), "c": specs.Text()})
    assert _texts(spec, {}) == ["x/c: missing, expected str"]


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        (specs.Dict({}), [], "x: expected empty dict, got list of 0"),
        (specs.Tuple((specs.Text(),)), ["a"], "x: expected tuple of 1, got list of 1"),
        (specs.Tuple((specs.Text(),)), (), "x: expected tuple of 1, got tuple of 0"),
        (specs.List((specs.Text(),)), ("a",), "x: expected list of 1, got tuple of 1"),
        (specs.List((specs.Text(),)), [1], "x/[0]: expected str, got int 1"),
        (specs.Sequence(specs.Text()), ["a"], "x: expected tuple of str, got list of 1"),
        (specs.Sequence(specs.Text()), ("a", 1), "x/(1): expected str, got int 1"),
        (specs.Optional(specs.Text()), 1, "x: expected str, got int 1"),
        (specs.NONE, 1, "x: expected None, got int 1"),
        (specs.OneOf((specs.Text(),)), "a", "x: expected (index, value) with index below 1, got str 'a'"),
        (specs.OneOf((specs.Text(),)), (1, "a"), "x/(0): expected an index below 1, got 1"),
        (specs.OneOf((specs.Text(),)), (-1, "a"), "x/(0): expected an index below 1, got -1"),
        (specs.OneOf((specs.Text(),)), (True, "a"), "x/(0): expected an integer, got bool True"),
        (specs.OneOf((specs.Text(),)), (0, 1), "x/(1): expected str, got int 1"),
        (specs.Bytes(), bytearray(b"a"), "x: expected bytes, got bytearray"),
    ],
)
def test_structure_is_strict(spec: specs.Spec, value: object, expected: str) -> None:
    """Containers of another type or length are problems where they stand."""
    assert _texts(spec, value) == [expected]


def test_a_named_tuple_is_a_tuple() -> None:
    """Only what a value is made of counts."""
    assert _texts(specs.Tuple((specs.Array((), np.int64),) * 2), Pair(1, 2)) == []


def test_parts_of_a_batch_have_one_length() -> None:
    """A stacked sequence of dicts has as many of each."""
    spec = specs.Sequence(specs.Dict({"a": specs.Array((), np.int64), "t": specs.Text()}), stacked=True)
    assert _texts(spec, {"a": np.zeros(2, np.int64), "t": ("a", "b")}) == []
    assert _texts(spec, {"a": np.zeros(2, np.int64), "t": ("a",)}) == [
        "x: expected one length in all parts of the batch, got [1, 2]"
    ]


NODES, EDGES = np.zeros((3, 2), np.float32), np.zeros(4, np.int64)
LINKS = np.zeros((4, 2), np.int32)


@pytest.mark.parametrize("value", [(NODES, EDGES, LINKS), (NODES, None, None), (NODES[:0], None, None)])
def test_graphs_fit(value: tuple[Any, Any, Any]) -> None:
    """A graph may be an instance of Gymnasium's class or a tuple, with edges or without."""
    assert _texts(GRAPH, value) == _texts(GRAPH, spaces.GraphInstance(*value)) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((NODES, EDGES), "x: expected graph (nodes, edges, edge_links), got tuple of 2"),
        ((NODES[0], None, None), "x/(0): expected float32 (?, 2), got float32 (2,)"),
        ((NODES, EDGES, None), "x/(2): expected an integer array (4, 2), got None"),
        ((NODES, EDGES, LINKS[:1]), "x/(2): expected an integer array (4, 2), got int32 (1, 2)"),
        ((NODES, EDGES, LINKS.astype(float)), "x/(2): expected an integer array (4, 2), got float64 (4, 2)"),
        ((NODES, None, LINKS), "x/(2): expected None, for there are no edges, got int32 (4, 2)"),
        ((NODES, NODES, LINKS), "x/(1): expected int64 (?,), got float32 (3, 2)"),
    ],
)
def test_graphs_that_do_not_fit(value: object, expected: str) -> None:
    """Each part of a graph is checked where it stands."""
    assert expected in _texts(GRAPH, value)


def test_a_graph_whose_edges_carry_nothing_may_have_links() -> None:
    """Without an edge spec there are links only."""
    spec = specs.Graph(specs.Array((2,), np.float32))
    assert _texts(spec, (NODES, None, LINKS)) == _texts(spec, (NODES, None, None)) == []
    assert _texts(spec, (NODES, EDGES, LINKS)) == ["x/(1): expected None, for the edges carry nothing, got int64 (4,)"]
