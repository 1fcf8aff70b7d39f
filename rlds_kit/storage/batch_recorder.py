"""Records environments that step together, a row of all of them at once."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import RecordingError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_leaves import BatchLeaves
from rlds_kit.storage.column import Column
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.episode_messages import end_message
from rlds_kit.storage.intake import Intake
from rlds_kit.storage.jobs import Block, End, Job, Start
from rlds_kit.storage.leaf import Leaves


@dataclass(frozen=True, slots=True)
class _Episode:
    """An open episode of a lane.

    Attributes:
      start: its first record.
      rows: its rows before the buffer.
      begin: its first place in the buffer.
    """

    start: pb.EpisodeStart
    rows: int
    begin: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """An episode that has ended in the buffer, before place `stop`."""

    lane: int
    episode: _Episode
    stop: int
    end: pb.EpisodeEnd


class _Filling:
    """A buffer while it is filled.

    Attributes:
      buffer: the rows.
      places: `[lanes]` int64, rows of each lane; replaced, never changed, so that a row counts as a whole or not.
      nbytes: of the rows.
      ended: the episodes that have ended in it.
      is_clean: whether the last call was not interrupted.
    """

    def __init__(self, buffer: BatchBuffer, lanes: int) -> None:
        self.buffer = buffer
        self.places = np.zeros(lanes, np.int64)
        self.nbytes = 0
        self.ended: list[_Ended] = []
        self.is_clean = True


class _Leaving:
    """A buffer that is written; its memory is free when all of its parts are."""

    def __init__(self, filling: _Filling) -> None:
        self.buffer = filling.buffer
        self.parts = 0
        self._rows, self._nbytes = int(filling.places.sum()), filling.nbytes

    def jobs(self, lane: int, episode: _Episode, stop: int) -> Iterator[Job]:
        """The jobs of an episode's rows before place `stop`; none if there are no rows."""
        count = stop - episode.begin
        if not count:
            return
        if not episode.rows:
            yield Start(episode.start)
        # The bytes of all parts add up to those of the buffer.
        nbytes = self._nbytes * count // self._rows
        self._rows -= count
        self._nbytes -= nbytes
        self.parts += 1
        part = _Part(self, lane, range(episode.begin, stop), episode.rows, nbytes)
        yield Block(episode.start.episode_id, range(episode.rows, episode.rows + count), part)


