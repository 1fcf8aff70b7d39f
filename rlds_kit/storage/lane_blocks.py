"""Encodes the rows of many blocks at once, if their columns have light rows.

In a block, a column has no rows, or consecutive ones: statistics of an episode only its last row, other infos perhaps
all others. Columns are encoded by `lane_pieces`, and records made by a call of C for many blocks, without the
interpreter's lock: the thread that plays does not wait. What is not so simple is encoded block by block, as other
blocks are. The bytes of a block are the same either way, unless a column has more than 2 KiB: then each of its byte
planes has a block of zstd of its own if it is encoded alone, and not if it is encoded here.
"""

import functools
import operator
from array import array
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import dtypes
from rlds_kit.storage.block import LaneFields, join_lanes
from rlds_kit.storage.block_header import after_rows, before_rows
from rlds_kit.storage.column_encoder import WORTHWHILE_BYTES
from rlds_kit.storage.digest import CACHED_ROWS, EpisodeDigest, Identity, LeafForms, LeafValues, identity_of
from rlds_kit.storage.filter_choice import LIGHT_ROW, FilterChoice
from rlds_kit.storage.lane_pieces import BEGIN, FIRST, STOP, TOGETHER_BYTES, LaneColumn, pack_pieces
from rlds_kit.storage.leaf import ColumnKey, field_of
from rlds_kit.storage.leaf_states import IS_THERE, StateColumn, add_values
from rlds_kit.storage.whole_hashes import HashedColumn, hashes_of_whole

_PLAIN_KINDS: Final = "biufc"
_TOGETHER: Final = 512
"""Most blocks whose records are made at once."""
Form = tuple[ColumnKey, tuple[int, ...]]
"""A column, and the shape of its values."""


_Form = tuple[ColumnKey, Identity | None, tuple[int, ...]]


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

    def rows(self) -> np.ndarray:
        """`[blocks, 4]` int64, the `LaneRows` of each; as long as it exists, `add` raises a BufferError."""
        found = np.frombuffer(self._rows, np.int64) if self._rows else np.empty(0, np.int64)
        return found.reshape(-1, len(LaneRows._fields))

    def rows_of(self, number: int) -> LaneRows:
        """The rows of a block."""
        size = len(LaneRows._fields)
        return LaneRows(*self._rows[number * size : (number + 1) * size])


class EncodedBlock(NamedTuple):
    """A block that can be written.

    Attributes:
      record: of the block.
      hashes: of a whole episode, as `EpisodeDigest.update_whole` takes them; empty: the leaves are needed.
      lanes: that it was encoded with.
      number: of the block there.
    """

    record: bytes
    hashes: bytes
    lanes: "EncodedLanes"
    number: int

    @property
    def leaves(self) -> Sequence[LeafValues]:
        """Of each column what the digest needs; empty if there are `hashes`."""
        return () if self.hashes else self.lanes.leaves(self.number)


def is_light(key: ColumnKey, values: np.ndarray) -> bool:
    """Whether a column of lanes can be encoded here."""
    row_bytes = values[0, 0].nbytes
    is_plain = values.dtype.kind in _PLAIN_KINDS and not dtypes.is_big_endian(values.dtype)
    return is_plain and 0 < row_bytes <= (WORTHWHILE_BYTES if key.kind == pb.TREE else LIGHT_ROW)


