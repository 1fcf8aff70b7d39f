"""Encodes the columns of a step block: filters and compresses their values. `column.py` has the inverse.

The columns of a block are compressed together, because each call of zstd releases the interpreter lock: to get it back
from a program that records takes longer than to compress a column of numbers.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import dtypes
from rlds_kit.storage import filters
from rlds_kit.storage.column import Column
from rlds_kit.storage.compression import FAST_LEVEL, NO_LEVEL, compress_each
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.running_hash import RunningHash

_LIGHT_BYTES: Final = 1 << 11
"""Up to this size one comparison of `bytes` is fastest, whatever the rows."""
WORTHWHILE_BYTES: Final = 32
"""Smaller savings are not worth the time for decompression."""
_HASHED_WHILE_ENCODED: Final = 1 << 12
"""Bytes of a value from which on it is hashed while it is encoded; a block of smaller ones fits into the cache, so that
another pass costs little."""

Hashes: TypeAlias = Mapping[ColumnKey, RunningHash]
"""Of columns that are hashed while they are encoded."""
NO_HASHES: Final[Hashes] = MappingProxyType({})


class Packed(NamedTuple):
    """A column as it is stored.

    Attributes:
      first_row: the row of its first value.
      covered: rows that it covers.
      filter: a number of `Filter`.
      codec: a number of `Codec`.
      decoded_length: of the payload without compression.
      payload: filtered and compressed; the memory of the column itself, where it is stored as it is.
    """

    first_row: int
    covered: int
    filter: int
    codec: int
    decoded_length: int
    payload: bytes | memoryview


class _Filtered(NamedTuple):
    """A column before compression.

    Attributes:
      first_row, covered, filter: as of `Packed`.
      level: of compression.
      parts: the filtered values, in parts that have little in common; the first begins with `prefix`.
      prefix: which rows are present, and shapes.
      values: of the column, little-endian; stored as they are if neither filter nor compression pays off.
    """

    first_row: int
    covered: int
    filter: int
    level: int
    parts: list[bytes | memoryview]
    prefix: bytes
    values: np.ndarray

    @property
    def length(self) -> int:
        """Bytes of all parts."""
        return sum(map(len, self.parts))


def encode(column: Column, choose: FilterChoice) -> tuple[pb.Column, bytes]:
    """Turns a column into its header entry (without `offset`) and its payload. Arguments as for `pack`."""
    (packed,) = pack((column,), choose)
    return describe(column, packed), bytes(packed.payload)


def describe(column: Column, packed: Packed) -> pb.Column:
    """The header entry of a column, without `offset`."""
    return pb.Column(
        path=column.key.path,
        kind=column.key.kind,  # type: ignore[arg-type]  # the stub wants its own enum class
        dtype="" if column.key.dtype is None else dtypes.name_of(column.key.dtype, column.key.path),
        first_row=packed.first_row,
        count=packed.covered,
        partial=len(column.rows) != packed.covered,
        rank=column.key.rank,
        ragged=column.shapes is not None,
        shape=() if column.shapes is not None else column.values.shape[1:],
        filter=packed.filter,  # type: ignore[arg-type]  # likewise
        codec=packed.codec,  # type: ignore[arg-type]  # likewise
        length=len(packed.payload),
        decoded_length=packed.decoded_length,
        xxh3=xxhash.xxh3_64_intdigest(packed.payload),
    )


def pack(columns: Sequence[Column], choose: FilterChoice, hashes: Hashes = NO_HASHES) -> list[Packed]:
    """Filters and compresses the values of columns.

    Args:
      columns: each has at least one row.
      choose: chooses the filters, and remembers earlier choices for the same fields.
      hashes: of columns that are `is_hashed_while_encoded`; the values are added to them.
    """
    filtered = [_filtered(each, choose, hashes.get(each.key) if hashes else None) for each in columns]
    waiting = [each for each in filtered if isinstance(each, _Filtered)]
    frames = iter(compress_each([(each.parts, level) for each, level in zip(waiting, _levels(waiting), strict=True)]))
    return [_packed(each, next(frames)) if isinstance(each, _Filtered) else each for each in filtered]


def _levels(columns: Sequence[_Filtered]) -> list[int]:
    """The level of each column. If all large columns have one level, the small ones get it, too, to save a call.

    A small column takes about as many bytes at any level.
    """
    large = {each.level for each in columns if each.length > _LIGHT_BYTES}
    return [*large] * len(columns) if len(large) == 1 else [each.level for each in columns]


def is_hashed_while_encoded(column: Column) -> bool:
    """Whether values are so large that they are best hashed while they are encoded, when they are in the cache."""
    values = column.values
    is_plain = column.shapes is None and values.dtype.itemsize == 1 and values.dtype.kind in "biu"
    return is_plain and values.nbytes >= _HASHED_WHILE_ENCODED * max(1, len(values))


def _filtered(column: Column, choose: FilterChoice, running: RunningHash | None) -> _Filtered | Packed:
    """A column that can be compressed; or as it is stored, where that saves nothing."""
    first = int(column.rows[0])
    count = int(column.rows[-1]) - first + 1
    is_whole = column.shapes is None and len(column.rows) == count
    if is_whole and running is None and (light := _filtered_light(column, first, count, choose)):
        return light
    prefix = b"" if is_whole else _presence_bytes(column, count) + _shape_bytes(column)
    level = FAST_LEVEL
    values = dtypes.little_endian(column.values)
    parts: list[bytes | memoryview]
    number: int = pb.IDENTITY
    if column.shapes is not None or values.size == 0:
        parts = [values.tobytes()]
    else:
        rows = values.view(np.uint8).reshape(len(values), -1)
        number, level = choose(column.key, rows, values.dtype, values.shape[1:])
        if running is not None and number not in filters.WHILE_HASHED:
            running.update(rows.data)
            running = None
        if number == pb.IDENTITY and level == NO_LEVEL:
            plain = prefix + values.tobytes() if prefix else _memory_of(values)
            return Packed(first, count, number, pb.STORED, len(plain), plain)
        if number == pb.REPEAT and rows.shape[1] <= WORTHWHILE_BYTES:
            parts = [rows[0].tobytes()]
        else:
            filtered = (
                filters.APPLY[number](rows, values.dtype.itemsize, values.shape[1:])
                if running is None
                else (filters.WHILE_HASHED[number](rows, running),)
            )
            parts = [part.reshape(-1).data for part in filtered]
    if prefix:
        parts[0] = prefix + parts[0]
    found = _Filtered(first, count, number, level, parts, prefix, values)
    # To compress fewer bytes cannot save as many as are worth it.
    return found if level != NO_LEVEL and found.length > WORTHWHILE_BYTES else _packed(found, b"")


def _filtered_light(column: Column, first: int, count: int, choose: FilterChoice) -> _Filtered | Packed | None:
    """What `_filtered` returns for few bytes, in a fraction of the time; None if it must be found out there."""
    values = column.values
    if not 0 < values.nbytes <= _LIGHT_BYTES or dtypes.is_big_endian(values.dtype):
        return None
    plain = values.tobytes()
    size, length = len(plain) // count, len(plain)
    if plain == plain[:size] * count:
        return Packed(first, count, pb.REPEAT, pb.STORED, size, plain[:size]) if size <= WORTHWHILE_BYTES else None
    choice = choose.known(column.key)
    if choice is None:
        return None
    if choice.level == NO_LEVEL or length <= WORTHWHILE_BYTES:
        return Packed(first, count, pb.IDENTITY, pb.STORED, length, plain)
    planes = filters.shuffled_bytes(choice.filter, plain, count, values.dtype.itemsize)
    return _Filtered(first, count, choice.filter, choice.level, [planes], b"", values)


def _packed(column: _Filtered, frame: bytes) -> Packed:
    """A column as it is stored: compressed, filtered only, or as it is, if that takes hardly more.

    Args:
      column: after its filter.
      frame: of zstd; empty if there is none.
    """
    first, count, number, _, parts, prefix, values = column
    length = column.length
    codec: int = pb.ZSTD
    if not frame or len(frame) + WORTHWHILE_BYTES > length:
        codec, frame = pb.STORED, b"".join(parts)
    if number == pb.REPEAT or len(frame) + WORTHWHILE_BYTES <= len(prefix) + values.nbytes:
        return Packed(first, count, number, codec, length, frame)
    plain = prefix + values.tobytes()
    return Packed(first, count, pb.IDENTITY, pb.STORED, len(plain), plain)


def _memory_of(values: np.ndarray) -> memoryview:
    """The bytes of an array, copied only if they are not in one piece."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def _presence_bytes(column: Column, count: int) -> bytes:
    if len(column.rows) == count:
        return b""
    present = np.zeros(count, np.bool_)
    present[column.rows - column.rows[0]] = True
    return np.packbits(present, bitorder="little").tobytes()


def _shape_bytes(column: Column) -> bytes:
    return b"" if column.shapes is None else column.shapes.astype("<u4").tobytes()