class _Part:
    """The rows of a block: a part of a lane."""

    def __init__(self, whole: _Leaving, lane: int, places: range, first_row: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self._whole, self._lane, self._places, self._first_row = whole, lane, places, first_row

    def seal(self) -> list[Column]:
        """The columns."""
        return self._whole.buffer.columns(self._lane, self._places, self._first_row)

    def release(self) -> None:
        """Called once, when the block is written."""
        self._whole.parts -= 1
        if not self._whole.parts:
            self._whole.buffer.release()


class BatchRecorder:
    """Adds rows to the open episodes of several lanes. Created by `Recorder.start_batch`; not thread-safe.

    A lane has at most one open episode. Blocks of all lanes are cut together: lanes have about equal numbers of rows.

    Attributes:
      fields: validates rows and flattens them.
      oldest: time (`time.monotonic`) of the oldest row that is in no block yet; None: there is none.
    """

    def __init__(self, intake: Intake, fields: DeclaredFields, lanes: int) -> None:
        self.fields = fields
        self.oldest: float | None = None
        self._intake, self._lanes, self._row_bytes = intake, lanes, 0
        self._pool = ArrayPool(intake.memory_limit // 2)
        self._episodes: list[_Episode | None] = [None] * lanes
        self._filling: _Filling | None = None
        self._leaving: tuple[list[Job], list[_Episode | None]] | None = None
        intake.add(self)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the rows that are in no block yet."""
        return 0 if self._filling is None else self._filling.nbytes

    @property
    def ids(self) -> Iterator[bytes]:
        """Of all open episodes."""
        return (episode.start.episode_id for episode in self._episodes if episode is not None)

    def is_open(self, lane: int) -> bool:
        """Whether a lane has an open episode."""
        return self._episodes[lane] is not None

    def start(self, lane: int, start: pb.EpisodeStart) -> None:
        """Starts an episode; its first row is the next one of this lane. An open one ends as INTERRUPTED.

        Raises:
          RecordingError: the recorder cannot write.
        """
        self._intake.check()
        with self._intake.lock:
            self._settle()
            if self._episodes[lane] is not None:
                self._end(lane, EpisodeEnd.INTERRUPTED, terminated=False, truncated=False)
            begin = 0 if self._filling is None else int(self._filling.places[lane])
            self._episodes[lane] = _Episode(start, 0, begin)

    def append(self, leaves: BatchLeaves, lanes: np.ndarray | None = None) -> None:
        """Adds a row to some lanes, which have open episodes, copying everything in it.

        Args:
          leaves: of all lanes, whichever get a row.
          lanes: ascending int64 numbers of those that get one; None: all.

        Raises:
          RecordingError: the recorder cannot write.
        """
        rows = np.ones(self._lanes, np.int64)
        if lanes is not None:
            rows[:] = 0
            rows[lanes] = 1
        count = int(rows.sum())
        if not count:
            return
        nbytes = leaves.row_bytes * count
        while True:
            with self._intake.lock:
                filling = self._room(leaves.row_bytes)
                filling.buffer.put(leaves, lanes, filling.places)
                if self._commit(filling, rows, count, nbytes):
                    return

    def append_row(self, lane: int, observed: Leaves, acted: Leaves) -> None:
        """Adds a row to one lane, which has an open episode.

        Raises:
          UnsupportedTypeError: a value cannot be recorded; nothing of the row is.
          RecordingError: the recorder cannot write.
        """
        rows = np.zeros(self._lanes, np.int64)
        rows[lane] = 1
        while True:
            with self._intake.lock:
                filling = self._room(sum(getattr(item, "nbytes", 16) for item in (*observed.items, *acted.items)))
                nbytes = filling.buffer.put_row(lane, observed, acted, filling.places)
                if self._commit(filling, rows, 1, nbytes):
                    return

    def end(
        self, lanes: Iterable[int], ending: EpisodeEnd, *, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Ends the episodes of some lanes. An episode without rows is not recorded.

        Raises:
          RecordingError: a lane has no open episode, or the recorder cannot write.
        """
        self._intake.check()
        with self._intake.lock:
            for lane in lanes:
                self._end(lane, ending, terminated=terminated, truncated=truncated)
        if self._intake.policy.each_episode:
            self._intake.flush()

    def cut(self) -> None:
        """Makes blocks of the buffered rows, if there are any. The caller holds the intake's monitor."""
        # A signal handler may raise between any two of these lines. `_leaving` remains until everything is done, so the
        # next call repeats them; the writer ignores jobs that it has seen before.
        if self._leaving is None:
            if self._filling is None or not (self._filling.places.any() or self._filling.ended):
                self.oldest = None
                return
            self._leaving = self._jobs(self._filling)
        jobs, episodes = self._leaving
        for job in jobs:
            self._intake.put(job)
        self._filling, self._episodes, self.oldest, self._leaving = None, episodes, None, None

    def interrupt(self) -> None:
        """Ends all open episodes as INTERRUPTED. The caller holds the intake's monitor."""
        self._settle()
        for lane in range(self._lanes):
            if self._episodes[lane] is not None:
                self._end(lane, EpisodeEnd.INTERRUPTED, terminated=False, truncated=False)
        self.cut()

    def _settle(self) -> None:
        """Completes an interrupted `cut`."""
        if self._leaving is not None:
            self.cut()

    @property
    def _capacity(self) -> int:
        """Rows of a buffer: those of a block, as far as the memory limit admits one buffer and one that is written."""
        row_bytes = max(1, self._row_bytes)
        limit = self._intake.memory_limit // (2 * self._lanes * row_bytes)
        return max(1, min(self._intake.policy.rows_of_block(row_bytes), limit))

    def _room(self, row_bytes: int) -> _Filling:
        """The buffer, with room for a row of each lane."""
        self._intake.check()
        self._settle()
        if self._filling is not None and int(self._filling.places.max()) >= self._filling.buffer.capacity:
            self.cut()
        filling = self._filling
        if filling is None:
            self._row_bytes = max(self._row_bytes, row_bytes)
            filling = self._filling = _Filling(BatchBuffer(self._lanes, self._capacity, self._pool), self._lanes)
        if not filling.is_clean:
            filling.buffer.clean(filling.places)
        filling.is_clean = False
        if self.oldest is None:
            self.oldest = time.monotonic()
        return filling

    def _commit(self, filling: _Filling, rows: np.ndarray, count: int, nbytes: int) -> bool:
        """Makes a row count; False if a signal handler, which runs in this thread, flushed or closed meanwhile."""
        places = filling.places + rows
        # No signal handler can run between the condition and the assignment, which are one expression without calls.
        filling.places = places if self._filling is filling else filling.places
        if filling.places is not places:
            return False
        filling.is_clean = True
        filling.nbytes += nbytes
        self._intake.took(count, nbytes)
        self._intake.after_row()
        return True

    def _end(self, lane: int, ending: EpisodeEnd, *, terminated: bool, truncated: bool) -> None:
        self._settle()
        episode = self._episodes[lane]
        if episode is None:
            raise RecordingError(f"environment {lane} has no open episode")
        stop = 0 if self._filling is None else int(self._filling.places[lane])
        message = end_message(episode.start.episode_id, ending, terminated=terminated, truncated=truncated)
        message.rows = episode.rows + stop - episode.begin
        if self._filling is not None and stop > episode.begin:
            self._filling.ended.append(_Ended(lane, episode, stop, message))
        elif message.rows:
            self._intake.put(End(message))  # all of its rows were passed on before
        self._episodes[lane] = None

    def _jobs(self, filling: _Filling) -> tuple[list[Job], list[_Episode | None]]:
        """The jobs of all rows, and what is open after them."""
        jobs, after, whole = list[Job](), list[_Episode | None](), _Leaving(filling)
        for ended in filling.ended:
            jobs += whole.jobs(ended.lane, ended.episode, ended.stop)
            jobs.append(End(ended.end))
        places = filling.places.tolist()
        for lane, episode in enumerate(self._episodes):
            if episode is None:
                after.append(None)
                continue
            jobs += whole.jobs(lane, episode, places[lane])
            after.append(replace(episode, rows=episode.rows + places[lane] - episode.begin, begin=0))
        return jobs, after
