"""Hypothesis strategies for everything that can be recorded."""

import struct
from typing import Any, Final

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

INTEGERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS: Final = ("float16", "float32", "float64", "complex64", "complex128")
BIG_ENDIAN: Final = (">i2", ">i4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16")
DTYPES: Final = (*map(np.dtype, ("bool", *INTEGERS, *FLOATS, *BIG_ENDIAN)), np.dtype(ml_dtypes.bfloat16))
TEXTS: Final = tuple(map(np.dtype, ("<U1", "<U4", ">U3", "S1", "S5")))

shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
text = st.text(st.characters(exclude_categories=()), max_size=6)
"""Any Python string: lone surrogates, NUL and nothing at all included."""

keys = st.text(max_size=3) | st.sampled_from(["", "a/b", "~", "~0", "~1", "~2", "(0)", "[0]", "/", "(", "0", "is_last"])
names = keys.filter(lambda name: name not in ("is_first", "is_last", "is_terminal"))


@st.composite
def number_arrays(draw: st.DrawFn, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Any bits at all: NaN payloads, -0.0, subnormals and edges come by themselves, or are put in."""
    count = int(np.prod(shape))
    if dtype == np.bool_:
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_).reshape(shape)
    edges = st.sampled_from([b"\0", b"\xff", b"\x7f", b"\x80"]).map(lambda byte: byte * dtype.itemsize)
    item = st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize) | edges
    data = b"".join(draw(st.lists(item, min_size=count, max_size=count)))
    return np.frombuffer(data, np.uint8).view(dtype).reshape(shape).copy()


@st.composite
def text_arrays(draw: st.DrawFn, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Fixed-width text, padded with NULs as NumPy does."""
    count = int(np.prod(shape))
    width = dtype.itemsize // (4 if dtype.kind == "U" else 1)
    item = st.text(max_size=width) if dtype.kind == "U" else st.binary(max_size=width)
    return np.array(draw(st.lists(item, min_size=count, max_size=count)), dtype).reshape(shape)


@st.composite
def array_like(draw: st.DrawFn, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    """An array of this dtype and shape; not always in C order."""
    array = draw((text_arrays if dtype.kind in "US" else number_arrays)(dtype, shape))
    if array.ndim > 1 and draw(st.booleans()):
        return np.asfortranarray(array)
    return array


any_dtypes = st.sampled_from(DTYPES + TEXTS)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """An array of any dtype and shape: 0-d and zero-size included."""
    return draw(array_like(draw(any_dtypes), draw(shapes)))


@st.composite
def numpy_scalars(draw: st.DrawFn) -> np.generic:
    """A NumPy scalar of any type."""
    scalar: Any = draw(array_like(draw(any_dtypes), ()))[()]
    assert isinstance(scalar, np.generic)
    return scalar


floats = st.floats(width=64) | st.binary(min_size=8, max_size=8).map(lambda data: float(struct.unpack("<d", data)[0]))
complexes = st.builds(complex, floats, floats)
integers = st.integers() | st.sampled_from(
    [2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 255, 256, -128, -129, 2**200, -(2**200)]
)
python_scalars = st.none() | st.booleans() | integers | floats | complexes | text | st.binary(max_size=6)
scalars = python_scalars | numpy_scalars() | arrays()

tuples = st.tuples(st.integers(), st.text(max_size=2))
dict_keys = text | st.integers() | st.booleans() | st.none() | st.binary(max_size=3) | tuples
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
        | st.dictionaries(dict_keys, inner, max_size=3)
    ),
    max_leaves=6,
)
"""Any recordable value."""

fields = st.dictionaries(names, values, max_size=4)
"""What one side of a row may hold, all of it dynamic."""


@st.composite
def rows(draw: st.DrawFn, max_size: int = 6) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Rows of an episode: what was observed, and what had been done; keys, shapes and types change as they like."""
    observed = draw(st.lists(fields, min_size=1, max_size=max_size))
    acted = [draw(st.none() | fields) if row else None for row in range(len(observed))]
    return [
        (one, None if other is None else {name: item for name, item in other.items() if not _clash(name, observed)})
        for one, other in zip(observed, acted, strict=True)
    ]


def _clash(name: str, observed: list[dict[str, Any]]) -> bool:
    """A field belongs to the observation or to the action, not to both."""
    return any(name in row for row in observed)
