"""Reads `tf.train.Example` messages into arrays. No TensorFlow is needed.

https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto: an Example is a map from
names to lists of bytes, of float32 or of int64. Features that are not needed are not decoded.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base.errors import FormatError

Values: TypeAlias = np.ndarray | list[bytes]
"""`[n]` float32, `[n]` int64, or byte strings."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types of protocol buffers
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_STRING_TAG: Final = 1 << 3 | _BYTES
_MAX_VARINT: Final = 10
_EMPTY: Final = np.zeros(0, np.int64)


class Example:
    """The features of one message, by name.

    Args:
      data: the message.

    Raises:
      FormatError: it is not a valid message.
    """

    def __init__(self, data: bytes) -> None:
        self._features: dict[str, memoryview] = {}
        self._values: dict[str, Values] = {}
        for number, features in _fields(memoryview(data)):
            if number == 1:
                for _, entry in _fields(_message(features)):
                    parts: dict[int, Any] = dict(_fields(_message(entry)))
                    self._features[_name(parts.get(1, memoryview(b"")))] = parts.get(2, memoryview(b""))

    def __contains__(self, name: str) -> bool:
        return name in self._features

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __getitem__(self, name: str) -> Values:
        """The values of a feature; an empty int64 array if its list has no kind.

        Raises:
          KeyError: there is no such feature.
          FormatError: its bytes are not a valid list.
        """
        found = self._values.get(name)
        if found is None:
            found = self._values[name] = self._decoded(name)
        return found

    def _decoded(self, name: str) -> Values:
        for number, content in _fields(_message(self._features[name])):
            if number == _BYTES_LIST:
                return _strings(_message(content))
            if number == _FLOAT_LIST:
                return _floats(_message(content))
            if number == _INT64_LIST:
                return _integers(_message(content))
        return _EMPTY


def _name(value: memoryview | int) -> str:
    try:
        return bytes(_message(value)).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"a feature has a name that is no UTF-8: {error}") from error


def _strings(content: memoryview) -> list[bytes]:
    """All byte strings of a list. There is one for each step, so the loop must be fast."""
    data, found, at = bytes(content), list[bytes](), 0
    size = len(data)
    while at + 1 < size and data[at] == _STRING_TAG:
        length, begin = data[at + 1], at + 2
        if length >= 0x80:
            length, begin = _varint(content, at + 1)
        at = begin + length
        if at > size:
            raise FormatError("a field reaches beyond the end of its message")
        found.append(data[begin:at])
    return found + [bytes(_message(item)) for _, item in _fields(content[at:])]


def _floats(content: memoryview) -> np.ndarray:
    # Four bytes each, packed together or one by one. As bytes, because a Python float would lose the payload of a NaN.
    parts = b"".join(_message(item) for _, item in _fields(content))
    if len(parts) % 4:
        raise FormatError(f"expected floats of 4 bytes, got {len(parts)} bytes")
    return np.frombuffer(parts, "<f4")


def _integers(content: memoryview) -> np.ndarray:
    parts = [
        _varints(item) if isinstance(item, memoryview) else np.array([item], np.uint64).view(np.int64)
        for _, item in _fields(content)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([_EMPTY, *parts])


def _varints(packed: memoryview) -> np.ndarray:
    """All integers of a packed list at once."""
    data = np.frombuffer(packed, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    if len(ends) == len(data):
        return data.astype(np.int64)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise FormatError("a list of integers ends inside one of them")
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts + 1
    if lengths.max() > _MAX_VARINT:
        raise FormatError("an integer has more than 64 bits")
    values = np.zeros(len(ends), np.uint64)
    for byte in range(int(lengths.max())):
        has_byte = lengths > byte
        values[has_byte] |= (data[starts[has_byte] + byte].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * byte)
    return values.view(np.int64)


def _message(value: memoryview | int) -> memoryview:
    if isinstance(value, int):
        raise FormatError("expected a message, got a number")
    return value


def _fields(view: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Number and content of each field of a message; a varint as a number, all others as bytes."""
    position, size = 0, len(view)
    while position < size:
        key, position = _varint(view, position)
        kind = key & 7
        if kind == _VARINT:
            number, position = _varint(view, position)
            yield key >> 3, number
            continue
        if kind == _BYTES:
            length, position = _varint(view, position)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise FormatError(f"expected a tf.train.Example, got a field of wire type {kind}")
        if length > size - position:
            raise FormatError("a field reaches beyond the end of its message")
        yield key >> 3, view[position : position + length]
        position += length


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    for byte in view[position : position + _MAX_VARINT]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position + shift // 7
    raise FormatError("an integer ends nowhere")
