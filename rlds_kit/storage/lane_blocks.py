"""Encodes the rows of many blocks at once, if all of them have the same columns of light rows, without gaps.

For each column there is one call of C, which finds what is repeated, hashes and separates bytes, and one of zstd. Both
work without the interpreter's lock: the thread that plays waits for neither. What is not so simple is encoded block by
block, as other blocks are. The bytes of a block are the same either way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import xxhash
import zstandard

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import dtypes
from rlds_kit.storage import block, block_header, filters
from rlds_kit.storage.column import WORTHWHILE_BYTES
from rlds_kit.storage.compression import NO_LEVEL, compressor
from rlds_kit.storage.digest import HashedValues
from rlds_kit.storage.filter_choice import LIGHT_BYTES, LIGHT_ROW, Choice, FilterChoice
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey

_PLAIN_KINDS: Final = "biufc"
_NO_BYTES: Final = -1
RELATION: Final = {**filters.RELATION, pb.IDENTITY: 3}
"""The numbers of pieces.c for what is compressed of rows."""
_FILTER: Final = {relation: number for number, relation in RELATION.items()}
Form = tuple[ColumnKey, tuple[int, ...]]
"""A column, and the shape of its values."""
Description = tuple[bytes, bytes, bytes, bytes | bytearray]


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


class LaneRows(NamedTuple):
    """The rows of a block: those of a lane in places `[begin, stop)`, from row `first_row` of an episode on."""

    lane: int
    begin: int
    stop: int
    first_row: int


@dataclass(slots=True)
class EncodedRows:
    """The columns of a block.

    Attributes:
      parts: as `block.join` takes them.
      leaves: of each column what its digest needs.
    """

    parts: list[block.Part]
    leaves: list[HashedValues]


def is_light(key: ColumnKey, values: np.ndarray) -> bool:
    """Whether a column of lanes can be encoded here."""
    row_bytes = values[0, 0].nbytes
    is_plain = values.dtype.kind in _PLAIN_KINDS and not dtypes.is_big_endian(values.dtype)
    return is_plain and 0 < row_bytes <= (WORTHWHILE_BYTES if key.kind == pb.TREE else LIGHT_ROW)


def encode_lanes(
    columns: Sequence[LaneColumn], rows: Sequence[LaneRows], choose: FilterChoice
) -> list[EncodedRows | None]:
    """Encodes the rows of blocks.

    Args:
      columns: that all blocks have, for which `is_light` is true.
      rows: of each block.
      choose: chooses the filters, and remembers earlier choices.

    Returns:
      For each block its columns; None where one of them must be encoded in another way.
    """
    found: list[EncodedRows | None] = [EncodedRows([], []) for _ in rows]
    places = np.array(rows, np.int64).reshape(-1, len(LaneRows._fields))
    lane, begin, stop, first_row = places.T
    is_first = first_row == 0
    for column in columns:
        # The first row of an episode has no action before it.
        begins, firsts = (begin + is_first, np.maximum(first_row - 1, 0)) if column.is_acted else (begin, first_row)
        counts = stop - begins if column.present is None else _run_lengths(column.present, lane, begins, stop)
        chosen = np.flatnonzero(counts > 0)
        for number in np.flatnonzero(counts <= 0).tolist():
            found[number] = None
        offsets = lane[chosen] * column.values.shape[1] + begins[chosen]
        pieces = _Pieces(column, offsets, counts[chosen], choose)
        for at, (number, first) in enumerate(zip(chosen.tolist(), firsts[chosen].tolist(), strict=True)):
            rows_of = found[number]
            if rows_of is not None and not pieces.add_to(rows_of, at, first):
                found[number] = None
    return found


def _run_lengths(present: np.ndarray, lane: np.ndarray, begin: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """How many rows from `begin` on have a value, if those after them up to `stop` have none; else 0.

    >>> present = np.array([[True, True], [True, False], [False, True]])
    >>> _run_lengths(present, np.array([0, 1]), np.array([0, 0]), np.array([3, 3])).tolist()
    [2, 0]
    """
    by_lane = np.ascontiguousarray(present.T)  # NumPy sums up along rows in memory in a tenth of the time
    sums = np.zeros((len(by_lane), len(present) + 1), np.int32)
    np.cumsum(by_lane, axis=1, out=sums[:, 1:])
    counts = (sums[lane, stop] - sums[lane, begin]).astype(np.int64)
    is_run = sums[lane, begin + counts] - sums[lane, begin] == counts
    return np.where(is_run, counts, 0)


class _Pieces:
    """The pieces of a column, each of which belongs to another block.

    Args:
      column: of all lanes.
      offsets: `[pieces]` int64, the first row of each, counted over all lanes.
      counts: `[pieces]` int64, rows.
      choose: chooses the filter.
    """

    def __init__(self, column: LaneColumn, offsets: np.ndarray, counts: np.ndarray, choose: FilterChoice) -> None:
        self._key, self._shape = column.key, column.values.shape[2:]
        self._array = column.values.reshape(-1, *self._shape)
        self._size = self._array[0].nbytes
        self._bytes = self._array.reshape(-1).view(np.uint8)
        self._data = self._bytes.data
        self._offsets, self._counts = (offsets * self._size).tolist(), counts.tolist()
        bounds = np.stack((offsets * self._size, counts), axis=1)
        self._choice = choose.known(column.key, len(counts))
        if self._choice is None:
            differ = np.frombuffer(self._described(bounds, None)[0], np.uint8) == 0
            if column.key.kind != pb.TREE and differ.any():
                longest = int(np.argmax(counts * differ))  # short ones say little about the others
                self._try(choose, int(offsets[longest]), int(counts[longest]))
                self._choice = choose.known(column.key, len(counts))
        self._repeated, self._hashes, planes_at, planes = self._described(bounds, self._choice)
        self._frames = _compressed(planes, planes_at, 0 if self._choice is None else self._choice.level)

    def add_to(self, rows: EncodedRows, at: int, first: int) -> bool:
        """Adds a piece, whose first row has a number in its episode, to its block; False if it needs another way."""
        offset, count = self._offsets[at], self._counts[at]
        length = decoded = count * self._size
        number: int = pb.IDENTITY
        codec: int = pb.STORED
        frame, values = self._frames.get(at), self._data[offset : offset + length]
        if self._repeated[at]:
            if self._size > WORTHWHILE_BYTES:
                return False
            number, decoded = pb.REPEAT, self._size
            payload: bytes | memoryview = values[:decoded]
            if self._key.kind == pb.TREE and payload != EMPTY_DICT:
                return False
        elif self._choice is None or (frame is None and self._choice.level != NO_LEVEL and length > WORTHWHILE_BYTES):
            return False
        elif frame is not None and len(frame) + WORTHWHILE_BYTES <= length:
            number, codec, payload = self._choice.filter, pb.ZSTD, frame
        else:
            payload = values
        fields = block_header.layout(self._key, first, count, False, self._shape, number, codec)
        rows.parts.append((fields, decoded, payload))
        hashed = self._hashes[16 * at : 16 * at + 16]
        rows.leaves.append(HashedValues(self._key, self._shape, first, first + count, values, hashed))
        return True

    def _described(self, bounds: np.ndarray, choice: Choice | None) -> Description:
        relation = _NO_BYTES if choice is None or choice.level == NO_LEVEL else RELATION[choice.filter]
        return describe(
            self._bytes, bounds, self._size, self._array.dtype.itemsize, relation, WORTHWHILE_BYTES, LIGHT_BYTES
        )

    def _try(self, choose: FilterChoice, offset: int, count: int) -> None:
        """Lets a filter be chosen by a trial of a piece."""
        rows = self._array[offset : offset + count]
        choose(self._key, rows.view(np.uint8).reshape(count, -1), rows.dtype, self._shape)


def describe_in_python(
    data: np.ndarray, pieces: np.ndarray, width: int, itemsize: int, relation: int, least: int, most: int
) -> Description:
    """What there is to know of pieces of a column before they are written.

    Args:
      data: `[bytes]` uint8, the column.
      pieces: `[n, 2]` int64, the byte at which each piece begins, and its number of rows.
      width: bytes of a row.
      itemsize: bytes of an element.
      relation: how the bytes that will be compressed are made of rows, a number of `RELATION`; -1: none are needed.
      least: bytes; pieces that are larger are compressed.
      most: bytes; pieces that are larger than this are not.

    Returns:
      Whether the rows of each piece are equal, one byte each; the XXH3-128 of each, 16 bytes; begin and size of the
      bytes of each that will be compressed, int64, which has the size 0 if there are none; and all these bytes.
    """
    repeated, hashes, bounds, planes = bytearray(), list[bytes](), list[tuple[int, int]](), bytearray()
    for begin, count in pieces.tolist():
        plain = data[begin : begin + count * width].tobytes()
        repeated.append(plain == plain[:width] * count)
        hashes.append(xxhash.xxh3_128_digest(plain))
        size = len(plain) if relation >= 0 and not repeated[-1] and least < len(plain) <= most else 0
        bounds.append((len(planes), size))
        if size:
            planes += filters.shuffled_bytes(_FILTER[relation], plain, count, itemsize)
    return bytes(repeated), b"".join(hashes), np.array(bounds, np.int64).tobytes(), planes


describe: Final[Callable[[np.ndarray, np.ndarray, int, int, int, int, int], Description]] = getattr(
    block.native, "describe", describe_in_python
)


def _compressed(planes: bytes | bytearray, bounds: bytes, level: int) -> dict[int, bytes]:
    """The zstd frames of byte planes, by the number of their piece."""
    if not planes:
        return {}
    places = np.frombuffer(bounds, np.int64).reshape(-1, 2)
    numbers = np.flatnonzero(places[:, 1])
    segments = places[numbers]
    together: Any = getattr(compressor(level), "multi_compress_to_buffer", None)  # the backend in C has it
    if together is None:
        view = memoryview(planes)
        frames = [compressor(level).compress(view[begin : begin + size]) for begin, size in segments.tolist()]
    else:
        found = together(zstandard.BufferWithSegments(planes, segments.astype(np.uint64).tobytes()))
        frames = [found[at].tobytes() for at in range(len(found))]
    return dict(zip(numbers.tolist(), frames, strict=True))
