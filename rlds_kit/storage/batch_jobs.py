"""Makes the jobs that write what batch recorders have buffered."""

import functools
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.jobs import Parts
from rlds_kit.storage.lane_blocks import EncodedBlock, EncodedLanes, Form, LaneBlocks
from rlds_kit.storage.lane_pieces import TOGETHER_BYTES, LaneColumn
from rlds_kit.storage.plausible import ID_BYTES

_MOST_PARTS: Final = 1 << 10
"""Most parts that are written together. For each group the writer thread takes the interpreter's lock several times,
and each time the playing thread may have to wait for it, and to be woken."""
_LEAST_PARTS: Final = 64
"""So many parts may always be written together, however heavy they are: fewer take longer."""
_ID_FIELD: Final = bytes((0x0A, ID_BYTES))
"""Tag and size of EpisodeEnd.episode_id."""


class Starts(Protocol):
    """The starts of the episodes of some lanes."""

    def episode_id(self, lane: int, /) -> bytes:
        """The id of the episode of a lane; the same at each call. The caller holds the intake's monitor."""

    def message(self, lane: int, episode_id: bytes, /) -> pb.EpisodeStart:
        """Its first record; called by the writer thread."""

    def serialized(self, lane: int, episode_id: bytes, /) -> bytes:
        """The bytes of `message`, in a fraction of the time."""


class GivenStarts(NamedTuple):
    """Starts whose records exist.

    Attributes:
      messages: by lane.
    """

    messages: Mapping[int, pb.EpisodeStart]

    def episode_id(self, lane: int) -> bytes:
        """The id of the episode of a lane."""
        return self.messages[lane].episode_id

    def message(self, lane: int, _: bytes) -> pb.EpisodeStart:
        """Its first record."""
        return self.messages[lane]

    def serialized(self, lane: int, _: bytes) -> bytes:
        """The bytes of its first record."""
        return self.messages[lane].SerializeToString()


class OpenEpisode(NamedTuple):  # made in a quarter of the time of a frozen dataclass, for each episode
    """An open episode of a lane.

    Attributes:
      episode_id: of the episode.
      starts: with its first record; None: that was passed on.
      rows: its rows before the buffer.
      begin: its first place in the buffer.
    """

    episode_id: bytes
    starts: Starts | None
    rows: int
    begin: int


