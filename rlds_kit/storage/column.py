"""A column of a step block: values of one kind, and how they are decoded; `column_encoder.py` encodes them.

The decoded payload is, in this order: a presence bitmap (`partial`: one bit a covered row, lowest bit first), the
shapes of the present values (`ragged`: `rank` little-endian uint32 each), and the present values in C order.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import xxhash
import zstandard

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.storage import filters
from rlds_kit.storage.column_layout import STORAGE_DTYPES, ColumnLayout
from rlds_kit.storage.compression import decompress_into, decompressor
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.predict import lines_of, unpredict
from rlds_kit.storage.rows import Part, Rows
from rlds_kit.storage.xor import unxor

_LARGE_BYTES: Final = 1 << 14
"""Smaller columns are decompressed faster in one call than through a reader."""
_FILTERS_IN_PLACE: Final = frozenset({pb.IDENTITY, pb.XOR})
"""Filters that do not move elements."""


class Column(NamedTuple):
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
        first, last = self._position(begin), self._position(end)
        if first == 0 and last == len(self.rows):
            return self
        if self.shapes is None:
            return Column(self.key, self.rows[first:last], self.values[first:last])
        ends = np.concatenate(([0], np.cumsum(self.shapes.prod(axis=1, dtype=np.int64))))
        values = self.values[ends[first] : ends[last]]
        return Column(self.key, self.rows[first:last], values, self.shapes[first:last])

    def _position(self, row: int) -> int:
        """The index of the first value in `row` or after it."""
        count = len(self.rows)
        if count and self.rows[-1] - self.rows[0] == count - 1:  # no gaps, the usual case: faster than a search
            return min(max(row - int(self.rows[0]), 0), count)
        return int(np.searchsorted(self.rows, row))


def storage_dtype(key: ColumnKey) -> np.dtype[Any]:
    """The dtype of a column's values in memory and, but for the byte order of big-endian ones, on disk."""
    return key.dtype if key.dtype is not None else STORAGE_DTYPES[key.kind]


def decode(layout: ColumnLayout, payload: bytes | memoryview, place: object) -> Column:
    """The inverse of `column_encoder.encode`.

    Args:
      layout: of the column.
      payload: exactly `layout.length` bytes.
      place: printed in errors: file and position.

    Raises:
      DamagedError: the payload does not match its checksum.
      FormatError: it does, but contradicts its header: the writer was faulty.
    """
    _check_sum(layout, payload, place)
    try:
        return _unpack(layout, payload)
    except (ValueError, OverflowError, zstandard.ZstdError) as error:
        raise FormatError(f"{place}: column {layout.path} does not match its header: {error}") from error


def decode_into(layout: ColumnLayout, payload: bytes | memoryview, place: object, out: Rows, begin: int = 0) -> None:
    """Decodes rows of a dense column of little-endian values directly into an array.

    Args:
      layout: of the column.
      payload: exactly `layout.length` bytes.
      place: printed in errors: file and position.
      out: where the values go, `[rows, row_bytes]` in C order; neither may be 0.
      begin: the first of these rows, counted from the column's first.

    Raises:
      DamagedError: the payload does not match its checksum.
      FormatError: it does, but contradicts its header: the writer was faulty.
    """
    _check_sum(layout, payload, place)
    try:
        if begin and layout.filter not in filters.RANDOM_ACCESS:  # rows are decoded from the first one on
            rows = np.empty((begin + len(out), out.shape[1]), np.uint8)
            _decode_first(layout, payload, rows)
            out[...] = rows[begin:]
        elif begin:
            part = Part(layout.row_count, begin)
            plain = _decompress(layout, payload)
            filters.undo(layout.filter, plain, layout.dtype.itemsize, layout.shape, out, part)
        else:
            _decode_first(layout, payload, out)
    except (ValueError, OverflowError, zstandard.ZstdError) as error:
        raise FormatError(f"{place}: column {layout.path} does not match its header: {error}") from error


def _decode_first(layout: ColumnLayout, payload: bytes | memoryview, out: Rows) -> None:
    """Decodes the first rows, or all."""
    count = layout.end_row - layout.first_row
    is_large = layout.codec == pb.ZSTD and count * layout.row_bytes >= _LARGE_BYTES
    if is_large and layout.filter in _FILTERS_IN_PLACE:
        _decompress_into(layout, payload, out)
    elif is_large and layout.filter == pb.PREDICT:
        _unpredict_into(layout, payload, out)
    else:  # PREDICT_SPLIT, too: the bits of a row are spread over the payload, so all of it is decompressed
        part = None if count == len(out) else Part(count)
        filters.undo(layout.filter, _decompress(layout, payload), layout.dtype.itemsize, layout.shape, out, part)


