"""Where two recorded values differ, type for type and bit for bit."""

import math
import reprlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

Kind: TypeAlias = Literal["missing", "type", "shape", "value"]
"""What differs first: whether there is a value, its type or dtype, its shape or length, its bits."""


class _Absent:
    """Represents a missing value."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""In place of a value that only the other side has."""
SHORT: Final = 60
"""Most characters of a value that is shown."""
_NUMBERS: Final = "biufc"


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A difference between two values, or between two parts of them.

    Attributes:
      path: of the part, as in "observation/pixels".
      kind: what differs.
      a: one value.
      b: the other one.
      count: elements that differ; 1 unless both are arrays of one shape.
      max_difference: the largest absolute difference of numbers; None if there is none: no numbers, other
        shapes, or only NaN against something else.
    """

    path: str
    kind: Kind
    a: object
    b: object
    count: int = 1
    max_difference: float | None = None


def differences(a: object, b: object, path: str = "") -> Iterator[ValueDifference]:
    """The differences between two values: none if type, shape and every bit are the same.

    NaN equals NaN of the same bits, and 0.0 differs from -0.0. The order of a dict's keys is ignored.

    Args:
      a: any recordable value, or ABSENT.
      b: another one.
      path: of both.

    >>> for each in differences({"x": 1, "y": np.array([1, 2])}, {"x": 1, "y": np.array([1, 5])}, "info"):
    ...     print(each.path, each.kind, each.count, each.max_difference)
    info/y value 1 3.0
    >>> [each.kind for each in differences(1.0, np.float32(1))]
    ['type']
    """
    if a is ABSENT or b is ABSENT:
        if a is not b:
            yield ValueDifference(path, "missing", a, b)
    elif isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in (*a, *(key for key in b if key not in a)):
            yield from differences(a.get(key, ABSENT), b.get(key, ABSENT), f"{path}/{key}" if path else str(key))
    elif type_text(a) != type_text(b):
        yield ValueDifference(path, "type", a, b, max_difference=_between_types(a, b))
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        yield from _of_sequences(a, b, path)
    elif isinstance(a, np.ndarray | np.generic) and not isinstance(a, str | bytes):
        yield from _of_arrays(np.asarray(a), np.asarray(b), a, b, path)
    elif _bits(a) != _bits(b):
        largest = _largest(np.asarray(a), np.asarray(b)) if isinstance(a, float | complex) else _of_integers(a, b)
        yield ValueDifference(path, "value", a, b, max_difference=largest)


def type_text(value: object) -> str:
    """A value's type as it is recorded: subclasses lose their class.

    >>> type_text(np.zeros(2, "f4")), type_text(np.int64(3)), type_text(True), type_text(None)
    ('float32 array', 'int64 scalar', 'bool', 'NoneType')
    """
    if isinstance(value, np.ndarray):
        return f"{_dtype_text(value.dtype)} array"
    if isinstance(value, np.str_ | np.bytes_):
        return type(value).__name__  # their dtypes include their lengths
    if isinstance(value, np.generic):
        return f"{_dtype_text(value.dtype)} scalar"
    for kind in (bool, int, float, complex, str, bytes, tuple, list):
        if isinstance(value, kind):
            return kind.__name__
    return "dict" if isinstance(value, Mapping) else type(value).__name__


def short(value: object) -> str:
    """A value in a few words.

    >>> short(np.zeros((210, 160, 3), np.uint8)), short(np.float32(0.5)), short(0.5)
    ('uint8 array (210, 160, 3)', 'np.float32(0.5)', '0.5')
    """
    if isinstance(value, np.ndarray) and (value.ndim or value.dtype.kind not in _NUMBERS):
        small = value.size <= _SMALL and value.ndim
        content = np.array2string(value, separator=", ", max_line_width=_NO_BREAK, floatmode="unique") if small else ""
        text = " ".join(f"{_dtype_text(value.dtype)} array {value.shape} {content}".split())
    else:
        text = _repr.repr(value)
    return text if len(text) <= SHORT else text[: SHORT - len(_CUT)] + _CUT


_CUT: Final = "..."
_SMALL: Final = 6
_NO_BREAK: Final = 1000
_repr: Final = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = SHORT


def _dtype_text(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative and dtype.kind not in "US" else dtype.str


def _of_sequences(
    a: list[Any] | tuple[Any, ...], b: list[Any] | tuple[Any, ...], path: str
) -> Iterator[ValueDifference]:
    if len(a) != len(b):
        yield ValueDifference(path, "shape", a, b)
        return
    for index, (one, other) in enumerate(zip(a, b, strict=True)):
        yield from differences(one, other, f"{path}[{index}]")


def _of_arrays(a: np.ndarray, b: np.ndarray, one: object, other: object, path: str) -> Iterator[ValueDifference]:
    if a.shape != b.shape:
        yield ValueDifference(path, "shape", one, other)
    elif a.tobytes() != b.tobytes():
        differ = (_bytes_of(a) != _bytes_of(b)).any(axis=1)
        largest = _largest(a.reshape(-1)[differ], b.reshape(-1)[differ])
        yield ValueDifference(path, "value", *_shown(a, b, one, other, differ), int(differ.sum()), largest)


def _shown(a: np.ndarray, b: np.ndarray, one: object, other: object, differ: np.ndarray) -> tuple[object, object]:
    """The arrays themselves if they are small enough to show; else the first element that differs."""
    if not a.ndim or (a.size <= _SMALL and not any(short(each).endswith(_CUT) for each in (one, other))):
        return one, other
    first = int(np.argmax(differ))
    where = tuple(int(each) for each in np.unravel_index(first, a.shape))
    return Element(where, a[where]), Element(where, b[where])


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array that is too large to show."""

    index: tuple[int, ...]
    value: object

    def __repr__(self) -> str:
        return f"{self.value} at {list(self.index)}"


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, -1)


def _bits(value: object) -> object:
    """A key that is equal if and only if the bits are equal."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value


def _of_integers(a: object, b: object) -> float | None:
    if not (isinstance(a, int) and isinstance(b, int)):
        return None
    try:
        return float(abs(a - b))
    except OverflowError:
        return math.inf


def _between_types(a: object, b: object) -> float | None:
    """The largest difference of numbers of different types, if they have one shape."""
    try:
        one, other = np.asarray(a), np.asarray(b)
    except (ValueError, OverflowError):  # a list of lists of many lengths
        return None
    containers = (list, tuple, Mapping)
    if isinstance(a, containers) or isinstance(b, containers) or one.shape != other.shape:
        return None
    return _largest(one.reshape(-1), other.reshape(-1))


def _largest(a: np.ndarray, b: np.ndarray) -> float | None:
    """The largest absolute difference; pairs with NaN in them do not count."""
    one, other = _wide(a), _wide(b)
    if one is None or other is None:
        return None
    with np.errstate(all="ignore"):
        found = np.where(one == other, 0, np.abs(one - other))  # the same infinity twice is no difference
        found = found[~np.isnan(found)]
        return float(found.max()) if found.size else None


def _wide(array: np.ndarray) -> np.ndarray | None:
    """Numbers in the widest float dtype; integers of 64 bits stay exact if the machine has an 80-bit one."""
    if array.dtype.kind == "c":
        return array.astype(np.clongdouble)
    if array.dtype.kind in _NUMBERS:
        return array.astype(np.longdouble)
    return array.astype(np.float64).astype(np.longdouble) if array.dtype.name == "bfloat16" else None
