"""The layout of a column from the header of its block, validated once and fast to access."""

import functools
import math
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import FormatError
from rlds_kit.spec import dtypes
from rlds_kit.storage.leaf import ColumnKey

MAX_DECODED_BYTES: Final = 1 << 31
"""A column that claims more is rejected before memory is allocated."""
MOST_LEVELS: Final = 256
"""Maximum levels of a path; writers make at most 100. Values are rebuilt recursively, and Python limits recursion."""

_MOST_BYTES: Final = 1 << 62
"""Files are smaller, and positions in them are numbers of 64 bits with a sign."""
MOST_FILTERED: Final = 2
"""Maximum ratio of the filtered size to the size of the rows: writers stay below it; rows of one byte may need two."""

STORAGE_DTYPES: Final[dict[int, np.dtype[Any]]] = {
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
"""The dtypes of kinds whose header names none."""


class ColumnLayout(NamedTuple):
    """A stored column: its position, and the layout of its values. Names are those of `Column` in the format.

    Attributes:
      key: path, kind, dtype and rank of the values.
      dtype: of the values in memory and, but for the byte order of big-endian ones, on disk.
      first_row: the first row that it covers.
      end_row: one past the last.
      partial: whether some of these rows have no value.
      ragged: whether shapes differ.
      shape: of a value; empty when ragged.
      row_bytes: of a value; 0 when ragged.
      filter: a number of `Filter`.
      codec: a number of `Codec`.
      offset: of the payload, from the block's first.
      length: of the payload.
      decoded_length: of the payload without compression.
      xxh3: of the payload.
      is_plain: whether every row has a value, all have the same shape, and the byte order is that of this machine.
    """

    key: ColumnKey
    dtype: np.dtype[Any]
    first_row: int
    end_row: int
    partial: bool
    ragged: bool
    shape: tuple[int, ...]
    row_bytes: int
    filter: int
    codec: int
    offset: int
    length: int
    decoded_length: int
    xxh3: int
    is_plain: bool

    @property
    def path(self) -> str:
        """The path of the leaf."""
        return self.key.path

    @property
    def row_count(self) -> int:
        """Rows that it covers."""
        return self.end_row - self.first_row


class Common(NamedTuple):
    """What columns of different blocks have in common.

    Attributes:
      key: None for a kind or dtype that this version does not know.
      problem: why such a column is not valid; empty if it is.
      path, dtype, partial, ragged, shape, row_bytes, filter, codec, is_plain: as of `ColumnLayout`.
    """

    path: str
    key: ColumnKey | None
    dtype: np.dtype[Any]
    partial: bool
    ragged: bool
    shape: tuple[int, ...]
    row_bytes: int
    filter: int
    codec: int
    is_plain: bool
    problem: str


StoredColumn: TypeAlias = tuple[bytes, int, int, int, int, int, int]
"""The entry of a column in the header of its block: first the encoded fields from `path` to `dtype` and from `partial`
to `codec`, which are equal in most blocks; then `first_row`, `count`, `offset`, `length`, `decoded_length`, `xxh3`."""


def layout_of(header: pb.Column, place: object) -> ColumnLayout:
    """Reads the entry of a column in the header of its block.

    Args:
      header: the entry.
      place: printed in errors: file and position.

    Raises:
      FormatError: the kind or dtype is unknown, the column claims a size that cannot be in memory, or it contradicts
        itself.
    """
    rows, sizes = (header.first_row, header.count), (header.offset, header.length, header.decoded_length)
    return _layout(_common_of(header), *rows, *sizes, header.xxh3, place)


def layout_of_stored(stored: StoredColumn, place: object) -> ColumnLayout:
    """`layout_of`, in half of the time.

    Raises:
      FormatError: as `layout_of`.
    """
    return _layout(common_in(stored[0]), *stored[1:], place)


def _layout(
    common: Common, first: int, count: int, offset: int, length: int, decoded_length: int, xxh3: int, place: object
) -> ColumnLayout:
    """The layout of a column. Errors as of `layout_of`."""
    _, key, dtype, partial, ragged, shape, row_bytes, filter_, codec, is_plain, problem = common
    if key is None:
        raise FormatError(f"{place}: column {common.path}: {problem}")
    size = max(count * max(8, row_bytes), decoded_length)
    at_most = (count + 7) // 8 + MOST_FILTERED * count * row_bytes
    if not problem and size > MAX_DECODED_BYTES:
        problem = f"{key.path} claims {size} bytes; at most {MAX_DECODED_BYTES} are allowed"
    elif not problem and decoded_length > at_most and not ragged:
        problem = f"{decoded_length} bytes are announced; {count} rows need {at_most} at most"
    elif not problem and first + count >= 1 << 63:
        problem = f"row {first} is no row"
    elif not problem and offset + length >= _MOST_BYTES:
        problem = f"it claims {length} bytes from byte {offset} on"
    if problem:
        raise FormatError(f"{place}: column {key.path} does not match its header: {problem}")
    return ColumnLayout(  # by position: names take a fifth of the time of this function
        key,
        dtype,
        first,
        first + count,
        partial,
        ragged,
        shape,
        row_bytes,
        filter_,
        codec,
        offset,
        length,
        decoded_length,
        xxh3,
        is_plain,
    )


@functools.lru_cache(maxsize=4096)
def common_in(common: bytes) -> Common:
    """What the first item of a `StoredColumn` contains.

    Raises:
      google.protobuf.message.DecodeError: the bytes are not fields of a column.
    """
    return _common_of(pb.Column.FromString(common))


def _common_of(header: pb.Column) -> Common:
    identity = (header.path, header.kind, header.dtype, header.rank)
    return _common(identity, header.partial, header.ragged, tuple(header.shape), header.filter, header.codec)


@functools.lru_cache(maxsize=4096)  # all blocks have the same few
def _common(
    identity: tuple[str, int, str, int],
    partial: bool,
    ragged: bool,
    shape: tuple[int, ...],
    filter_: int,
    codec: int,
) -> Common:
    path, kind, _, rank = identity
    try:
        key = _key(*identity)
    except ValueError as error:
        nothing = np.dtype(np.uint8)
        return Common(path, None, nothing, partial, ragged, shape, 0, filter_, codec, False, str(error))
    dtype = STORAGE_DTYPES[kind] if key.dtype is None else key.dtype
    row_bytes = 0 if ragged else math.prod(shape) * dtype.itemsize
    problem, levels = "", path.count("/")
    if levels > MOST_LEVELS:
        problem = f"its path has {levels} levels; at most {MOST_LEVELS} are allowed"
    elif len(shape) != (0 if ragged else rank):
        problem = f"rank {rank} and shape {list(shape)} differ"
    is_plain = bool(row_bytes) and not (partial or dtypes.is_big_endian(dtype))
    return Common(path, key, dtype, partial, ragged, shape, row_bytes, filter_, codec, is_plain, problem)


def key_of(header: pb.Column, place: object) -> ColumnKey:
    """The key of a stored column.

    Raises:
      FormatError: its kind or dtype is unknown.
    """
    try:
        return _key(header.path, header.kind, header.dtype, header.rank)
    except ValueError as error:
        raise FormatError(f"{place}: column {header.path}: {error}") from error


@functools.lru_cache(maxsize=4096)  # all blocks have the same few keys, and identical objects compare faster
def _key(path: str, kind: int, dtype: str, rank: int) -> ColumnKey:
    found = dtypes.from_name(dtype) if dtype else None
    if (kind not in (pb.ARRAY, pb.SCALAR) or found is None) and kind not in STORAGE_DTYPES:
        raise ValueError(f"it has kind {kind}, which this version does not know, or no dtype")
    return ColumnKey(path, kind, found, rank)
