"""What a batch recorder knows: the open episodes of its lanes, and where their rows are. Never changed, only replaced.

A signal handler may flush or close the recorder between any two lines of a call. As the state is one object, the call
notices that it was replaced, and nothing is ever half done.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.jobs import Block, End, Job, Jobs, Start, Whole
from rlds_kit.storage.lane_blocks import EncodedBlock, EncodedLanes, Form, LaneBlocks, LaneColumn, LaneRows


class StartLater(Protocol):
    """The first record of an episode, made when it is written, where that costs less than when the episode begins."""

    @property
    def episode_id(self) -> bytes:
        """Of the episode."""

    def message(self) -> pb.EpisodeStart:
        """Makes the record. The caller holds the intake's monitor."""


class OpenEpisode(NamedTuple):  # made in a quarter of the time of a frozen dataclass, for each episode
    """An open episode of a lane.

    Attributes:
      start: its first record.
      rows: its rows before the buffer.
      begin: its first place in the buffer.
    """

    start: pb.EpisodeStart | StartLater
    rows: int
    begin: int

    def first_record(self) -> pb.EpisodeStart:
        """Its first record."""
        return self.start if isinstance(self.start, pb.EpisodeStart) else self.start.message()


class EndedEpisode(NamedTuple):
    """An episode of a lane that has ended since the last blocks.

    They are a linked list, because a tuple would be copied at each end; and few objects, because a program may end many
    before they are written, and Python's garbage collector looks at each.

    Attributes:
      before: the one that ended before; None: there is none.
      lane: of the episode.
      episode: as it was.
      stop: one past its last place in the buffer.
      end: its last record, without what differs from other episodes that ended in the same way.
    """

    before: "EndedEpisode | None"
    lane: int
    episode: OpenEpisode
    stop: int
    end: pb.EpisodeEnd

    @property
    def rows(self) -> int:
        """All rows of the episode."""
        return self.episode.rows + self.stop - self.episode.begin

    def last_record(self) -> pb.EpisodeEnd:
        """Its last record, complete but for the digest."""
        message = pb.EpisodeEnd()
        message.CopyFrom(self.end)
        message.episode_id, message.rows = self.episode.start.episode_id, self.rows
        return message

    def in_order(self) -> Iterator["EndedEpisode"]:
        """All episodes up to this one, in the order of their ends."""
        found, one = [self], self.before
        while one is not None:
            found.append(one)
            one = one.before
        return reversed(found)


