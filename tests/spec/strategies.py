"""Hypothesis strategies for specs, values that fit them, recordable data, and Gymnasium spaces."""

from typing import Any, Final

import numpy as np
from gymnasium import Space, spaces
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlds_kit import spec as specs

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i2", ">u8")
FLOATS: Final = ("float16", "float32", "float64", ">f4")
OTHERS: Final = ("bool", "complex64", "complex128", "<U3", "|S4")

keys = st.text(max_size=3) | st.sampled_from(["kind", "fields", "shape", "dtype", "a/b", "~", "(0)"])
names = st.sampled_from(["", "pixels", "ä"])
dtypes = st.sampled_from(INTEGERS + FLOATS + OTHERS).map(np.dtype)
shapes = st.lists(st.integers(0, 3) | st.none(), max_size=3).map(tuple)


@st.composite
def array_specs(draw: st.DrawFn) -> specs.Array:
    """Draw an `Array` with unknown lengths, one bound or two (NaN and infinity included), or categories."""
    shape, dtype, name = draw(shapes), draw(dtypes), draw(names)
    if dtype.kind in "cUS":
        return specs.Array(shape, dtype, name)
    if dtype.kind in "iu" and draw(st.booleans()):
        return specs.Array(shape, dtype, name, draw(st.integers(0, 9)), None, draw(st.integers(1, 99)))
    size = tuple(1 if length is None else length for length in shape) if draw(st.booleans()) else ()
    pair = [draw(hnp.arrays(dtype, size)) for _ in range(2)]
    low, high = np.minimum(*pair), np.maximum(*pair)
    which = draw(st.integers(0, 3))
    return specs.Array(shape, dtype, name, low if which & 1 else None, high if which & 2 else None)


@st.composite
def text_specs(draw: st.DrawFn) -> specs.Text:
    """Draw a `Text` with any of its limits."""
    charset = draw(st.none() | st.text("abcä\U0001f600", max_size=4))
    low, high = draw(st.none() | st.integers(0, 2)), draw(st.none() | st.integers(2, 5))
    return specs.Text(draw(names), low, high, charset)


leaf_specs = st.one_of(array_specs(), text_specs(), names.map(specs.Bytes), names.map(specs.Any), st.just(specs.NONE))


def _deeper(inner: st.SearchStrategy[specs.Spec]) -> st.SearchStrategy[specs.Spec]:
    several = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.dictionaries(keys, inner, max_size=3).map(specs.Dict),
        several.map(specs.Tuple),
        several.map(specs.List),
        st.builds(specs.Sequence, inner, st.booleans()),
        inner.map(specs.Optional),
        st.lists(inner, min_size=1, max_size=3).map(tuple).map(specs.OneOf),
        st.builds(specs.Graph, inner, st.none() | inner),
    )


any_specs: Final[st.SearchStrategy[specs.Spec]] = st.recursive(leaf_specs, _deeper, max_leaves=6)


@st.composite
def values(draw: st.DrawFn, spec: specs.Spec, length: int | None = None) -> Any:
    """Draw a value that fits `spec`; `length` is that of the batch when `spec` comes from `stacked`."""
    match spec:
        case specs.Array(shape, dtype):
            full = [draw(st.integers(0, 2)) if n is None else n for n in shape]
            full[:1] = [length] if length is not None else full[:1]
            array = draw(hnp.arrays(dtype, tuple(full)))
            return array[()] if draw(st.booleans()) else array
        case specs.Text():
            return draw(st.text(max_size=4))
        case specs.Bytes():
            return draw(st.binary(max_size=4))
        case specs.Dict(fields):
            return {key: draw(values(field, length)) for key, field in fields.items()}
        case specs.Tuple(items):
            return tuple(draw(values(item, length)) for item in items)
        case specs.List(items):
            return [draw(values(item)) for item in items]
        case specs.Sequence(element, batched):
            count = draw(st.integers(0, 2)) if length is None else length
            if batched and length is None:
                return draw(values(specs.stacked(element), count))
            return tuple(draw(values(element)) for _ in range(count))
        case specs.Optional(inner):
            return None if inner == specs.OneOf(()) or draw(st.booleans()) else draw(values(inner))
        case specs.OneOf(alternatives):
            index = draw(st.integers(0, len(alternatives) - 1))
            return (index, draw(values(alternatives[index])))
        case specs.Graph():
            return draw(_graphs(spec))
        case specs.Any():
            return draw(st.none() | st.integers() | st.text(max_size=2))


