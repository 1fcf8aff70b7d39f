"""Encodes the rows of many blocks at once, if their columns have light rows.

In a block, a column has no rows, or consecutive ones: statistics of an episode only its last row, other infos perhaps
all others. Columns are encoded by `lane_pieces`, and records made by a call of C for many blocks, without the
interpreter's lock: the thread that plays does not wait. What is not so simple is encoded block by block, as other
blocks are. The bytes of a block are the same either way, unless a column has more than 2 KiB: then each of its byte
planes has a block of zstd of its own if it is encoded alone, and not if it is encoded here.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import dtypes
from rlds_kit.storage.block import join_lanes
from rlds_kit.storage.block_header import after_rows, before_rows
from rlds_kit.storage.column_encoder import WORTHWHILE_BYTES
from rlds_kit.storage.digest import CACHED_ROWS, LeafValues, identity_of
from rlds_kit.storage.filter_choice import LIGHT_ROW, FilterChoice
from rlds_kit.storage.lane_pieces import COUNT, FIRST_ROW, NUMBERS, SIZE, pack_pieces
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.whole_hashes import HashedColumn, hashes_of_whole

_PLAIN_KINDS: Final = "biufc"
_RECORDS_BYTES: Final = 1 << 18
"""Bytes of payloads of the records that are made at once: they are still in the cache when they are written."""
Form = tuple[ColumnKey, tuple[int, ...]]
"""A column, and the shape of its values."""


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


class LaneBlocks:
    """Blocks that are encoded together. In lists, because Python's garbage collector would look at an object for each.

    Those without rows have a number too, but are not encoded.

    Attributes:
      ids: of the episode of each.
      are_whole: whether a block has all rows of its episode.
    """

    def __init__(self) -> None:
        self.ids, self.are_whole = list[bytes](), list[bool]()
        self._rows = array("q")

    def add(self, episode_id: bytes, rows: tuple[int, int, int, int], *, is_whole: bool) -> None:
        """Adds a block, with its `LaneRows`."""
        self.ids.append(episode_id)
        self.are_whole.append(is_whole)
        self._rows.extend(rows)

    def count(self) -> int:
        """The number of blocks that have rows."""
        places = self.rows()
        return int(np.count_nonzero(places[:, 2] > places[:, 1]))

    def rows(self) -> np.ndarray:
        """`[blocks, 4]` int64, the `LaneRows` of each."""
        return np.array(self._rows, np.int64).reshape(-1, len(LaneRows._fields))

    def each(self) -> Iterator[tuple[int, int, int, int]]:
        """The `LaneRows` of each, as tuples."""
        numbers = iter(self._rows)
        return zip(numbers, numbers, numbers, numbers, strict=True)

    def rows_of(self, number: int) -> LaneRows:
        """The rows of a block."""
        size = len(LaneRows._fields)
        return LaneRows(*self._rows[number * size : (number + 1) * size])


class EncodedBlock(NamedTuple):
    """A block that can be written.

    Attributes:
      record: of the block.
      hashes: of a whole episode, as `EpisodeDigest.update_whole` takes them; empty: the leaves are needed.
      leaves: of each column what the digest needs; empty if there are `hashes`.
    """

    record: bytes
    hashes: bytes
    leaves: Sequence[LeafValues]


@dataclass(frozen=True, slots=True)
class _Packed:
    """A column of all blocks.

    Attributes:
      key: of the column.
      shape: of a value.
      data: the bytes of all lanes.
      frames: of zstd.
      table: `[blocks, NUMBERS]`, see `lane_pieces.Pieces`; blocks without rows of the column have zeros.
      is_encoded: `[blocks]` bool; of the others, the column must be encoded in another way.
      spans: `[blocks, 4]` int64, the first row of each, one past the last, and begin and end of its values in `data`.
      hashes: `[blocks, 16]` uint8.
    """

    key: ColumnKey
    shape: tuple[int, ...]
    data: np.ndarray
    frames: bytes
    table: np.ndarray
    is_encoded: np.ndarray
    spans: np.ndarray
    hashes: np.ndarray


def is_light(key: ColumnKey, values: np.ndarray) -> bool:
    """Whether a column of lanes can be encoded here."""
    row_bytes = values[0, 0].nbytes
    is_plain = values.dtype.kind in _PLAIN_KINDS and not dtypes.is_big_endian(values.dtype)
    return is_plain and 0 < row_bytes <= (WORTHWHILE_BYTES if key.kind == pb.TREE else LIGHT_ROW)


class EncodedLanes:
    """Blocks whose columns were encoded together; their records are made some at a time, in the order of blocks.

    Args:
      columns: that blocks have, for which `is_light` is true.
      blocks: their rows; no more are added.
      choose: chooses the filters, and remembers earlier choices.
    """

    def __init__(self, columns: Sequence[LaneColumn], blocks: LaneBlocks, choose: FilterChoice) -> None:
        self._blocks = blocks
        places = blocks.rows()
        self._columns = [_packed(column, places, choose) for column in columns]
        self._forms = [(each.key, identity_of(each.key), each.shape) for each in self._columns]
        self._values = [each.data.data for each in self._columns]
        self._spans = np.stack([each.spans for each in self._columns], axis=1)
        self._is_encoded = np.logical_and.reduce([places[:, 2] > places[:, 1], *(e.is_encoded for e in self._columns)])
        self._can_take = self._is_encoded.tolist()
        sizes = np.add.reduce([each.table[:, SIZE] for each in self._columns])
        self._groups = np.cumsum(sizes) // _RECORDS_BYTES
        self._rows = np.stack((places[:, 3], places[:, 3] + places[:, 2] - places[:, 1]), axis=1)
        self._records: dict[int, bytes] = {}
        self._hashes = self._hashes_of_whole()

    def take(self, number: int) -> EncodedBlock | None:
        """A block; None if it must be encoded in another way.

        Called once for each block, or again after None.
        """
        if not self._can_take[number]:
            return None
        if number not in self._records:
            self._join(self._groups[number])
        hashes = self._hashes[number]
        return EncodedBlock(self._records.pop(number), hashes, () if hashes else self._leaves(number))

    def _leaves(self, number: int) -> list[LeafValues]:
        """What the digest needs of the columns that have values in a block."""
        spans = self._spans[number].tolist()
        return [
            (*column, first, stop, values[begin:end])
            for column, values, (first, stop, begin, end) in zip(self._forms, self._values, spans, strict=True)
            if first < stop
        ]

    def _hashes_of_whole(self) -> list[bytes]:
        """What the digest of each block needs that is a whole episode; nothing of others."""
        is_whole = np.array(self._blocks.are_whole, np.bool_) & self._is_encoded
        for each in self._columns:
            is_whole &= each.table[:, COUNT] <= CACHED_ROWS
        columns = [HashedColumn(each.key, each.shape, each.spans, each.hashes) for each in self._columns]
        return hashes_of_whole(columns, is_whole)

    def _join(self, group: int) -> None:
        """Makes the records of a group of blocks."""
        begin, stop = np.searchsorted(self._groups, (group, group + 1)).tolist()
        numbers = begin + np.flatnonzero(self._is_encoded[begin:stop])
        ids = b"".join([self._blocks.ids[number] for number in numbers.tolist()])
        columns = [
            (before_rows(each.key), after_rows(each.key, each.shape), each.data, each.frames, each.table[numbers])
            for each in self._columns
        ]
        self._records = dict(zip(numbers.tolist(), join_lanes(ids, self._rows[numbers], columns), strict=True))


def _packed(column: LaneColumn, places: np.ndarray, choose: FilterChoice) -> _Packed:
    """Encodes the pieces of a column; `places` are `[blocks, 4]`, the LaneRows."""
    lane, begin, stop, first_row = places.T
    shape = column.values.shape[2:]
    values = column.values.reshape(-1, *shape)
    # The first row of an episode has no action before it.
    begins, firsts = (begin + (first_row == 0), np.maximum(first_row - 1, 0)) if column.is_acted else (begin, first_row)
    counts, has_gaps = stop - begins, np.zeros(len(places), np.bool_)
    if column.present is not None:
        starts, counts, has_gaps = _runs(column.present, lane, begins, stop)
        begins, firsts = starts, firsts + starts - begins
    chosen = np.flatnonzero((counts > 0) & ~has_gaps)
    rows = lane[chosen] * column.values.shape[1] + begins[chosen]
    pieces = pack_pieces(column.key, values, rows, counts[chosen], firsts[chosen], choose)
    table, offsets = np.zeros((len(places), NUMBERS), np.int64), np.zeros(len(places), np.int64)
    hashes = np.zeros((len(places), 16), np.uint8)
    table[chosen], offsets[chosen], hashes[chosen] = pieces.table, pieces.offsets, pieces.hashes
    data = values.reshape(-1).view(np.uint8)
    first, lengths = table[:, FIRST_ROW], table[:, COUNT]
    spans = np.stack((first, first + lengths, offsets, offsets + lengths * values[0].nbytes), axis=1)
    is_encoded = (lengths == counts) & ~has_gaps
    return _Packed(column.key, shape, data, pieces.frames, table, is_encoded, spans, hashes)


def _runs(
    present: np.ndarray, lane: np.ndarray, begin: np.ndarray, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of the rows `[begin, stop)` that has a value, how many have one, and whether there are gaps among them.

    >>> present = np.array([[False, True], [True, False], [True, True]])
    >>> [each.tolist() for each in _runs(present, np.array([0, 1]), np.array([0, 0]), np.array([3, 3]))]
    [[1, 0], [2, 2], [False, True]]
    """
    by_lane = np.ascontiguousarray(present.T)  # the rows of each lane, one lane after the other
    places, offsets = np.flatnonzero(by_lane), lane * by_lane.shape[1]
    low, high = np.searchsorted(places, offsets + begin), np.searchsorted(places, offsets + stop)
    counts = high - low
    if not len(places):
        return begin, counts, np.zeros(len(lane), np.bool_)
    firsts, lasts = places[np.minimum(low, len(places) - 1)], places[high - 1]
    has_gaps: np.ndarray = (counts > 0) & (lasts - firsts + 1 != counts)
    return np.where(counts > 0, firsts - offsets, begin), counts, has_gaps
