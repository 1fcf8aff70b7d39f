"""Whether a dtype can hold a scalar exactly."""

import typing
from functools import lru_cache

import numpy as np

from rlds_kit.spec.dtypes import BFLOAT16

FITS: typing.Final = {"b": "bf", "i": "iufc", "u": "iufc", "f": "fc", "c": "c", "U": "U", "S": "S"}
"""Kind of a value: kinds of dtype that may hold it. No float becomes an integer; a bool may also be a 0.0 or 1.0."""

_FLOAT64: typing.Final = np.dtype(np.float64)
_FLOAT32: typing.Final = np.dtype(np.float32)
_FLOAT32_MAX: typing.Final = float(np.finfo(np.float32).max)
_FLOAT64_INTEGERS: typing.Final = 1 << 53
"""All integers up to here are exact in float64."""


def holds(dtype: np.dtype[typing.Any], value: object) -> bool:
    """Whether `value`, a Python or NumPy scalar or a 0-d array, comes back unchanged, bit for bit, out of `dtype`.

    >>> holds(np.dtype("int8"), 127), holds(np.dtype("int8"), 128), holds(np.dtype("float32"), 0.1)
    (True, False, False)
    """
    if type(value) is float:
        return _holds_float(dtype, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _holds_int(dtype, value)
    if not isinstance(value, np.generic | np.ndarray | bool | float | complex | str | bytes):
        return False
    array = np.asarray(value)
    return not array.ndim and (array.dtype == dtype or _always(dtype, array.dtype) or _holds(dtype, array))


def holds_all(dtype: np.dtype[typing.Any], values: np.ndarray) -> bool:
    """Whether `holds` is true of every number in an array.

    >>> [holds_all(np.dtype("float32"), np.array([1, last])) for last in (1 << 24, 1 + (1 << 24))]
    [True, False]
    """
    kind, own = _kind(dtype), _kind(values.dtype)
    if values.dtype == dtype or not values.size or _always(dtype, values.dtype):
        return True
    if kind not in FITS.get(own, "") or values.dtype.type in (np.longdouble, np.clongdouble):
        return False
    if own in "iu":
        extremes = int(values.min()), int(values.max())
        if kind in "iu":
            return all(_holds_int(dtype, each) for each in extremes)
        if max(map(abs, extremes)) > _FLOAT64_INTEGERS:  # casting back may overflow: machines differ
            return all(_holds_int(dtype, each) for each in values.reshape(-1).tolist())
    return _survives(values, _component(dtype) if own in "iuf" else dtype)


def _holds_float(dtype: np.dtype[typing.Any], number: float) -> bool:
    if dtype == _FLOAT64:
        return True
    if dtype == _FLOAT32 and -_FLOAT32_MAX <= number <= _FLOAT32_MAX:  # called for the reward of every step
        return float(np.float32(number)) == number
    return _holds(dtype, np.asarray(number))


@lru_cache(maxsize=1024)
def _always(dtype: np.dtype[typing.Any], source: np.dtype[typing.Any]) -> bool:
    """Whether `dtype` holds every value of `source`; NumPy calls int64 to float64 safe, so kinds must be the same."""
    same_kind = source.kind == dtype.kind or source.kind + dtype.kind == "ui"
    return same_kind and dtype.kind in "iuf" and np.can_cast(source, dtype, "safe")


def _holds(dtype: np.dtype[typing.Any], array: np.ndarray) -> bool:
    kind = _kind(array.dtype)
    if _kind(dtype) not in FITS.get(kind, "") or array.dtype.type in (np.longdouble, np.clongdouble):
        return False
    if kind in "iu":
        return _holds_int(dtype, int(array))
    return _survives(array, _component(dtype) if kind == "f" else dtype)


def _holds_int(dtype: np.dtype[typing.Any], number: int) -> bool:
    kind = _kind(dtype)
    if kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min <= number <= limits.max
    if kind not in FITS["i"]:
        return False
    if dtype == _FLOAT64 and -_FLOAT64_INTEGERS <= number <= _FLOAT64_INTEGERS:
        return True
    try:
        floating = float(number)
    except OverflowError:
        return False
    return int(floating) == number and _survives(np.asarray(floating), _component(dtype))


def _survives(array: np.ndarray, dtype: np.dtype[typing.Any]) -> bool:
    with np.errstate(all="ignore"):  # an overflow is an expected result here
        return array.astype(dtype).astype(array.dtype).tobytes() == array.tobytes()


def _component(dtype: np.dtype[typing.Any]) -> np.dtype[typing.Any]:
    """The float that a complex number is made of; any other dtype itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _kind(dtype: np.dtype[typing.Any]) -> str:
    return "f" if dtype.kind == "V" and dtype.name == BFLOAT16 else dtype.kind
