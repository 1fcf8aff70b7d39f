"""One column of a step block: values of one kind, filtered, compressed and checksummed, and back.

The decoded payload is, in this order: a presence bitmap (`partial`: one bit a covered row, lowest bit first), the
shapes of the present values (`ragged`: `rank` little-endian uint32 each), and the present values in C order.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import xxhash
import zstandard

from rlds_kit.errors import DamagedError, FormatError
from rlds_kit.storage import dtypes, filters
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.compression import FAST_LEVEL, compressor, decompress_into, decompressor
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.filters import Rows
from rlds_kit.storage.leaf import ColumnKey

MAX_DECODED_BYTES: Final = 1 << 31
"""A column that claims more is refused before anything is allocated."""

_IN_PLACE_BYTES: Final = 1 << 14
"""Smaller columns are decompressed faster in one call than through a reader."""

_DTYPES: Final[dict[int, np.dtype[Any]]] = {
    pb.BOOL: np.dtype(np.bool_),
    pb.INT: np.dtype(np.int64),
    pb.FLOAT: np.dtype(np.float64),
    pb.COMPLEX: np.dtype(np.complex128),
    pb.BIG_INT: np.dtype(np.uint8),
    pb.TEXT: np.dtype(np.uint8),
    pb.BYTES: np.dtype(np.uint8),
    pb.TREE: np.dtype(np.uint8),
    pb.NUMPY_TEXT: np.dtype(np.uint8),
    pb.NUMPY_BYTES: np.dtype(np.uint8),
    pb.NONE: np.dtype(np.uint8),
}


@dataclass(frozen=True, slots=True)
class Column:
    """Values of some rows of an episode.

    Attributes:
      key: path, kind, dtype and rank of the values.
      rows: `[n]` int64, the rows that have a value, ascending.
      values: dense, `[n, *shape]`; or of different shapes, an array of all elements one after the other.
      shapes: None when dense; else `[n, rank]`.
    """

    key: ColumnKey
    rows: np.ndarray
    values: np.ndarray
    shapes: np.ndarray | None = None

    def items(self) -> list[np.ndarray]:
        """Each row's value as an array."""
        if self.shapes is None:
            return list(self.values)
        sizes = self.shapes.prod(axis=1, dtype=np.int64)
        pieces = np.split(self.values, np.cumsum(sizes)[:-1]) if len(sizes) else []
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes.tolist(), strict=True)]

    def between(self, begin: int, end: int) -> "Column":
        """The part of the column in rows `[begin, end)`, without copying."""
        first, last = np.searchsorted(self.rows, (begin, end)).tolist()
        if first == 0 and last == len(self.rows):
            return self
        if self.shapes is None:
            return Column(self.key, self.rows[first:last], self.values[first:last])
        ends = np.concatenate(([0], np.cumsum(self.shapes.prod(axis=1, dtype=np.int64))))
        values = self.values[ends[first] : ends[last]]
        return Column(self.key, self.rows[first:last], values, self.shapes[first:last])


def storage_dtype(key: ColumnKey) -> np.dtype[Any]:
    """The dtype of a column's values in memory and, but for the byte order of big-endian ones, on disk."""
    return key.dtype if key.dtype is not None else _DTYPES[key.kind]


def encode(column: Column, choose: FilterChoice) -> tuple[pb.Column, bytes]:
    """Turns a column into its header entry (without `offset`) and its payload.

    Args:
      column: at least one row.
      choose: remembers which filter suited this field before.
    """
    first, last = int(column.rows[0]), int(column.rows[-1])
    count = last - first + 1
    header = pb.Column(
        path=column.key.path,
        kind=column.key.kind,  # type: ignore[arg-type]  # the stub wants its own enum class
        dtype="" if column.key.dtype is None else dtypes.name_of(column.key.dtype, column.key.path),
        first_row=first,
        count=count,
        partial=len(column.rows) != count,
        rank=column.key.rank,
        ragged=column.shapes is not None,
        shape=() if column.shapes is not None else column.values.shape[1:],
    )
    prefix = _presence_bytes(column, count) + _shape_bytes(column)
    payload = _pack(header, prefix, column, choose)
    header.length = len(payload)
    header.xxh3 = xxhash.xxh3_64_intdigest(payload)
    return header, payload


def decode(header: pb.Column, payload: bytes | memoryview, place: object, out: Rows | None = None) -> Column:
    """The inverse of `encode`.

    Args:
      header: the column's entry in its block.
      payload: exactly `header.length` bytes.
      place: printed in errors: which bytes of which file these are.
      out: where the values go if they are dense, `[count, bytes of a value]`; None: into a new array.

    Raises:
      DamagedError: the payload does not have its checksum.
      FormatError: it has, and still is not what its header says: the writer was at fault.
    """
    if len(payload) != header.length or xxhash.xxh3_64_intdigest(payload) != header.xxh3:
        raise DamagedError(f"{place}: column {header.path} does not match its checksum; run `rlds-kit repair`")
    key = key_of(header, place)
    try:
        return _unpack(header, key, payload, out)
    except (ValueError, OverflowError, zstandard.ZstdError) as error:
        raise FormatError(f"{place}: column {header.path} is not as its header says: {error}") from error


def check_header(header: pb.Column, place: object) -> None:
    """Refuses a column that could not be in memory, before anything is allocated for it.

    Raises:
      FormatError: it claims too much, or contradicts itself.
    """
    try:
        _check_size(header, header.count * 8)
        itemsize = dtypes.from_name(header.dtype).itemsize if header.dtype else 1
        _check_size(header, header.count * math.prod(header.shape) * itemsize)
        if len(header.shape) != (0 if header.ragged else header.rank):
            raise ValueError(f"rank {header.rank} and shape {list(header.shape)} differ")
    except ValueError as error:
        raise FormatError(f"{place}: column {header.path} is not as its header says: {error}") from error