class EncodedLanes:
    """Blocks whose columns were encoded together; their records are made some at a time.

    Args:
      columns: that blocks have, for which `is_light` is true.
      blocks: their rows; no more are added.
      choose: chooses the filters, and remembers earlier choices.
    """

    def __init__(self, columns: Sequence[LaneColumn], blocks: LaneBlocks, choose: FilterChoice) -> None:
        rows = blocks.rows()
        packed = pack_pieces(columns, rows, choose)
        data = [column.values.reshape(-1).view(np.uint8) for column in columns]
        shapes = [column.values.shape[2:] for column in columns]
        keys = [column.key for column in columns]
        self._fields: list[LaneFields] = [
            (before_rows(key), after_rows(key, shape), values, each.frames, each.table)
            for key, shape, values, each in zip(keys, shapes, data, packed, strict=True)
        ]
        self._forms: list[_Form] = [(key, identity_of(key), shape) for key, shape in zip(keys, shapes, strict=True)]
        self._values = [each.data for each in data]
        self._spans = np.frombuffer(b"".join([each.spans for each in packed]), np.int64).reshape(len(packed), -1, 4)
        self._acted = [(at, field_of(each.key.path)) for at, each in enumerate(columns) if each.is_acted]
        counts = rows[:, STOP] - rows[:, BEGIN]
        can_take = np.frombuffer(_in_all([each.is_encoded for each in packed]), np.bool_) & (counts > 0)
        self._can_take: list[bool] = can_take.tolist()
        self._ids, self._rows = blocks.ids, np.stack((rows[:, FIRST], rows[:, FIRST] + counts), axis=1)
        self._leaf_columns = _LeafColumns(self._forms, data, [each.spans for each in packed]) if IS_THERE else None
        columns_of_digests = [
            HashedColumn(key, shape, each.spans, each.hashes)
            for key, shape, each in zip(keys, shapes, packed, strict=True)
        ]
        is_whole = np.array(blocks.are_whole, np.bool_) & can_take & (counts <= CACHED_ROWS)
        self._hashes = hashes_of_whole(columns_of_digests, is_whole)
        nbytes = sum(column.values.nbytes for column in columns) // max(1, len(self._ids)) + 1
        self._ahead = max(1, min(_TOGETHER, TOGETHER_BYTES // nbytes))  # blocks whose records are made at once
        self._records, self._joined = dict[int, bytes](), 0  # that were made and not taken; all before `_joined` were

    def take(self, number: int) -> EncodedBlock | None:
        """A block; None if it must be encoded in another way.

        Called once for each block, or again after None.
        """
        if not self._can_take[number]:
            return None
        if number >= self._joined:
            self._join(number + self._ahead)
        hashes = self._hashes[number]
        return EncodedBlock(self._records.pop(number), hashes, self, number)

    def acted_fields(self, numbers: list[int], known: AbstractSet[str]) -> set[str]:
        """The fields, beside known ones, whose values in one of some blocks begin a row before the block."""
        others = [(at, name) for at, name in self._acted if name not in known]
        chosen = self._rows[numbers] if others else self._rows[:0]
        is_early = {name: self._spans[at, numbers, 0] < chosen[:, 0] for at, name in others}
        return {name for at, name in others if (is_early[name] & (self._spans[at, numbers, 1] > 0)).any()}

    def add_values(self, numbers: list[int], digests: Sequence[EpisodeDigest]) -> None:
        """Adds some blocks to the digests of their episodes."""
        states = [None] * len(digests) if self._leaf_columns is None else self._leaf_columns.added(numbers, digests)
        for number, digest, is_added in zip(numbers, digests, states, strict=True):
            if not is_added:
                digest.update_values(self.leaves(number))

    def _join(self, stop: int) -> None:
        """Makes the records of the blocks before one that were not made yet."""
        numbers = [number for number in range(self._joined, min(stop, len(self._ids))) if self._can_take[number]]
        ids = b"".join([self._ids[number] for number in numbers])
        records = join_lanes(ids, self._rows, self._fields, np.array(numbers, np.int64))
        self._records.update(zip(numbers, records, strict=True))
        self._joined = stop

    def sizes(self, numbers: Sequence[int]) -> list[int]:
        """The bytes of the records of some blocks that were not taken; empty if one must be encoded in another way."""
        if not all(map(self._can_take.__getitem__, numbers)):
            return []
        last = max(numbers)
        if last >= self._joined:
            self._join(max(last + 1, self._joined + self._ahead))
        return [len(self._records[number]) for number in numbers]

    def take_all(self, numbers: Sequence[int]) -> list[EncodedBlock]:
        """Some blocks, of which `sizes` has returned the sizes."""
        return [EncodedBlock(self._records.pop(number), self._hashes[number], self, number) for number in numbers]

    def leaves(self, number: int) -> list[LeafValues]:
        """What the digest needs of the columns that have values in a block."""
        spans = self._spans[:, number].tolist()
        return [
            (*column, first, stop, values[begin:end])
            for column, values, (first, stop, begin, end) in zip(self._forms, self._values, spans, strict=True)
            if first < stop
        ]


def _in_all(flags: Sequence[bytes]) -> bytes:
    """Flags, bytes of 0 or 1, that are true where those of all columns are.

    NumPy would give up the interpreter's lock.

    >>> [*_in_all([bytes([1, 0, 1]), bytes([1, 1, 0])])]
    [1, 0, 0]
    """
    both = functools.reduce(operator.and_, [int.from_bytes(each, "little") for each in flags])
    return both.to_bytes(len(flags[0]), "little")


class _LeafColumns:
    """The columns of blocks that digests need, in the order of identities.

    Args:
      forms: of the columns.
      data: the bytes of each.
      spans: of the rows of each.
    """

    def __init__(self, forms: Sequence[_Form], data: Sequence[np.ndarray], spans: Sequence[bytes]) -> None:
        known = [(identity, at) for at, (_, identity, _) in enumerate(forms) if identity is not None]
        known.sort()
        self._forms = _leaf_forms(tuple((identity, forms[at][2]) for identity, at in known))
        self._columns = [StateColumn(data[at], spans[at]) for _, at in known]

    def added(self, numbers: list[int], digests: Sequence[EpisodeDigest]) -> list[bool]:
        """Adds blocks to digests; returns which of them were added."""
        states = [digest.state(self._forms) for digest in digests]
        there = [state for state in states if state is not None]
        chosen = [number for number, state in zip(numbers, states, strict=True) if state is not None]
        flags = iter(add_values(self._columns, np.array(chosen, np.int64), there))
        return [state is not None and bool(next(flags)) for state in states]


@functools.lru_cache(maxsize=256)
def _leaf_forms(forms: tuple[tuple[Identity, tuple[int, ...]], ...]) -> LeafForms:
    return LeafForms(forms)
