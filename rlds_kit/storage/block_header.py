"""The header of a block as bytes: what protobuf writes for `BlockHeader`, without its objects.

A short episode has one block of a few columns, so that these objects would cost more than its values.
"""

import functools
from typing import Final

from rlds_kit.riegeli import varint
from rlds_kit.spec import dtypes
from rlds_kit.storage.leaf import ColumnKey

_COLUMNS_TAG: Final = b"\x22"  # BlockHeader.columns, length-delimited
_XXH3_TAG: Final = b"\x79"  # Column.xxh3, fixed64


def head(episode_id: bytes, first_row: int, end_row: int) -> bytes:
    """The fields of a block before its columns.

    >>> head(b"x" * 16, 0, 3).hex()[-8:]
    '78781803'
    """
    return b"".join((_bytes(1, episode_id), _field(2, first_row), _field(3, end_row)))


@functools.lru_cache(maxsize=4096)
def layout(
    key: ColumnKey,
    first_row: int,
    count: int,
    partial: bool,
    shape: tuple[int, ...] | None,
    filter_: int,
    codec: int,
) -> bytes:
    """The fields of a column that columns of other blocks have too; `shape` is None where shapes differ."""
    rows = _field(4, first_row) + _field(5, count) + _field(6, int(partial))
    return b"".join((before_rows(key), rows, after_rows(key, shape), _field(10, filter_), _field(11, codec)))


@functools.lru_cache(maxsize=4096)
def before_rows(key: ColumnKey) -> bytes:
    """The first fields of all columns with a key."""
    dtype = b"" if key.dtype is None else dtypes.name_of(key.dtype, key.path).encode()
    return b"".join((_bytes(1, key.path.encode()), _field(2, key.kind), _bytes(3, dtype)))


@functools.lru_cache(maxsize=4096)
def after_rows(key: ColumnKey, shape: tuple[int, ...] | None) -> bytes:
    """The fields between the rows and the filter of all columns with a key and a shape; None: shapes differ."""
    shapes = varint.encode_all(shape or ())
    return b"".join((_field(7, key.rank), _field(8, int(shape is None)), _bytes(9, shapes)))


def between(before: bytes, first_row: int, count: int, after: bytes, filter_: int, codec: int) -> bytes:
    """`layout` of a column without gaps, from its fields before and after the rows."""
    return b"".join((before, _field(4, first_row), _field(5, count), after, _field(10, filter_), _field(11, codec)))


def entry(fields: bytes, offset: int, length: int, decoded_length: int, xxh3: bytes) -> bytes:
    """A column in the header.

    Args:
      fields: from `layout`.
      offset: of its payload.
      length: likewise.
      decoded_length: likewise.
      xxh3: 8 bytes, little-endian.
    """
    size, decoded = varint.encode(length), varint.encode(decoded_length)
    if length and decoded_length and any(xxh3):  # nearly always; protobuf leaves out what is zero
        tail = b"".join((b"\x60", varint.encode(offset), b"\x68", size, b"\x70", decoded, _XXH3_TAG, xxh3))
    else:
        tail = _field(12, offset) + _field(13, length) + _field(14, decoded_length)
        tail += _XXH3_TAG + xxh3 if any(xxh3) else b""
    return b"".join((_COLUMNS_TAG, varint.encode(len(fields) + len(tail)), fields, tail))


def _field(number: int, value: int) -> bytes:
    return varint.encode(number << 3) + varint.encode(value) if value else b""


def _bytes(number: int, value: bytes) -> bytes:
    return b"".join((varint.encode(number << 3 | 2), varint.encode(len(value)), value)) if value else b""