class EpisodeParts:
    """The parts of episodes since the last blocks: their rows in the buffer, and whether they end.

    In lists, because Python's garbage collector would look at an object for each. Rows may be added until the first
    part is encoded.
    """

    def __init__(self) -> None:
        self.blocks = LaneBlocks()
        self._starts, self._ends = list[Starts | None](), list[pb.EpisodeEnd | None]()

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, lane: int, episode: OpenEpisode, stop: int, end: pb.EpisodeEnd | None) -> None:
        """Adds the rows of an episode before place `stop`.

        Args:
          lane: of the episode.
          episode: as it was.
          stop: one past its last place.
          end: what its last record has in common with those of others that end likewise; None: it goes on.
        """
        episode_id, starts, rows, begin = episode
        self.blocks.add(episode_id, (lane, begin, stop, rows), is_whole=end is not None and not rows)
        self._starts.append(starts)
        self._ends.append(end)

    def jobs(self, written: "WrittenBuffer | None") -> Iterator[Parts]:
        """The parts in the order in which they are written; `written` has their rows, and is None if there are none."""
        lanes, begins, stops, first_rows = self.blocks.rows().T.tolist()
        end_rows = [first + stop - begin for first, begin, stop in zip(first_rows, begins, stops, strict=True)]
        kinds = {id(end): end for end in self._ends if end is not None}
        lasts = {key: end.SerializeToString() for key, end in kinds.items()}
        row_bytes = 0 if written is None else written.row_bytes
        part_bytes = row_bytes * (sum(end_rows) - sum(first_rows)) // max(1, len(self)) + 1
        for numbers in self._in_order(min(_MOST_PARTS, max(_LEAST_PARTS, TOGETHER_BYTES // part_bytes))):
            ids = [self.blocks.ids[number] for number in numbers]
            starts, ends = list[bytes](), list[bytes]()
            for number, episode_id in zip(numbers, ids, strict=True):
                start, end = self._starts[number], self._ends[number]
                starts.append(b"" if start is None else start.serialized(lanes[number], episode_id))
                ends.append(b"" if end is None else _ended(lasts[id(end)], episode_id, end_rows[number]))
            rows = [first_rows[number] for number in numbers], [end_rows[number] for number in numbers]
            yield Parts(written, numbers, ids, *rows, starts, ends, self.blocks.are_whole[numbers[0]])

    def _in_order(self, most: int) -> Iterator[list[int]]:
        """The numbers of parts that are written together, at most `most`: whole episodes, or parts of others.

        Readers list episodes in the order in which they begin. So whole episodes are collected until there are `most`,
        or a part of another begins one; and parts of others until there are `most`, or whole episodes must be written
        that began after one of them. Parts that begin no episode may be written in any order.
        """
        whole, others, has_begun = list[int](), list[int](), False
        for number, is_whole in enumerate(self.blocks.are_whole):
            begins = not is_whole and self._starts[number] is not None
            is_due = len(whole) == most or (begins and len(whole) > 0)
            if len(others) == most or (is_due and has_begun):
                yield others
                others, has_begun = [], False
            if is_due:
                yield whole
                whole = []
            (whole if is_whole else others).append(number)
            has_begun |= begins
        yield from (numbers for numbers in (others, whole) if numbers)


def _ended(end: bytes, episode_id: bytes, rows: int) -> bytes:
    """The end of an episode, from what ends like it have in common."""
    return b"".join((_ID_FIELD, episode_id, _after_id(end, rows)))


@functools.lru_cache(maxsize=4096)
def _after_id(end: bytes, rows: int) -> bytes:
    """What follows the id, the first field, in ends of episodes with so many rows."""
    message = pb.EpisodeEnd.FromString(end)
    message.rows = rows
    message.ClearField("episode_id")
    return message.SerializeToString()


class WrittenBuffer:
    """A buffer that is written; its memory is free when all of its rows are. Used by the writer thread.

    Args:
      buffer: nothing may be added any more.
      places: `[lanes]` int64, rows of each lane.
      nbytes: of all rows.
      blocks: the rows of the parts.

    Attributes:
      row_bytes: of a row of one lane, on average.
    """

    def __init__(self, buffer: BatchBuffer, places: np.ndarray, nbytes: int, blocks: LaneBlocks) -> None:
        self.buffer, self._blocks = buffer, blocks
        self._rows, self._most, self._nbytes = int(places.sum()), int(places.max()), nbytes
        self.row_bytes = nbytes // max(1, self._rows)
        self._columns: list[LaneColumn] | None = None
        self._forms: list[Form] = []
        self._encoded: EncodedLanes | None = None

    def part(self, number: int) -> "_Part":
        """The rows of a part."""
        return _Part(self, number)

    def columns(self, number: int) -> list[Column]:
        """The columns of a part."""
        self.lane_columns()
        lane, begin, stop, first_row = self._blocks.rows_of(number)
        return self.buffer.columns(lane, range(begin, stop), first_row)

    def lane_columns(self) -> list[LaneColumn]:
        """The columns of all parts; empty if not all of them have the same light ones."""
        if self._columns is None:
            self._columns = (
                self.buffer.turn(self._most) if self._most else []
            )  # after an interrupted row there may be none
            self._forms = [(column.key, column.values.shape[2:]) for column in self._columns]
        return self._columns

    def forms(self) -> list[Form]:
        """Those of `lane_columns`."""
        self.lane_columns()
        return self._forms

    def lanes(self, choose: FilterChoice) -> EncodedLanes:
        """All parts, encoded together; the first call encodes their columns."""
        if self._encoded is None:
            self._encoded = EncodedLanes(self.lane_columns(), self._blocks, choose)
        return self._encoded

    def release(self, rows: int) -> int:
        """Called when so many rows more were written; returns their bytes, which add up to those of the buffer."""
        if not rows:
            return 0
        nbytes = self._nbytes * rows // self._rows
        self._rows -= rows
        self._nbytes -= nbytes
        if not self._rows:
            self.buffer.release()
        return nbytes


class _Part:
    """The rows of a block: a part of a lane."""

    __slots__ = ("_buffer", "_number", "nbytes")

    def __init__(self, buffer: WrittenBuffer, number: int) -> None:
        self._buffer, self._number, self.nbytes = buffer, number, 0

    def seal(self) -> list[Column]:
        """The columns."""
        return self._buffer.columns(self._number)

    def forms(self) -> list[Form]:
        """The columns that all parts have, if they can be encoded together."""
        return self._buffer.forms()

    def encoded(self, choose: FilterChoice) -> EncodedBlock | None:
        """The block, if it could be encoded with those of the other parts."""
        return self._buffer.lanes(choose).take(self._number)

    def release(self) -> None:
        """The buffer is released instead."""