@st.composite
def _graphs(draw: st.DrawFn, spec: specs.Graph) -> tuple[Any, Any, Any]:
    nodes = draw(values(specs.stacked(spec.node), draw(st.integers(0, 2))))
    if spec.edge is None:  # edges that carry nothing may still link nodes
        return nodes, None, draw(st.sampled_from([None, np.zeros((1, 2), np.int64)]))
    if draw(st.booleans()):
        return nodes, None, None
    batch, count = specs.stacked(spec.edge), draw(st.integers(0, 2))
    edges = draw(values(batch, count))
    if edges is None:  # a batch of dynamic values may be None, which says that there are no edges
        return nodes, None, None
    return nodes, edges, np.zeros((count, 2), np.int32)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3),
    st.binary(max_size=3),
    dtypes.flatmap(lambda dtype: hnp.arrays(dtype, ())).map(lambda array: array[()]),
    st.tuples(dtypes, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)).flatmap(
        lambda both: hnp.arrays(*both)
    ),
)
recordables: Final[st.SearchStrategy[Any]] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys | st.integers(), inner, max_size=3),
    ),
    max_leaves=5,
)


@st.composite
def boxes(draw: st.DrawFn) -> Space[Any]:
    """Draw a `Box`: bounded, half bounded or not, one bound or many, of every dtype that it takes."""
    dtype = np.dtype(
        draw(st.sampled_from(["float16", "float32", "float64", "int8", "int64", "uint8", "uint32", "bool"]))
    )
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    high_end = 1 if dtype.kind == "b" else 100
    numbers = st.integers(0, high_end) if dtype.kind in "biu" else st.floats(-100, 100, width=16)
    # Gymnasium cannot sample batches of int64 without bounds: the width of the interval overflows.
    infinite = dtype.name != "int64" and dtype.kind in "if" and draw(st.booleans())
    pair = [np.asarray(draw(hnp.arrays(dtype, shape, elements=numbers))) for _ in range(2)]
    low, high = np.asarray(np.minimum(*pair)), np.asarray(np.maximum(*pair))  # a ufunc makes scalars of 0-d arrays
    side = draw(st.integers(1, 3)) if infinite else 0
    return spaces.Box(-np.inf if side & 1 else low, np.inf if side & 2 else high, shape, dtype.type)


@st.composite
def multi_discretes(draw: st.DrawFn) -> Space[Any]:
    """Draw a `MultiDiscrete` of one or two dimensions."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=3))
    counts = draw(hnp.arrays(np.int64, shape, elements=st.integers(1, 20)))
    starts = draw(hnp.arrays(np.int64, shape, elements=st.integers(-5, 5)))
    dtype = draw(st.sampled_from([np.int64, np.int32, np.int8]))
    return spaces.MultiDiscrete(counts, dtype=dtype, start=starts)


discretes = st.builds(
    lambda n, start, dtype: spaces.Discrete(n, start=start, dtype=dtype),
    st.integers(1, 100),
    st.integers(0, 20),
    st.sampled_from([np.int64, np.int32, np.int8, np.uint8]),
)
texts = st.builds(
    lambda low, more, charset: spaces.Text(low + more, min_length=low, charset=charset),
    st.integers(0, 3),
    st.integers(0, 3),
    st.text("abcxyzä!", min_size=1),
)
multi_binaries = st.integers(1, 4).map(spaces.MultiBinary) | st.lists(st.integers(1, 3), min_size=2, max_size=3).map(
    spaces.MultiBinary
)
leaf_spaces: Final[st.SearchStrategy[Space[Any]]] = st.one_of(
    boxes(), discretes, multi_binaries, multi_discretes(), texts
)


def _deeper_spaces(inner: st.SearchStrategy[Space[Any]]) -> st.SearchStrategy[Space[Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.dictionaries(keys, inner, max_size=3).map(spaces.Dict),
        several.map(spaces.Tuple),
        several.map(spaces.OneOf),
        st.builds(lambda space, stack: spaces.Sequence(space, stack=stack), inner, st.booleans()),
        st.builds(spaces.Graph, inner, st.none() | inner),
    )


any_spaces: Final[st.SearchStrategy[Space[Any]]] = st.recursive(leaf_spaces, _deeper_spaces, max_leaves=5)
