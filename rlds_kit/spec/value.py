"""Any recordable Python value as a protobuf `Value`, and back, type for type and bit for bit."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import DamagedError, SpecError, UnsupportedTypeError
from rlds_kit.base.rlds_kit_pb2 import Array, Complex, Entries, Items, Value
from rlds_kit.spec import dtypes

INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
MAX_NESTING: Final = 32
"""Most containers in one another: protobuf libraries refuse messages that are nested more than 100 deep."""


def encode_text(text: str) -> bytes:
    """UTF-8; a lone surrogate, which UTF-8 forbids and Python allows, becomes its three WTF-8 bytes."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """The inverse of `encode_text`."""
    return data.decode("utf-8", "surrogatepass")


def encode_big_int(number: int) -> bytes:
    r"""Big-endian two's complement in as few whole bytes as hold the sign.

    >>> encode_big_int(-1), encode_big_int(128)
    (b'\xff', b'\x00\x80')
    """
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def decode_big_int(data: bytes) -> int:
    """The inverse of `encode_big_int`."""
    return int.from_bytes(data, "big", signed=True)


def encode(value: object, place: str = "value", depth: int = 0) -> Value:
    """Turns `value` into a message.

    Args:
      value: None, bool, int, float, complex, str, bytes, NumPy arrays and scalars, and nested dict, list and tuple of
        them. Subclasses (named tuples, IntEnum, OrderedDict) keep their value and lose their class.
      place: path of the value, for the error.
      depth: how many containers it is nested in.

    Raises:
      UnsupportedTypeError: it contains a value of another type.
      SpecError: more than MAX_NESTING containers are nested.

    >>> decode(encode({"a": (1, [None, 2.5])}))
    {'a': (1, [None, 2.5])}
    """
    if depth > MAX_NESTING:
        raise SpecError(f"{place}: expected at most {MAX_NESTING} containers in one another; flatten the value")
    for kind, encoder in _ENCODERS:
        if isinstance(value, kind):
            return encoder(value, place, depth)
    raise UnsupportedTypeError(place, value)


def decode(message: Value) -> Any:  # the type of a recorded value is only known at run time
    """The inverse of `encode`.

    Raises:
      ValueError: the message is empty or names an unknown dtype.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        raise ValueError("expected a Value with a kind, got an empty message")
    return _DECODERS[kind](getattr(message, kind))


def decode_stored(message: Value, what: str, place: object) -> Any:  # likewise
    """The value of a message that a file holds.

    Args:
      message: from any writer, so it may be invalid.
      what: it is, for the error.
      place: where it is.

    Raises:
      DamagedError: it is invalid.
    """
    try:
        return decode(message)
    except (ValueError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise DamagedError(f"{place}: {what} cannot be read: {error}; run `rlds-kit verify`") from error


def decode_stored_dict(message: Value, what: str, place: object) -> dict[str, Any]:
    """Decodes a stored value that must be a dict."""
    found = decode_stored(message, what, place)
    if not isinstance(found, dict):
        raise DamagedError(f"{place}: {what}: expected a dict, got {type(found).__name__}; run `rlds-kit verify`")
    return found


def _encode_int(number: int, _: str, __: int) -> Value:
    if INT64_MIN <= number <= INT64_MAX:
        return Value(integer=int(number))
    return Value(big_integer=encode_big_int(number))


def _array(array: np.ndarray | np.generic, place: str) -> Array:
    if isinstance(array, np.ndarray) and type(array) not in (np.ndarray, np.memmap):
        raise UnsupportedTypeError(place, array)  # np.ma.MaskedArray, np.matrix: more than their elements
    values = np.asarray(array)
    name = dtypes.name_of(values.dtype, place)
    return Array(dtype=name, shape=values.shape, data=dtypes.little_endian(values).tobytes())


def _encode_dict(mapping: dict[Any, Any], place: str, depth: int) -> Value:
    return Value(
        dict=Entries(
            key=[encode(key, f"{place} (a key)", depth + 1) for key in mapping],
            value=[encode(item, f"{place}/{key}", depth + 1) for key, item in mapping.items()],
        )
    )


def _items(values: list[Any] | tuple[Any, ...], place: str, depth: int) -> Items:
    return Items(item=[encode(item, f"{place}/{index}", depth + 1) for index, item in enumerate(values)])


def _decode_array(message: Array) -> np.ndarray:
    dtype = dtypes.from_name(message.dtype)
    values = np.frombuffer(message.data, dtype.newbyteorder("<")).reshape(tuple(message.shape))
    return values.astype(dtype)


# In order: bool before int, NumPy scalars before the Python types that np.float64 and np.str_ derive from.
_ENCODERS: Final[tuple[tuple[type, Callable[[Any, str, int], Value]], ...]] = (
    (type(None), lambda *_: Value(none=True)),
    (np.ndarray, lambda value, place, _: Value(array=_array(value, place))),
    (np.generic, lambda value, place, _: Value(scalar=_array(value, place))),
    (bool, lambda value, *_: Value(boolean=value)),
    (int, _encode_int),
    (float, lambda value, *_: Value(floating=value)),
    (complex, lambda value, *_: Value(complex=Complex(real=value.real, imaginary=value.imag))),
    (str, lambda value, *_: Value(text=encode_text(value))),
    (bytes, lambda value, *_: Value(raw=value)),
    (dict, _encode_dict),
    (list, lambda value, place, depth: Value(list=_items(value, place, depth))),
    (tuple, lambda value, place, depth: Value(tuple=_items(value, place, depth))),
)

_DECODERS: Final[dict[str, Callable[[Any], Any]]] = {
    "none": lambda _: None,
    "boolean": bool,
    "integer": int,
    "big_integer": decode_big_int,
    "floating": float,
    "complex": lambda message: complex(message.real, message.imaginary),
    "text": decode_text,
    "raw": bytes,
    "array": _decode_array,
    "scalar": lambda message: _decode_array(message)[()],
    "list": lambda message: [decode(item) for item in message.item],
    "tuple": lambda message: tuple(decode(item) for item in message.item),
    "dict": lambda message: {decode(key): decode(item) for key, item in zip(message.key, message.value, strict=True)},
}