class BatchState(NamedTuple):  # made for each row, in a third of the time of a frozen dataclass
    """The state between two calls.

    Attributes:
      episodes: of each lane; None: it has no open episode.
      places: `[lanes]` int64, rows of each lane in the buffer.
      most: an upper bound of `places`.
      buffer: None: there are no rows.
      nbytes: of the rows in the buffer.
      ended: the last episode that has ended since the last blocks; None: there is none.
      oldest: time (`time.monotonic`) of the oldest row, or end, that was not passed on; None: there is none.
      leaving: jobs that may have been passed on.
    """

    episodes: tuple[OpenEpisode | None, ...]
    places: np.ndarray
    buffer: BatchBuffer | None = None
    most: int = 0
    nbytes: int = 0
    ended: EndedEpisode | None = None
    oldest: float | None = None
    leaving: Jobs | None = None

    def with_rows(self, rows: np.ndarray, nbytes: int, now: float | None) -> "BatchState":
        """Returns a state with another row of `nbytes` in some lanes; `now` is its time, needed if `oldest` is None."""
        return BatchState(
            self.episodes,
            self.places + rows,
            self.buffer,
            self.most + 1,
            self.nbytes + nbytes,
            self.ended,
            now if self.oldest is None else self.oldest,
            self.leaving,
        )

    def with_starts(self, starts: Mapping[int, pb.EpisodeStart | StartLater]) -> "BatchState":
        """Returns a state with new episodes in some lanes."""
        episodes = [*self.episodes]
        for lane, start in starts.items():
            episodes[lane] = OpenEpisode(start, 0, int(self.places[lane]))
        return self._changed(episodes, self.ended, self.oldest)

    def with_ends(self, lanes: Iterable[int], end: pb.EpisodeEnd, now: float) -> "BatchState":
        """Returns a state in which the open episodes of some lanes have ended; those without rows are not recorded."""
        episodes, ended = [*self.episodes], self.ended
        for lane in lanes:
            episode = episodes[lane]
            if episode is not None:
                stop = int(self.places[lane])
                if episode.rows or stop > episode.begin:
                    ended = EndedEpisode(ended, lane, episode, stop, end)
            episodes[lane] = None
        return self._changed(episodes, ended, now if self.oldest is None and ended is not None else self.oldest)

    def _changed(
        self, episodes: Iterable[OpenEpisode | None], ended: EndedEpisode | None, oldest: float | None
    ) -> "BatchState":
        """A state with other episodes. `_replace` would take twice as long, at each end."""
        return BatchState(
            tuple(episodes), self.places, self.buffer, self.most, self.nbytes, ended, oldest, self.leaving
        )

    def cut(self) -> "BatchState":
        """Returns a state in which all rows and ends are in `leaving`."""
        episodes, places = self.episodes, self.places.tolist()
        known = [None if each is None else OpenEpisode(each.first_record(), each.rows, each.begin) for each in episodes]
        jobs = [*self._jobs(known, places)]
        left = [
            None if each is None else OpenEpisode(each.start, each.rows + place - each.begin, 0)
            for each, place in zip(known, places, strict=True)
        ]
        return BatchState(tuple(left), np.zeros_like(self.places), leaving=Jobs(jobs) if jobs else None)

    def _jobs(self, episodes: Iterable[OpenEpisode | None], places: Sequence[int]) -> Iterator[Job]:
        whole = None if self.buffer is None else _Whole(self.buffer, self.places, self.nbytes)
        for ended in () if self.ended is None else self.ended.in_order():
            begun, rows = ended.episode, range(ended.episode.begin, ended.stop)
            if whole is not None and rows and not begun.rows:
                part = whole.part(ended.lane, rows, begun, is_whole=True)
                yield Whole(begun.first_record(), len(rows), part, ended.last_record())
            else:
                yield from _jobs_of(whole, ended.lane, begun, ended.stop)
                yield End(ended.last_record())
        for lane, episode in enumerate(episodes):
            if episode is not None:
                yield from _jobs_of(whole, lane, episode, places[lane])


class _Whole:
    """A buffer that is written; its memory is free when all of its parts are."""

    def __init__(self, buffer: BatchBuffer, places: np.ndarray, nbytes: int) -> None:
        self.buffer, self.parts = buffer, 0
        self._rows, self._most, self._nbytes = int(places.sum()), int(places.max()), nbytes
        self._blocks = LaneBlocks()
        self._columns: list[LaneColumn] | None = None
        self._forms: list[Form] = []
        self._encoded: EncodedLanes | None = None

    def part(self, lane: int, places: range, episode: OpenEpisode, *, is_whole: bool) -> "_Part":
        """Some rows of a lane. The bytes of all parts add up to those of the buffer."""
        nbytes = self._nbytes * len(places) // self._rows
        self._rows -= len(places)
        self._nbytes -= nbytes
        self.parts += 1
        rows = LaneRows(lane, places.start, places.stop, episode.rows)
        return _Part(self, self._blocks.add(episode.start.episode_id, rows, is_whole=is_whole), nbytes)

    def columns(self, number: int) -> list[Column]:
        """The columns of a part. Like the other methods from here on, it is called by the writer thread."""
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


class _Part:
    """The rows of a block: a part of a lane."""

    __slots__ = ("_number", "_whole", "nbytes")

    def __init__(self, whole: _Whole, number: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self._whole, self._number = whole, number

    def seal(self) -> list[Column]:
        """The columns."""
        return self._whole.columns(self._number)

    def forms(self) -> list[Form]:
        """The columns that all parts have, if they can be encoded together."""
        return self._whole.forms()

    def encoded(self, choose: FilterChoice) -> EncodedBlock | None:
        """The block, if it could be encoded with those of the other parts."""
        return self._whole.encoded(self._number, choose)

    def release(self) -> None:
        """Called once, when the block is written."""
        self._whole.parts -= 1
        if not self._whole.parts:
            self._whole.buffer.release()


def _jobs_of(whole: _Whole | None, lane: int, episode: OpenEpisode, stop: int) -> Iterable[Job]:
    """The jobs of the rows of an episode before place `stop`, which are not all of its rows; none without rows."""
    places = range(episode.begin, stop)
    if whole is None or not places:
        return
    if not episode.rows:
        yield Start(episode.first_record())
    rows = range(episode.rows, episode.rows + len(places))
    yield Block(episode.start.episode_id, rows, whole.part(lane, places, episode, is_whole=False))
