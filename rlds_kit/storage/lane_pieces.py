"""What is stored of a column of many lanes, which is divided into pieces: each has the rows of another block.

The calls that take longest are made once for many columns: the one that finds what is repeated, hashes and separates
bytes, and that of zstd. They work without the interpreter's lock, so the thread that plays does not wait meanwhile; but
after each it may have to wait until this thread does not need the lock any more, and to be woken.
"""

import itertools
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import zstandard

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.column_encoder import WORTHWHILE_BYTES
from rlds_kit.storage.compression import HAS_MULTI_COMPRESS, NO_LEVEL, compressor
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey
from rlds_kit.storage.piece_functions import RELATION, Described, Description, Storing, describe, spans_of, stored

_collection: Final[Any] = zstandard.BufferWithSegmentsCollection  # without types
_NO_BYTES: Final = -1
_MOST_BYTES: Final = 1 << 16
"""A larger piece is compressed by itself: a call then costs little, and its byte planes get blocks of their own."""
_ANY_BYTES: Final = (1 << 63) - 1
_SEGMENT_BYTES: Final = 16
"""Begin and size of a segment of byte planes."""
TOGETHER_BYTES: Final = 4 << 20
"""Columns are encoded together, records made, and parts of episodes written, while their rows have so many bytes,
about: meanwhile, memory has as many of their byte planes, as records, and as chunks."""

LANE, BEGIN, STOP, FIRST = range(4)
"""The last axis of the rows of blocks, see `lane_blocks.LaneRows`."""


class Pieces(NamedTuple):
    """The pieces of a column, one for each block, as they will be stored.

    Attributes:
      spans: `[blocks, 4]` int64, the first row in the episode, one past the last, and begin and end of the values in
        the bytes of the column; zeros of a block without rows of the column, or with gaps among them.
      hashes: 16 bytes of each block, the XXH3-128 of its values.
      frames: of zstd, one after the other.
      table: `[blocks, 8]` int64: first row, rows, filter and codec, the bytes of the payload without compression,
        whether the payload is in `frames`, or else in the column itself, and its begin and size there. Zeros where no
        rows are stored.
      is_encoded: a byte of each block; 0: the column must be encoded there in another way.
    """

    spans: bytes
    hashes: bytes
    frames: bytes
    table: bytes
    is_encoded: bytes


class LaneColumn(NamedTuple):
    """A column of many lanes.

    Attributes:
      key: of the column.
      values: `[lanes, rows, *shape]`, in one piece.
      is_acted: whether its values came with the row after the one that they belong to.
      present: `[rows, lanes]` bool, which rows have a value; None: all.
    """

    key: ColumnKey
    values: np.ndarray
    is_acted: bool
    present: np.ndarray | None = None


class _Placed(NamedTuple):
    """Where the pieces of a column are.

    Attributes:
      column: that has them.
      data: its bytes.
      row_bytes: bytes of a value.
      spans: from `spans_of`.
      gaps: likewise.
    """

    column: LaneColumn
    data: np.ndarray
    row_bytes: int
    spans: bytes
    gaps: bytes


def pack_pieces(columns: Sequence[LaneColumn], rows: np.ndarray, choose: FilterChoice) -> list[Pieces]:
    """Encodes the pieces of columns.

    Args:
      columns: to encode.
      rows: `[blocks, 4]` int64, the `LaneRows` of each block.
      choose: chooses the filters, and remembers earlier choices.
    """
    return [each for group in _groups(columns) for each in _packed(group, rows, choose)]


def _groups(columns: Sequence[LaneColumn]) -> Iterator[list[LaneColumn]]:
    """The columns that are encoded together, in their order."""
    group, nbytes = list[LaneColumn](), 0
    for column in columns:
        if group and nbytes + column.values.nbytes > TOGETHER_BYTES:
            yield group
            group, nbytes = [], 0
        group.append(column)
        nbytes += column.values.nbytes
    yield group


def _packed(columns: list[LaneColumn], rows: np.ndarray, choose: FilterChoice) -> list[Pieces]:
    placed = [_placed(column, rows) for column in columns]
    choices = [choose.known(of.key, of.values.nbytes) for of in columns]  # about: those of rows without a value too
    found = describe((*map(_described, placed, choices),))
    for at, (column, choice) in enumerate(zip(placed, choices, strict=True)):
        if choice is not None or column.column.key.kind == pb.TREE:
            continue
        if (longest := _longest_that_differs(column.spans, found[at][0])) is not None:
            choices[at] = _chosen(column, slice(*longest), choose)
            found[at : at + 1] = describe((_described(column, choices[at]),))
    levels = [0 if choice is None else choice.level for choice in choices]
    compressed = _compressed([planes for *_, planes, _ in found], [segments for *_, segments in found], levels)
    return [*map(_stored, placed, choices, found, compressed)]


