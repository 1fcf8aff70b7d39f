"""Observations, actions and other values as JSON, and back, bit for bit."""

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import RldsKitError

ARRAY, BYTES, FLOAT, MAP, TUPLE = "$array", "$bytes", "$float", "$map", "$tuple"
_RESERVED: Final = {ARRAY, BYTES, FLOAT, MAP, TUPLE}
_KINDS: Final = "biufc"


class WireError(RldsKitError, ValueError):
    """A message or a value of one is not valid; the text says what was expected."""


def encode(value: Any) -> Any:
    """Makes JSON of a value.

    Arrays, and numbers of NumPy, have dtype, shape and their little-endian bytes in base64; Python's numbers, texts,
    lists and dicts are JSON's.

    Args:
      value: of NumPy arrays and numbers, bool, int, float, str, bytes, None, and dicts, lists and tuples of these.

    Raises:
      WireError: there is something else in it.

    >>> encode({"left": np.uint8([1, 2]), "gap": 0.5})
    {'left': {'$array': 'AQI=', 'dtype': '|u1', 'shape': [2]}, 'gap': 0.5}
    >>> decode(encode(np.float32(0.1)))
    np.float32(0.1)
    """
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value), is_scalar=isinstance(value, np.generic))
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT: str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        fields = {str(key): encode(each) for key, each in value.items()}
        return {MAP: fields} if fields.keys() & _RESERVED else fields
    if isinstance(value, tuple):
        return {TUPLE: [encode(each) for each in value]}
    if isinstance(value, list):
        return [encode(each) for each in value]
    raise WireError(
        f"expected arrays, numbers, texts, and dicts, lists and tuples of these, got {type(value).__name__}"
    )


def _array(array: np.ndarray[Any, Any], *, is_scalar: bool) -> dict[str, Any]:
    if array.dtype.kind not in _KINDS:
        raise WireError(f"expected an array of numbers, got one of {array.dtype}")
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    found = {ARRAY: base64.b64encode(little.tobytes()).decode(), "dtype": little.dtype.str, "shape": list(array.shape)}
    return {**found, "scalar": True} if is_scalar else found


def decode(value: Any) -> Any:
    """The value of its JSON.

    Raises:
      WireError: `encode` makes no such JSON.
    """
    if isinstance(value, list):
        return [decode(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if ARRAY in value:
        return _decoded_array(value)
    if not value.keys() & _RESERVED:
        return {key: decode(each) for key, each in value.items()}
    if len(value) != 1:
        raise WireError(f"expected a single key in an object with one of {sorted(_RESERVED)}, got {sorted(value)}")
    ((kind, content),) = value.items()
    return _special(kind, content)


def _special(kind: str, content: Any) -> Any:
    if kind == FLOAT and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == BYTES and isinstance(content, str):
        return _base64(content)
    if kind == TUPLE and isinstance(content, list):
        return tuple(decode(each) for each in content)
    if kind == MAP and isinstance(content, Mapping):
        return {key: decode(each) for key, each in content.items()}
    raise WireError(f"expected the content of {kind!r}, got {_shown(content)}")


def _decoded_array(value: Mapping[str, Any]) -> Any:
    if not {ARRAY, "dtype", "shape"} <= value.keys() <= {ARRAY, "dtype", "shape", "scalar"}:
        raise WireError(f"expected an array with {ARRAY}, dtype and shape, got {sorted(value)}")
    dtype, shape, content = _dtype(value["dtype"]), value["shape"], _base64(value[ARRAY])
    if not isinstance(shape, list) or not all(type(each) is int and 0 <= each < 1 << 31 for each in shape):
        raise WireError(f"expected a list of sizes as the shape of an array, got {_shown(shape)}")
    expected = math.prod(shape) * dtype.itemsize
    if len(shape) > 32 or len(content) != expected:
        raise WireError(f"expected {expected} bytes for shape {shape} of {dtype}, got {len(content)}")
    array = np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))
    return array[()] if value.get("scalar") is True and not shape else array


def _dtype(text: Any) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text) if isinstance(text, str) and len(text) <= 16 else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None or dtype.kind not in _KINDS or dtype.shape:
        raise WireError(f"expected a dtype of numbers, such as '<f4', got {_shown(text)}")
    return dtype


def _base64(text: Any) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise WireError(f"expected base64, got {_shown(text)}: {error}") from error
    raise WireError(f"expected base64, got {_shown(text)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
