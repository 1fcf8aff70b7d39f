"""The kinds of spec as values: equality, hash, copies, and what they refuse."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError, UnsupportedTypeError
from tests.spec.strategies import any_specs


@given(any_specs)
def test_pickle_returns_an_equal_spec(spec: specs.Spec) -> None:
    """A spec and its pickled self are equal and have one hash."""
    copied = pickle.loads(pickle.dumps(spec))  # noqa: S301  our own bytes
    assert copied == spec
    assert hash(copied) == hash(spec)


@given(any_specs)
def test_deepcopy_returns_an_equal_spec(spec: specs.Spec) -> None:
    """A spec and its deep copy are equal."""
    assert copy.deepcopy(spec) == spec


@pytest.mark.parametrize("make", [pickle.dumps, copy.deepcopy])
def test_a_copied_bound_stays_read_only(make: object) -> None:
    """A spec that went through pickle or deepcopy cannot be changed through its bounds."""
    spec = specs.Array((2,), np.float32, minimum=[0, 1])
    copied = pickle.loads(pickle.dumps(spec)) if make is pickle.dumps else copy.deepcopy(spec)  # noqa: S301
    assert copied.minimum is not None
    assert not copied.minimum.flags.writeable


def test_nan_bounds_are_equal() -> None:
    """NaN as a bound equals NaN."""
    first, second = (specs.Array((), np.float64, minimum=math.nan) for _ in range(2))
    assert first == second


def test_a_caller_may_change_its_array_afterwards() -> None:
    """A spec stores a copy of its bounds."""
    low = np.zeros(2, np.float32)
    spec = specs.Array((2,), np.float32, minimum=low)
    low[0] = 7
    assert spec == specs.Array((2,), np.float32, minimum=[0, 0])


@pytest.mark.parametrize(
    "other",
    [
        specs.Array((3,), np.float32, "x", 0, 1),
        specs.Array((2,), np.float64, "x", 0, 1),
        specs.Array((2,), ">f4", "x", 0, 1),
        specs.Array((2,), np.float32, "y", 0, 1),
        specs.Array((2,), np.float32, "x", None, 1),
        specs.Array((2,), np.float32, "x", 0, 2),
        specs.Array((2,), np.float32, "x", [0, 0], 1),
        specs.Any("x"),
    ],
)
def test_every_field_of_an_array_counts(other: specs.Spec) -> None:
    """Arrays that differ in one field are not equal."""
    assert specs.Array((2,), np.float32, "x", 0, 1) != other


def test_order_of_a_dict_is_kept_and_does_not_count() -> None:
    """Dicts are equal in any order and remember their own."""
    one, other = specs.Dict({"b": specs.Text(), "a": specs.Text()}), specs.Dict({"a": specs.Text(), "b": specs.Text()})
    assert (one, hash(one)) == (other, hash(other))
    assert list(one.fields) == ["b", "a"]


def test_a_dict_cannot_be_changed() -> None:
    """The fields of a dict are read-only."""
    with pytest.raises(TypeError, match="does not support item assignment"):
        specs.Dict({}).fields["a"] = specs.Text()  # type: ignore[index]  # what the test is about


def test_categories_count_from_their_minimum() -> None:
    """The number of categories determines the largest, without overflow of a small dtype on the way."""
    spec = specs.Array((), np.int8, minimum=-100, num_values=200)
    assert spec == specs.Array((), np.int8, minimum=-100, maximum=99, num_values=200)


@pytest.mark.parametrize(
    ("problem", "make"),
    [
        ("minimum <= maximum", lambda: specs.Array((), np.int8, minimum=2, maximum=1)),
        ("uint8 can hold", lambda: specs.Array((), np.uint8, minimum=-1)),
        ("int8 can hold", lambda: specs.Array((), np.int8, num_values=129)),
        ("int64 can hold", lambda: specs.Array((), np.int64, maximum=math.inf)),
        ("broadcasts to", lambda: specs.Array((2,), np.int8, minimum=[1, 2, 3])),
        ("have an order", lambda: specs.Array((), np.complex64, minimum=0)),
        ("have an order", lambda: specs.Array((), "U3", minimum=0)),
        ("num_values of 1 or more", lambda: specs.Array((), np.int8, num_values=0)),
        ("integer dtype", lambda: specs.Array((), np.float32, num_values=2)),
        ("lengths of 0 or more", lambda: specs.Array((-1,), np.int8)),
        ("lone surrogates", lambda: specs.Dict({"\ud800": specs.Text()})),
        ("string as key", lambda: specs.Dict({1: specs.Text()})),  # type: ignore[dict-item]
    ],
)
def test_nonsense_is_refused(problem: str, make: object) -> None:
    """A spec that nothing could fit, or that cannot be stored, is an error that says what was expected."""
    with pytest.raises(SpecError, match=problem):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("dtype", [object, np.longdouble, "datetime64[s]", [("a", "i4")]])
def test_unrecordable_dtypes_are_refused(dtype: str) -> None:
    """A spec cannot promise what is never recorded."""
    with pytest.raises(UnsupportedTypeError, match="camera: cannot record"):
        specs.Array((), dtype, "camera")


def test_bfloat16_is_a_dtype_like_others() -> None:
    """Bounds of a dtype that NumPy lacks are preserved."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    spec = specs.Array((2,), ml_dtypes.bfloat16, minimum=0, maximum=[1, math.nan])
    assert specs.from_message(specs.to_message(spec)) == specs.from_json(specs.to_json(spec)) == spec


def test_repr_is_short() -> None:
    """Bounds of an image are not printed."""
    spec = specs.Array((84, 84), np.uint8, "pixels", np.zeros((84, 84)))
    assert repr(spec) == "Array((84, 84), uint8, name='pixels', minimum=<84 x 84 values>)"
