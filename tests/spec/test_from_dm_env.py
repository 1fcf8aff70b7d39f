"""dm_env specs and ours."""

import typing

import numpy as np
import pytest
from dm_env import specs as dm_specs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError, UnsupportedTypeError
from rlds_kit.spec.from_dm_env import from_dm_env, to_dm_env

names = st.none() | st.sampled_from(["speed", "ä"])
dtypes = st.sampled_from(["float32", "float64", "int8", "int32", "uint8", "bool"])


@st.composite
def _bounded(draw: st.DrawFn) -> typing.Any:  # dm_env ships no types
    dtype, shape = np.dtype(draw(dtypes)), draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    elements = st.integers(0, 1) if dtype.kind == "b" else st.integers(0, 100)
    pair = [np.asarray(draw(hnp.arrays(dtype, shape, elements=elements))) for _ in range(2)]
    return dm_specs.BoundedArray(shape, dtype, np.minimum(*pair), np.maximum(*pair), draw(names))


leaves = st.one_of(
    st.builds(dm_specs.Array, hnp.array_shapes(min_dims=0, min_side=0), dtypes, names),
    _bounded(),
    st.builds(dm_specs.DiscreteArray, st.integers(1, 99), st.sampled_from([np.int32, np.int8]), names),
    st.builds(dm_specs.StringArray, st.just(()), st.sampled_from([str, bytes]), names),
    st.none(),
)
nests = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


def _facts(spec: typing.Any) -> typing.Any:  # a nest of any shape
    """The complete content of a dm_env spec: its own equality ignores class and name."""
    if isinstance(spec, dict):
        return {key: _facts(item) for key, item in spec.items()}
    if isinstance(spec, list | tuple):
        return type(spec)(_facts(item) for item in spec)
    if spec is None:
        return None
    fields = ("shape", "dtype", "name", "minimum", "maximum", "num_values", "string_type")
    return type(spec), [np.asarray(getattr(spec, field, None)).tolist() for field in fields]


@given(nests)
def test_round_trip(spec: object) -> None:
    """Specs nested in dicts, lists and tuples come back with class, name and bounds."""
    assert _facts(to_dm_env(from_dm_env(spec))) == _facts(spec)


@given(nests.filter(lambda spec: spec is not None))
def test_keys_that_look_like_fields_of_a_spec_are_keys(inner: object) -> None:
    """A dict of specs with the keys "shape" and "dtype" stays a dict."""
    spec = {"shape": inner, "dtype": inner}
    assert _facts(to_dm_env(from_dm_env(spec))) == _facts(spec)


@pytest.mark.parametrize(
    ("given_spec", "expected"),
    [
        (dm_specs.Array((2,), np.float32, "x"), specs.Array((2,), np.float32, "x")),
        (dm_specs.BoundedArray((2,), np.int8, 0, [1, 2]), specs.Array((2,), np.int8, minimum=0, maximum=[1, 2])),
        (dm_specs.DiscreteArray(4), specs.Array((), np.int32, num_values=4)),
        (dm_specs.StringArray(()), specs.Text()),
        (dm_specs.StringArray((), bytes, "x"), specs.Bytes("x")),
        (dm_specs.StringArray((3,), str, "x"), specs.Any("x")),
        (None, specs.NONE),
    ],
)
def test_each_kind(given_spec: object, expected: specs.Spec) -> None:
    """Our spec is equivalent to that of dm_env."""
    assert from_dm_env(given_spec) == expected


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [
        (specs.Array((), np.int8, minimum=0), 0, 127),
        (specs.Array((), np.float32, maximum=1), -np.inf, 1),
        (specs.Array((), np.int64, minimum=1, num_values=3), 1, 3),
    ],
)
def test_what_dm_env_lacks_becomes_a_bounded_array(spec: specs.Spec, low: float, high: float) -> None:
    """Half bounds, and categories that do not begin at 0, keep their range."""
    restored = to_dm_env(spec)
    assert (type(restored), restored.minimum, restored.maximum) == (dm_specs.BoundedArray, low, high)


def test_another_class_is_named_with_its_place() -> None:
    """The error names the class and the place."""
    with pytest.raises(SpecError, match=r"^observation/a/\[1\]: .* got builtins\.set\. Wrap"):
        from_dm_env({"a": [dm_specs.Array((), int), set()]}, "observation")


def test_keys_that_are_not_strings_are_named() -> None:
    """A dict keyed by numbers is an error that names the key."""
    with pytest.raises(SpecError, match=r"^observation: expected strings as keys of a dict of specs, got 3"):
        from_dm_env({3: None}, "observation")


def test_an_object_array_is_refused_with_its_place() -> None:
    """A dtype that cannot be recorded is refused before the first step."""
    with pytest.raises(UnsupportedTypeError, match=r"^observation/a: cannot record dtype object"):
        from_dm_env({"a": dm_specs.Array((2,), object)}, "observation")


@pytest.mark.parametrize("spec", [specs.Array((None,), np.int8), specs.Any(), specs.Sequence(specs.Text())])
def test_what_dm_env_lacks_is_an_error(spec: specs.Spec) -> None:
    """The error names the place of what has no spec there."""
    with pytest.raises(SpecError, match=r"^spec/a: dm_env has no spec for"):
        to_dm_env(specs.Dict({"a": spec}))
