"""Where the numbers of a step are in its bytes: steps of one layout differ in these alone, and are decoded together.

A step is a tree of `Data` messages (`envlogger_storage.proto`). Its layout is found once. Values other than
plain arrays and numbers, such as text or arrays of large integers, are constants: steps with other values have another
layout. So have steps with a Python integer of another size, which is stored in as few bytes as it needs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.envlogger.recording import SCALAR_DIM_SIZE, Value, decode, recordable
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.riegeli import errors as riegeli_errors
from rlds_kit.riegeli import varint

_BYTES: Final = 2  # a wire type of protocol buffers
_DATUM, _ARRAY, _TUPLE, _DICT = 1, 2, 3, 4  # fields of Data
_VALUES: Final = 2
"""The field of Datum with the elements."""
_INTEGERS: Final = 10
"""The field of Values with Python's integers: big-endian, the first bit is the sign."""
INTEGER_BYTES: Final = 8
"""Python's integers of more bytes are constants."""
_RAW: Final[dict[int, tuple[str, type[np.generic]]]] = {
    1: ("<f4", np.float32),
    2: ("<f8", np.float64),
    11: (">i1", np.int8),
    12: (">i2", np.int16),
    13: (">u1", np.uint8),
    14: (">u2", np.uint16),
    15: (">f4", np.float32),
}
"""Fields of Values whose bytes are the elements: how they are laid out, and their type."""
_SMALL: Final[dict[int, type[np.generic]]] = {3: np.int32, 4: np.int64, 5: np.uint32, 6: np.uint64, 7: np.bool_}
"""Fields of Values with integers as varints: one byte if below 128, else seven bits in each byte, low ones first."""
CONTINUES: Final = 0x80
"""Set in all bytes of a varint but the last."""
_LONGEST: Final = {4: 4, 8: 9, 1: 1}
"""By bytes of an integer: bytes of a varint that is surely not negative and not cut when it is read."""
_DEEPEST: Final = 32
"""Messages in one another; what is deeper is a constant."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The elements of an array or a number.

    Attributes:
      begin: their first byte in the record.
      end: the byte after the last one.
      stored: the dtype of the bytes.
      dtype: of the elements.
      shape: of the array; None: a number.
    """

    begin: int
    end: int
    stored: str
    dtype: type[np.generic]
    shape: tuple[int, ...] | None

    @property
    def is_varint(self) -> bool:
        """Whether this is one varint of several bytes, or varints of one byte each."""
        return self.dtype in _SMALL.values()

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape or ())


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer of Python's.

    Attributes:
      begin: its first byte in the record.
      end: the byte after the last one, at most `INTEGER_BYTES` later.
    """

    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value that is the same in all steps of the layout."""

    value: Value


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, a list or a dict with names.

    Attributes:
      kind: which of them.
      items: by position or name.
    """

    kind: type[tuple[Any, ...]] | type[list[Any]] | type[dict[str, Any]]
    items: dict[Any, "Node"]


Node: TypeAlias = Numbers | Integer | Constant | Items


def layout_of(record: bytes) -> Node:
    """The layout of a record.

    Raises:
      FormatError: it is no `Data`.
    """
    return _data(record, 0, len(record), 0)


def end_of_type(record: bytes) -> int | None:
    """The end of the first item of the first item of a step, which is its type; None if later bytes might change it."""
    end = len(record)
    try:
        first = _first(record, 0, end)
        return None if first is None else _first_end(record, *first)
    except riegeli_errors.DamagedError:
        return None


def _first_end(record: bytes, begin: int, end: int) -> int | None:
    found = _first(record, begin, end)
    return None if found is None else found[1]


def _first(record: bytes, begin: int, end: int) -> tuple[int, int] | None:
    """Begin and end of the first item of a message that is a tuple, and nothing else."""
    key, at = varint.decode(record, begin)
    size, at = varint.decode(record, at)
    if key != (_TUPLE << 3 | _BYTES) or at + size != end:
        return None
    key, at = varint.decode(record, at)
    size, at = varint.decode(record, at)
    return None if key != (1 << 3 | _BYTES) or at + size > end else (at, at + size)


def numbers_in(node: Node) -> Iterator[Numbers | Integer]:
    """All numbers of a layout."""
    return (each for each in _leaves(node) if not isinstance(each, Constant))


def _leaves(node: Node) -> Iterator[Numbers | Integer | Constant]:
    if isinstance(node, Items):
        for each in node.items.values():
            yield from _leaves(each)
    else:
        yield node


def _data(record: bytes, begin: int, end: int, depth: int) -> Node:
    try:
        found = _parsed(record, begin, end, depth + 1) if depth < _DEEPEST else None
    except (riegeli_errors.DamagedError, DecodeError):  # a varint is incomplete, or a shape is invalid
        found = None
    return found or _constant(record, begin, end)


def _constant(record: bytes, begin: int, end: int) -> Constant:
    try:
        return Constant(recordable(decode(Data.FromString(record[begin:end]))))
    except DecodeError as error:
        raise FormatError(f"expected a message of EnvLogger's: {error}") from error


def _parsed(record: bytes, begin: int, end: int, depth: int) -> Node | None:
    """The layout of a message with one field, as EnvLogger writes them; None if it is another one."""
    fields = _fields(record, begin, end)
    if fields is None or len(fields) != 1:
        return None
    ((number, first, last),) = fields
    if number == _DATUM:
        return _datum(record, first, last)
    inner = _fields(record, first, last)
    if not inner or any(field != 1 for field, _, _ in inner):
        return None
    if number in (_TUPLE, _ARRAY):
        items = {place: _data(record, first, last, depth) for place, (_, first, last) in enumerate(inner)}
        return Items(tuple if number == _TUPLE else list, items)
    return _dict(record, [(a, b) for _, a, b in inner], depth) if number == _DICT else None


def _dict(record: bytes, entries: list[tuple[int, int]], depth: int) -> Items | None:
    found: dict[Any, Node] = {}
    for begin, end in entries:
        parts = _fields(record, begin, end)
        if parts is None or [number for number, _, _ in parts] != [1, 2]:
            return None
        (_, *key), (_, value, value_end) = parts
        try:
            name = record[slice(*key)].decode()
        except UnicodeDecodeError:
            return None
        if name in found:
            return None
        found[name] = _data(record, value, value_end, depth)
    return Items(dict, found)


def _datum(record: bytes, begin: int, end: int) -> Numbers | Integer | None:
    parts = _fields(record, begin, end)
    if parts is None or [number for number, _, _ in parts] not in ([1, 2], [2]):
        return None
    stored = _fields(record, *parts[-1][1:])
    if stored is None or len(stored) != 1:
        return None
    ((number, first, last),) = stored
    shape = tuple(dim.size for dim in Datum.FromString(record[begin:end]).shape.dim)
    is_scalar = shape == (SCALAR_DIM_SIZE,)
    if number == _INTEGERS:
        return Integer(first, last) if is_scalar and 0 < last - first <= INTEGER_BYTES else None
    count = 1 if is_scalar else math.prod(shape)
    layout: str
    dtype: type[np.generic]
    size: int | None
    if number in _RAW:
        layout, dtype = _RAW[number]
        size = count * np.dtype(layout).itemsize
    elif number in _SMALL:
        layout, dtype = "u1", _SMALL[number]
        size = _varints_size(record[first:last], count, dtype)
    else:
        return None
    if size != last - first or not count or (min(shape, default=1) < 0 and count != 1):
        return None
    return Numbers(first, last, layout, dtype, None if is_scalar else shape)


def _varints_size(data: bytes, count: int, dtype: type[np.generic]) -> int | None:
    """The size of this many varints; None, unless there is one that cannot be negative, or all have one byte."""
    if all(byte < CONTINUES for byte in data):
        return count
    _, size = varint.decode(data, 0)
    return size if count == 1 and size <= _LONGEST[np.dtype(dtype).itemsize] else None


def _fields(record: bytes, begin: int, end: int) -> list[tuple[int, int, int]] | None:
    """Number, begin and end of each field of a message; None if one is a number itself."""
    found, at = [], begin
    while at < end:
        key, at = varint.decode(record, at)
        if key & 7 != _BYTES:
            return None
        size, at = varint.decode(record, at)
        if size > end - at:
            return None
        found.append((key >> 3, at, at + size))
        at += size
    return found
