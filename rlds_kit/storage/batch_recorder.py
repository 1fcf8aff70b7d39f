"""Records environments that step together, a row of all of them at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import RecordingError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.array_form import any_true, both_true
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_jobs import GivenStarts, Starts
from rlds_kit.storage.batch_leaves import BatchLeaves, row_bytes
from rlds_kit.storage.batch_state import BatchState, end_of
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.intake import Intake
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.policy import BLOCK_ROWS
from rlds_kit.storage.row_log import IS_ATOMIC, REFUSE, LogForm, RowLog, RowStarts, StepForm

BUFFER_BYTES: Final = 32 << 20
"""The size of a buffer from which on it has no more rows than a block should have at the least. Longer blocks would be
read a little faster; but memory that a process uses for the first time costs more than writing the rows."""

_LOG_ROWS, _LOG_BYTES = 64, 1 << 16
"""A log has room for so many rows, or for more if these have at most so many bytes. The next row takes longer."""


class BatchRecorder:
    """Adds rows to the open episodes of several lanes. Created by `Recorder.start_batch`; not thread-safe.

    A lane has at most one open episode. Blocks of all lanes are cut together: lanes have about equal numbers of rows.

    Attributes:
      fields: validates rows and flattens them.
    """

    def __init__(self, intake: Intake, fields: DeclaredFields, lanes: int) -> None:
        self.fields = fields
        self._intake, self._lanes, self._row_bytes = intake, lanes, 0
        self._lock, self._flush_ends = intake.lock, intake.policy.each_episode
        self._every = np.ones(lanes, np.bool_)
        self._pool, self._turned = (ArrayPool(intake.memory_limit, is_apart=True) for _ in range(2))
        self._state = BatchState(np.zeros(lanes, np.bool_), np.zeros(lanes, np.int64), {})
        intake.add(self)

    @property
    def oldest(self) -> float | None:
        """Time (`time.monotonic`) of the oldest row that is in no block yet; None: there is none."""
        return self._state.oldest

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the rows that are in no block yet."""
        state = self._state
        return state.nbytes + (0 if state.log is None else state.log.nbytes)

    def count_logged(self) -> None:
        """Closes the log, and counts its rows. The caller holds the intake's monitor."""
        self._settled()

    @property
    def ids(self) -> list[bytes]:
        """The ids of all open episodes. The caller holds the intake's monitor."""
        return self._settled().open_ids()

    def is_open(self, lane: int) -> bool:
        """Whether a lane has an open episode."""
        with self._lock:
            return bool(self._settled().is_open[lane])

    def start(self, starts: Mapping[int, pb.EpisodeStart]) -> None:
        """Starts episodes of some lanes; as `start_later`."""
        self.start_later(self._mask(starts), GivenStarts(starts))

    def start_later(self, lanes: np.ndarray, starts: Starts) -> None:
        """Starts episodes of some lanes; their first rows are the next ones. Open ones end as INTERRUPTED.

        Args:
          lanes: `[lanes]` bool; not changed any more.
          starts: with their first records, which are made when they are written.

        Raises:
          RecordingError: the recorder cannot write; then no episode starts.
        """
        with self._lock:
            while True:
                self._intake.check()
                state = self._settled()
                if both_true(state.is_open, lanes):
                    self._end(lanes, EpisodeEnd.INTERRUPTED)
                elif self._swap(state, state.with_starts(lanes, starts)):
                    return

    def append(self, leaves: BatchLeaves, lanes: np.ndarray | None = None) -> None:
        """Adds a row to some lanes, which have open episodes, copying everything in it.

        Args:
          leaves: of all lanes, whichever get a row.
          lanes: ascending int64 numbers of those that get one; None: all.

        Raises:
          RecordingError: the recorder cannot write.
        """
        rows, count = self._every, self._lanes
        if lanes is not None:
            rows, count = np.zeros(self._lanes, np.bool_), len(lanes)
            rows[lanes] = True
        if not count:
            return
        with self._lock:
            while True:
                state, buffer = self._room(leaves)
                nbytes = buffer.put(leaves, lanes, state.places) * count
                if self._commit(state, state.with_rows(rows, nbytes), buffer, count, nbytes):
                    return

    def open_log(
        self,
        due: np.ndarray,
        forms: Iterable[StepForm],
        after_end: int,
        make_starts: Callable[[RowLog], RowStarts] | None,
    ) -> RowLog | None:
        """Prepares to add rows of all lanes by `RowLog.put` or `step`, until anything else is done.

        That makes one call: between two steps of a training, each costs as much as to copy a column.

        Args:
          due: `[lanes]` bool, in which lanes an episode begins with the first row; not changed any more.
          forms: of steps.
          after_end: what to do about a row in which episodes end; see `RowLog`.
          make_starts: makes the starts of episodes that begin with the rows.

        Returns:
          None: that is not possible now, or never, without the C extension. Other calls make it possible, such as
          `append`.
        """
        with self._lock:
            state = self._settled()
            buffer, limit = state.buffer, self._intake.room()
            are_fine = not both_true(state.is_open, due) and (state.is_open | due).all()
            is_ready = IS_ATOMIC and are_fine and state.oldest is not None and state.leaving is None
            if buffer is None or not (buffer.is_clean and is_ready and limit > 0 and buffer.capacity > state.most):
                return None
            known = [(form.infos, buffer.columns_of(form.keys)) for form in forms]
            logged = [LogForm(infos, columns) for infos, columns in known if columns is not None]
            after = REFUSE if self._flush_ends else after_end
            room = min(buffer.capacity - state.most, max(_LOG_ROWS, _LOG_BYTES // self._lanes))
            log = RowLog(
                state.places,
                due,
                room,
                logged,
                limit=limit,
                after_end=after,
                make_starts=make_starts,
                stopped=self._intake.stopped,
            )
            return log if logged and self._swap(state, state._replace(log=log)) else None

    def append_row(self, lane: int, observed: Leaves, acted: Leaves) -> None:
        """Adds a row to one lane, which has an open episode.

        Raises:
          UnsupportedTypeError: a value cannot be recorded; nothing of the row is.
          RecordingError: the recorder cannot write.
        """
        rows = self._mask((lane,))
        with self._lock:
            while True:
                state, buffer = self._room((observed, acted))
                nbytes = buffer.put_row(lane, observed, acted, state.places)
                if self._commit(state, state.with_rows(rows, nbytes), buffer, 1, nbytes):
                    return

    def end(
        self, lanes: Iterable[int], ending: EpisodeEnd, *, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Ends the episodes of some lanes; as `end_where`."""
        self.end_where(self._mask(lanes), ending, terminated=terminated, truncated=truncated)

    def end_where(
        self, lanes: np.ndarray, ending: EpisodeEnd, *, terminated: bool = False, truncated: bool = False
    ) -> None:
        """Ends the episodes of some lanes, `[lanes]` bool. An episode without rows is not recorded.

        Raises:
          RecordingError: a lane has no open episode, or the recorder cannot write; then no episode ends.
        """
        self._intake.check()
        with self._lock:
            missing = lanes > self._settled().is_open
            if any_true(missing):
                raise RecordingError(f"environment {missing.nonzero()[0][0]} has no open episode")
            self._end(lanes, ending, terminated=terminated, truncated=truncated)
        if self._flush_ends:
            self._intake.flush()

    def cut(self) -> None:
        """Makes blocks of the buffered rows, if there are any. The caller holds the intake's monitor."""
        state = self._settled()
        if state.leaving is None and (state.buffer is not None or state.boundary is not None):
            self._swap(state, state.cut())
        state = self._state
        if state.leaving is not None:
            self._intake.put(state.leaving)  # once more if a signal handler raises here; that does nothing
            self._swap(state, state._replace(leaving=None))

    def interrupt(self) -> None:
        """Ends all open episodes as INTERRUPTED. The caller holds the intake's monitor."""
        self._end(np.ones(self._lanes, np.bool_), EpisodeEnd.INTERRUPTED)
        self.cut()

    def _mask(self, lanes: Iterable[int]) -> np.ndarray:
        """`[lanes]` bool, true for some lanes."""
        found = np.zeros(self._lanes, np.bool_)
        found[[*lanes]] = True
        return found

    def _capacity(self, row_bytes: int) -> int:
        """Rows of a buffer: those of a block, as far as the limits admit them, if a row of a lane has so many bytes."""
        # Memory has one buffer, and another one that is written, in two copies.
        row_bytes, policy = max(1, row_bytes), self._intake.policy
        all_bytes = self._lanes * row_bytes
        rows = min(policy.rows_of_block(row_bytes), self._intake.memory_limit // (3 * all_bytes))
        if policy.block_rows is None:
            rows = min(rows, max(BLOCK_ROWS, BUFFER_BYTES // all_bytes))
        return max(1, rows)

    def _room(self, row: BatchLeaves | tuple[Leaves, Leaves]) -> tuple[BatchState, BatchBuffer]:
        """The state, and its buffer with room for a row, like this one, of each lane."""
        while True:
            self._intake.check()
            state = self._settled()
            buffer, bytes_of_row = state.buffer, _bytes_of(row)
            if state.leaving is not None or (buffer is not None and self._has_no_room(buffer, state, bytes_of_row)):
                self.cut()
            elif buffer is None:
                self._row_bytes = max(self._row_bytes, bytes_of_row)
                buffer = BatchBuffer(self._lanes, self._capacity(self._row_bytes), self._pool, self._turned)
                self._swap(state, state._replace(buffer=buffer))
            else:
                break
        _clean(buffer, state)
        return state, buffer

    def _has_no_room(self, buffer: BatchBuffer, state: BatchState, bytes_of_row: int) -> bool:
        """Whether a lane has as many rows as the buffer can take, or rows like this one make the buffer too large.

        The rows of a buffer are chosen by its first row, which has no action; and actions can be far larger. Memory
        that is not written yet takes nothing, so it may be as much as the limit. A row that is larger than that has a
        buffer of its own, which is not cut.
        """
        if state.most >= buffer.capacity and int(state.places.max()) >= buffer.capacity:
            return True
        nbytes, most = buffer.capacity * self._lanes * bytes_of_row, self._intake.memory_limit
        return nbytes > most and buffer.capacity > self._capacity(max(self._row_bytes, bytes_of_row))

    def _commit(self, before: BatchState, after: BatchState, buffer: BatchBuffer, count: int, nbytes: int) -> bool:
        """Makes a row count; False if a signal handler, which runs in this thread, flushed or closed meanwhile."""
        if not self._swap(before, after):
            return False
        buffer.is_clean = True
        self._intake.took_row(count, nbytes)
        return True

    def _end(self, lanes: np.ndarray, ending: EpisodeEnd, *, terminated: bool = False, truncated: bool = False) -> None:
        """Ends those episodes of some lanes that are open."""
        message = end_of(ending, terminated=terminated, truncated=truncated)
        while True:
            state = self._settled()
            if self._swap(state, state.with_ends(state.is_open & lanes, message)):
                return

    def _settled(self) -> BatchState:
        """The state with the rows of the log, which is closed. The caller holds the intake's monitor."""
        while (log := (state := self._state).log) is not None:
            log.close()  # first: what is added to a closed log would be lost
            if self._swap(state, state.with_log(log)):
                self._intake.took(log.rows * self._lanes, log.nbytes)
        return state

    def _swap(self, before: BatchState, after: BatchState) -> bool:
        """Replaces the state; False if a signal handler, which runs in this thread, has replaced it meanwhile."""
        # No signal handler can run between the condition and the assignment, which are one statement without calls.
        self._state, is_done = (after, True) if self._state is before else (self._state, False)
        return is_done


def _bytes_of(row: BatchLeaves | tuple[Leaves, Leaves]) -> int:
    """Bytes of a row of one lane, about."""
    if isinstance(row, BatchLeaves):
        return row_bytes(row.observed) + row_bytes(row.acted)
    return sum(getattr(item, "nbytes", 16) for leaves in row for item in leaves.items)


def _clean(buffer: BatchBuffer, state: BatchState) -> None:
    """Removes what an interrupted call has left; until the next row counts, there may be something again."""
    if not buffer.is_clean:
        buffer.clean(state.places)
    buffer.is_clean = False