def key_of(header: pb.Column, place: object) -> ColumnKey:
    """The key of a stored column."""
    try:
        dtype = dtypes.from_name(header.dtype) if header.dtype else None
    except ValueError as error:
        raise FormatError(f"{place}: column {header.path}: {error}") from error
    if header.kind not in (pb.ARRAY, pb.SCALAR) and header.kind not in _DTYPES:
        raise FormatError(f"{place}: column {header.path} has kind {header.kind}, which this version does not know")
    return ColumnKey(header.path, header.kind, dtype, header.rank)


def _presence_bytes(column: Column, count: int) -> bytes:
    if len(column.rows) == count:
        return b""
    present = np.zeros(count, np.bool_)
    present[column.rows - column.rows[0]] = True
    return np.packbits(present, bitorder="little").tobytes()


def _shape_bytes(column: Column) -> bytes:
    return b"" if column.shapes is None else column.shapes.astype("<u4").tobytes()


def _pack(header: pb.Column, prefix: bytes, column: Column, choose: FilterChoice) -> bytes:
    """Filters and compresses, and says in `header` how."""
    plain: bytes | memoryview = prefix
    level = FAST_LEVEL
    values = dtypes.little_endian(column.values)
    if header.ragged or values.size == 0:
        plain = prefix + values.tobytes()
    else:
        rows = values.view(np.uint8).reshape(len(values), -1)
        choice = choose(column.key, rows, values.dtype)
        header.filter, level = choice.filter, choice.level  # type: ignore[assignment]  # the stub's own enum
        filtered = filters.APPLY[header.filter](rows, values.dtype.itemsize)
        plain = prefix + filtered.tobytes() if prefix else filtered.reshape(-1).data
    header.decoded_length = len(plain)
    compressed = compressor(level).compress(plain)
    if len(compressed) < len(plain):
        header.codec = pb.ZSTD
        return compressed
    return bytes(plain)


def _unpack(header: pb.Column, key: ColumnKey, payload: bytes | memoryview, out: Rows | None) -> Column:
    _check_size(header, header.count * 8)
    at = 0
    rows = np.arange(header.first_row, header.first_row + header.count, dtype=np.int64)
    if out is not None and _is_in_place(header, out):
        values = _decompress_into(header, payload, out)
        return Column(key, rows, _as_dtype(values, storage_dtype(key)).reshape(-1, *header.shape))
    plain = _decompress(header, payload)
    if header.partial:
        at = (header.count + 7) // 8
        rows = rows[np.unpackbits(plain[:at], count=header.count, bitorder="little").astype(np.bool_)]
    dtype = storage_dtype(key)
    if header.ragged:
        size = len(rows) * header.rank * 4
        shapes = plain[at : at + size].view("<u4").reshape(len(rows), header.rank).astype(np.int64)
        values = _as_dtype(plain[at + size :], dtype)
        if shapes.prod(axis=1, dtype=np.float64).sum() != len(values):  # integers could wrap round to the right sum
            raise ValueError("the shapes do not add up to the values")
        return Column(key, rows, values, shapes)
    if len(header.shape) != header.rank:
        raise ValueError(f"its shape has {len(header.shape)} dimensions and its rank is {header.rank}")
    return Column(key, rows, _dense(header, plain[at:], len(rows), dtype, out))


def _is_in_place(header: pb.Column, out: Rows) -> bool:
    """Whether a column can be decompressed to where its values go: large ones are then copied once less."""
    is_plain = header.codec == pb.ZSTD and header.filter in (pb.IDENTITY, pb.XOR) and not header.partial
    fits = len(out) == header.count and out.nbytes == header.decoded_length and len(header.shape) == header.rank
    return is_plain and fits and out.nbytes >= _IN_PLACE_BYTES and out.flags.c_contiguous


def _decompress_into(header: pb.Column, payload: bytes | memoryview, out: Rows) -> Rows:
    if not decompress_into(payload, out.reshape(-1).data):
        raise ValueError(f"{header.decoded_length} bytes were announced, but not so many came")
    if header.filter == pb.XOR:
        filters.unxor(out, out)
    return out


def _dense(header: pb.Column, stored: np.ndarray, count: int, dtype: np.dtype[Any], out: Rows | None) -> np.ndarray:
    shape = (count, *header.shape)
    row_bytes = math.prod(header.shape) * dtype.itemsize
    _check_size(header, count * row_bytes)
    if row_bytes == 0 or count == 0:
        return np.zeros(shape, dtype)
    if out is None:
        out = np.empty((count, row_bytes), np.uint8)
    filters.undo(header.filter, stored, dtype.itemsize, out)
    return _as_dtype(out, dtype).reshape(shape)


def _check_size(header: pb.Column, size: int) -> None:
    """Refuses what a hostile header would have allocated."""
    if size > MAX_DECODED_BYTES:
        raise ValueError(f"{header.path} claims {size} bytes; at most {MAX_DECODED_BYTES} are allowed")


def _as_dtype(stored: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    values = np.ascontiguousarray(stored).reshape(-1).view(dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype)
    return values.astype(dtype, copy=False)


def _decompress(header: pb.Column, payload: bytes | memoryview) -> np.ndarray:
    _check_size(header, header.decoded_length)
    if header.codec == pb.ZSTD:
        payload = decompressor().decompress(payload, max_output_size=header.decoded_length)
    elif header.codec != pb.STORED:
        raise ValueError(f"codec {header.codec} is not known to this version")
    if len(payload) != header.decoded_length:
        raise ValueError(f"{header.decoded_length} bytes were announced, {len(payload)} came")
    return np.frombuffer(payload, np.uint8)
