"""The NumPy dtypes that are recorded, and their names on disk."""

import contextlib
import sys
from functools import lru_cache
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import UnsupportedTypeError

NUMERIC: Final = frozenset(
    {"bool"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {"float16", "float32", "float64", "complex64", "complex128"}
)
BFLOAT16: Final = "bfloat16"
"""The one dtype that NumPy itself lacks: ml_dtypes has it."""


@lru_cache(maxsize=1024)
def name_of(dtype: np.dtype[Any], place: str) -> str:
    """The name on disk: NumPy's for numbers, with a leading ">" when big-endian; "<U5" and "|S5" for fixed-width text.

    Raises:
      UnsupportedTypeError: object, structured, longdouble, datetime and any other dtype.

    >>> name_of(np.dtype("float32"), "reward"), name_of(np.dtype(">i2"), "x"), name_of(np.dtype("U5"), "x")
    ('float32', '>int16', '<U5')
    """
    if dtype.name in NUMERIC or dtype.name == BFLOAT16:
        return ">" + dtype.name if is_big_endian(dtype) else dtype.name
    if dtype.kind in "US":
        return dtype.str
    raise UnsupportedTypeError(place, dtype)


def from_name(name: str) -> np.dtype[Any]:
    """The inverse of `name_of`.

    Raises:
      ValueError: `name` is not one of ours, or is bfloat16 and ml_dtypes is not installed.
    """
    bare = name.removeprefix(">")
    if bare in NUMERIC:
        return np.dtype(bare).newbyteorder(">") if name[0] == ">" else np.dtype(bare)
    if bare == BFLOAT16:
        return _bfloat16()
    if name[1:2] in ("U", "S") and name[2:].isdigit():
        with contextlib.suppress(TypeError, OverflowError):  # NumPy's own words for a width that it cannot have
            return np.dtype(name)
    raise ValueError(f"expected the name of a recordable dtype, got {name!r}")


def is_big_endian(dtype: np.dtype[Any]) -> bool:
    """Whether the most significant byte comes first."""
    return dtype.byteorder == ">" or (dtype.byteorder == "=" and sys.byteorder == "big")


def little_endian(values: np.ndarray) -> np.ndarray:
    """`values` in C order with the least significant byte first, copied only if they are not already."""
    if type(values) is np.ndarray and values.flags.c_contiguous and not is_big_endian(values.dtype):
        return values
    if is_big_endian(values.dtype):
        values = values.astype(values.dtype.newbyteorder("<"))
    return np.ascontiguousarray(values).reshape(values.shape)


def _bfloat16() -> np.dtype[Any]:
    try:
        import ml_dtypes  # not a dependency: only data that has the dtype needs it
    except ImportError as error:
        raise ValueError("a field has dtype bfloat16, which needs ml_dtypes: pip install ml_dtypes") from error
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype
