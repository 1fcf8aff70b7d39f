"""Makes the jobs that write what batch recorders have buffered."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.jobs import Block, End, Job, Start, Whole
from rlds_kit.storage.lane_blocks import EncodedBlock, EncodedLanes, Form, LaneBlocks, LaneColumn


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

    def jobs(self, written: "WrittenBuffer | None") -> Iterator[Job]:
        """Makes the jobs; `written` has their rows, and is None if there are none."""
        parts = zip(self.blocks.ids, self.blocks.each(), self._starts, self._ends, strict=True)
        lasts = {id(end): _copy(end) for end in self._ends if end is not None}  # changed for each episode
        for number, (episode_id, (lane, begin, stop, first_row), starts, end) in enumerate(parts):
            count, end_row = stop - begin, first_row + stop - begin
            last = None if end is None else lasts[id(end)]
            if last is not None:
                last.episode_id, last.rows = episode_id, end_row
            part = written.part(number, count) if written is not None and count else None
            if part is not None and last is not None and starts is not None:
                start = starts.serialized(lane, episode_id)
                yield Whole(episode_id, count, part, start, last.SerializeToString(), last.ending)
                continue
            if part is not None:
                if starts is not None:
                    yield Start(starts.message(lane, episode_id))
                yield Block(episode_id, range(first_row, end_row), part)
            if last is not None:
                yield End(_copy(last))


def _copy(end: pb.EpisodeEnd) -> pb.EpisodeEnd:
    message = pb.EpisodeEnd()
    message.CopyFrom(end)
    return message


class WrittenBuffer:
    """A buffer that is written; its memory is free when all of its parts are. Used by the writer thread.

    Args:
      buffer: nothing may be added any more.
      places: `[lanes]` int64, rows of each lane.
      nbytes: of all rows.
      blocks: the rows of the parts.
    """

    def __init__(self, buffer: BatchBuffer, places: np.ndarray, nbytes: int, blocks: LaneBlocks) -> None:
        self.buffer, self._blocks, self._left = buffer, blocks, blocks.count()
        self._rows, self._most, self._nbytes = int(places.sum()), int(places.max()), nbytes
        self._columns: list[LaneColumn] | None = None
        self._forms: list[Form] = []
        self._encoded: EncodedLanes | None = None

    def part(self, number: int, rows: int) -> "_Part":
        """A part with rows; each is taken once. The bytes of all parts add up to those of the buffer."""
        nbytes = self._nbytes * rows // self._rows
        self._rows -= rows
        self._nbytes -= nbytes
        return _Part(self, number, nbytes)

    def columns(self, number: int) -> list[Column]:
        """The columns of a part."""
        self.lane_columns()
        lane, begin, stop, first_row = self._blocks.rows_of(number)
        return self.buffer.columns(lane, range(begin, stop), first_row)

    def lane_columns(self) -> list[LaneColumn]:
        """The columns of all parts; empty if not all of them have the same light ones."""
        if self._columns is None:
            self._columns = self.buffer.turn(self._most)
            self._forms = [(column.key, column.values.shape[2:]) for column in self._columns]
        return self._columns

    def forms(self) -> list[Form]:
        """Those of `lane_columns`."""
        self.lane_columns()
        return self._forms

    def encoded(self, number: int, choose: FilterChoice) -> EncodedBlock | None:
        """An encoded part; the first call encodes the columns of all."""
        if self._encoded is None:
            self._encoded = EncodedLanes(self.lane_columns(), self._blocks, choose)
        return self._encoded.take(number)

    def release(self) -> None:
        """Called once for each part with rows, when it is written."""
        self._left -= 1
        if not self._left:
            self.buffer.release()


class _Part:
    """The rows of a block: a part of a lane."""

    __slots__ = ("_buffer", "_number", "nbytes")

    def __init__(self, buffer: WrittenBuffer, number: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self._buffer, self._number = buffer, number

    def seal(self) -> list[Column]:
        """The columns."""
        return self._buffer.columns(self._number)

    def forms(self) -> list[Form]:
        """The columns that all parts have, if they can be encoded together."""
        return self._buffer.forms()

    def encoded(self, choose: FilterChoice) -> EncodedBlock | None:
        """The block, if it could be encoded with those of the other parts."""
        return self._buffer.encoded(self._number, choose)

    def release(self) -> None:
        """Called once, when the block is written."""
        self._buffer.release()
