"""Unsigned base-128 integers: seven bits to a byte, least significant first.

"varint64" in "Chunk data" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Sequence

from rlds_kit.riegeli.buffer import Buffer
from rlds_kit.riegeli.errors import DamagedError

_SINGLE_BYTES = tuple(bytes((value,)) for value in range(128))
_LONGEST_SHIFT = 56
"""Of the last byte of a varint of nine bytes, which has 63 bits and so cannot be too large."""


def encode(value: int) -> bytes:
    """Return the shortest varint of `value`.

    >>> encode(150).hex()
    '9601'
    """
    if 0 <= value < 128:
        return _SINGLE_BYTES[value]
    if 0 <= value < 1 << 14:  # without a loop: sizes and positions in small files
        return bytes((value & 127 | 128, value >> 7))
    if 0 <= value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    if 0 <= value < 1 << 28:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14 & 127 | 128, value >> 21))
    if not 0 <= value < 1 << 64:
        raise ValueError(f"a varint holds 0 to 2**64 - 1, got {value}")
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_all(values: Sequence[int]) -> bytes:
    """Return the shortest varints of all `values`, one after the other.

    >>> encode_all([3, 150, 0]).hex()
    '03960100'
    """
    if min(values, default=0) >= 0 and max(values, default=0) < 128:
        return bytes(values)  # one byte each: the sizes of an index with many small records
    return b"".join(map(encode, values))


def decode(data: bytes | memoryview, position: int, *, bits: int = 64) -> tuple[int, int]:
    """Return the varint at `position` of `data` and the position after it.

    Longer forms than necessary are accepted, values of more than `bits` bits are not.

    Raises:
        DamagedError: `data` ends inside the varint, or the value needs more than `bits` bits.

    >>> decode(bytes.fromhex("9601"), 0)
    (150, 2)
    """
    value = 0
    for shift in range(0, bits, 7):
        if position >= len(data):
            raise DamagedError("a varint is cut short")
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> bits:
                break
            return value, position
    raise DamagedError(f"a varint needs more than {bits} bits")


def decode_all(data: Buffer, count: int) -> list[int]:
    """Return the `count` varints of 64 bits that fill `data` exactly.

    Raises:
        DamagedError: `data` holds more or fewer of them.

    >>> decode_all(bytes.fromhex("03960100"), 3)
    [3, 150, 0]
    """
    view = memoryview(data)
    if count > len(view):
        raise DamagedError(f"{len(view)} bytes cannot hold {count} varints")
    if count == len(view) and max(view, default=0) < 128:
        return list(view)  # one byte each: the sizes of an index with many small records
    if 2 * count == len(view):
        low, high = bytes(view[::2]), bytes(view[1::2])
        if high.isascii() and min(low, default=0) >= 128:  # two bytes each: records of a few hundred bytes
            return [(one & 127) | two << 7 for one, two in zip(low, high, strict=True)]
    found = _complete(view)
    return found if found is not None and len(found) == count else _one_by_one(view, count)


def _complete(view: memoryview) -> list[int] | None:
    """Return all varints, in one loop, or None if one of them is longer than nine bytes or cut short."""
    values: list[int] = []
    value = shift = 0
    for byte in view:
        if byte < 128:
            values.append(value | byte << shift)
            value = shift = 0
        elif shift == _LONGEST_SHIFT:
            return None
        else:
            value |= (byte & 127) << shift
            shift += 7
    return None if shift else values


def _one_by_one(view: memoryview, count: int) -> list[int]:
    values = []
    position = 0
    for _ in range(count):
        value, position = decode(view, position)
        values.append(value)
    if position != len(view):
        raise DamagedError(f"{len(view) - position} bytes follow the last of {count} varints")
    return values