def _placed(column: LaneColumn, rows: np.ndarray) -> _Placed:
    _, values, is_acted, present = column
    row_bytes = int(values[0, 0].nbytes)
    placed = spans_of(rows, values.shape[:2], row_bytes, is_acted, present)
    return _Placed(column, values.reshape(-1).view(np.uint8), row_bytes, *placed)


def _chosen(placed: _Placed, part: slice, choose: FilterChoice) -> Choice | None:
    """The choice of a trial of some of the bytes of a column."""
    (key, values, *_), data, row_bytes, *_ = placed
    choose(key, data[part].reshape(-1, row_bytes), values.dtype, values.shape[2:])
    return choose.known(key, 0)  # the trial has counted as a block


def _described(placed: _Placed, choice: Choice | None) -> Described:
    relation = _NO_BYTES if choice is None or choice.level == NO_LEVEL else RELATION[choice.filter]
    column, data, row_bytes, spans, _ = placed
    return Described(data, spans, row_bytes, column.values.dtype.itemsize, relation, WORTHWHILE_BYTES, _MOST_BYTES)


def _stored(
    placed: _Placed, choice: Choice | None, described: Description, compressed: tuple[bytes, "array[int]"]
) -> Pieces:
    (column, data, row_bytes, spans, gaps), (repeated, hashes, planes_at, *_) = placed, described
    frames, sizes = compressed
    most_plain = -1 if choice is None else _ANY_BYTES if choice.level == NO_LEVEL else WORTHWHILE_BYTES
    filter_, only = pb.IDENTITY if choice is None else choice.filter, _only_repeated(column.key, row_bytes)
    how = Storing(row_bytes, filter_, WORTHWHILE_BYTES, most_plain, only)
    table, is_encoded = stored(data, spans, gaps, repeated, planes_at, sizes, how)
    return Pieces(spans, hashes, frames, table, is_encoded)


def _longest_that_differs(spans: bytes, repeated: bytes) -> tuple[int, int] | None:
    """The bytes of the longest piece whose rows differ: short ones say little about the others."""
    bounds = np.frombuffer(spans, np.int64).reshape(-1, 4)[:, 2:]
    lengths = (bounds[:, 1] - bounds[:, 0]) * (np.frombuffer(repeated, np.uint8) == 0)
    if not lengths.any():
        return None
    begin, end = bounds[np.argmax(lengths)].tolist()
    return begin, end


def _only_repeated(key: ColumnKey, row_bytes: int) -> bytes | None:
    """What a row must be so that, repeated, it is stored here; no bytes: anything; None: it is not."""
    if row_bytes > WORTHWHILE_BYTES or (key.kind == pb.TREE and row_bytes != len(EMPTY_DICT)):
        return None
    return EMPTY_DICT if key.kind == pb.TREE else b""


def _compressed(
    planes: list[bytes | bytearray], segments: list[bytes], levels: list[int]
) -> list[tuple[bytes, "array[int]"]]:
    """Of each column the zstd frames of the segments of its byte planes, one after the other, and the size of each.

    All of one level are compressed by one call, which does not have the interpreter's lock.
    """
    found = dict[int, Iterator[bytes]]()
    for level in {level for level, places in zip(levels, segments, strict=True) if places}:
        chosen = [at for at, each in enumerate(levels) if each == level and segments[at]]
        found[level] = iter(_frames([planes[at] for at in chosen], [segments[at] for at in chosen], level))
    frames = [
        [*itertools.islice(found[level], len(places) // _SEGMENT_BYTES)] if places else []
        for places, level in zip(segments, levels, strict=True)
    ]
    return [(b"".join(each), array("q", map(len, each))) for each in frames]


def _frames(planes: list[bytes | bytearray], segments: list[bytes], level: int) -> list[bytes]:
    """The frames of all segments of byte planes, in their order."""
    if not HAS_MULTI_COMPRESS:
        each = zip(planes, [np.frombuffer(places, np.int64).reshape(-1, 2) for places in segments], strict=True)
        parts = [memoryview(data)[at : at + size] for data, places in each for at, size in places.tolist()]
        return [compressor(level).compress(part) for part in parts]
    buffers = [zstandard.BufferWithSegments(data, places) for data, places in zip(planes, segments, strict=True)]
    together: Any = _collection(*buffers)
    made: Any = compressor(level).multi_compress_to_buffer(together)
    return [made[at] for at in range(len(made))]