def decompressed(layout: ColumnLayout, payload: bytes | memoryview, place: object) -> np.ndarray:
    """The payload of a column without compression, `[decoded_length]` uint8: what its filter has made.

    Args:
      layout: of the column.
      payload: exactly `layout.length` bytes, whose checksum was compared.
      place: printed in errors: file and position.

    Raises:
      FormatError: the payload contradicts its header: the writer was faulty.
    """
    try:
        return _decompress(layout, payload)
    except (ValueError, OverflowError, zstandard.ZstdError) as error:
        raise FormatError(f"{place}: column {layout.path} does not match its header: {error}") from error


def is_sound(layout: ColumnLayout, payload: bytes | memoryview) -> bool:
    """Whether a payload matches its checksum."""
    return len(payload) == layout.length and xxhash.xxh3_64_intdigest(payload) == layout.xxh3


def _check_sum(layout: ColumnLayout, payload: bytes | memoryview, place: object) -> None:
    if not is_sound(layout, payload):
        raise DamagedError(f"{place}: column {layout.path} does not match its checksum; run `rlds-kit repair`")


def _unpack(layout: ColumnLayout, payload: bytes | memoryview) -> Column:
    at = 0
    rows = np.arange(layout.first_row, layout.end_row, dtype=np.int64)
    plain = _decompress(layout, payload)
    if layout.partial:
        at = (layout.row_count + 7) // 8
        rows = rows[np.unpackbits(plain[:at], count=layout.row_count, bitorder="little").astype(np.bool_)]
    if layout.ragged:
        rank = layout.key.rank
        size = len(rows) * rank * 4
        shapes = plain[at : at + size].view("<u4").reshape(len(rows), rank).astype(np.int64)
        values = _as_dtype(plain[at + size :], layout.dtype)
        if layout.codec == pb.STORED:  # a view would keep all fetched bytes, perhaps a whole chunk, alive in caches
            values = values.copy()
        # float64, because integers could wrap around and give the expected sum
        if shapes.prod(axis=1, dtype=np.float64).sum() != len(values):
            raise ValueError("the shapes do not add up to the values")
        return Column(layout.key, rows, values, shapes)
    return Column(layout.key, rows, _dense(layout, plain[at:], len(rows)))


def _dense(layout: ColumnLayout, stored: np.ndarray, count: int) -> np.ndarray:
    shape = (count, *layout.shape)
    if layout.row_bytes == 0 or count == 0:
        return np.zeros(shape, layout.dtype)
    out = np.empty((count, layout.row_bytes), np.uint8)
    filters.undo(layout.filter, stored, layout.dtype.itemsize, layout.shape, out)
    return _as_dtype(out, layout.dtype).reshape(shape)


def _decompress_into(layout: ColumnLayout, payload: bytes | memoryview, out: Rows) -> None:
    """Decompresses large columns without an extra copy, and only the first rows."""
    _require_length(layout, layout.row_count * layout.row_bytes)
    decompress_into(payload, out.reshape(-1).data, is_all=len(out) == layout.row_count)
    if layout.filter == pb.XOR:
        unxor(out, out)


def _unpredict_into(layout: ColumnLayout, payload: bytes | memoryview, out: Rows) -> None:
    """Decompresses predicted images, whose modes come first, into an array: noise takes longest to decompress."""
    height = lines_of(layout.shape).height
    modes = layout.row_count * height
    _require_length(layout, modes + layout.row_count * layout.row_bytes)
    if len(out) < layout.row_count:
        stored = np.empty(modes + out.nbytes, np.uint8)
        decompress_into(payload, stored.data, is_all=False)
    else:
        stored = _decompress(layout, payload)
    unpredict(stored[: len(out) * height], stored[modes:].reshape(out.shape), layout.shape, out)


def _require_length(layout: ColumnLayout, size: int) -> None:
    if layout.decoded_length != size:
        raise ValueError(f"{size} bytes were expected, {layout.decoded_length} announced")


def _as_dtype(stored: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    values = np.ascontiguousarray(stored).reshape(-1).view(dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype)
    return values.astype(dtype, copy=False)


def _decompress(layout: ColumnLayout, payload: bytes | memoryview) -> np.ndarray:
    if layout.codec == pb.ZSTD:
        if (announced := zstandard.frame_content_size(payload)) not in (-1, layout.decoded_length):
            raise ValueError(f"{layout.decoded_length} bytes were announced, the frame announces {announced}")
        payload = decompressor().decompress(payload, max_output_size=layout.decoded_length, allow_extra_data=False)
    elif layout.codec != pb.STORED:
        raise ValueError(f"codec {layout.codec} is not known to this version")
    if len(payload) != layout.decoded_length:
        raise ValueError(f"{layout.decoded_length} bytes were announced, {len(payload)} came")
    return np.frombuffer(payload, np.uint8)
