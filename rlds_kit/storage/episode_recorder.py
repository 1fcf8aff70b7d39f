"""Records one episode."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import RecordingError, SpecError, UnsupportedTypeError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.array_block import ArrayBlock, columns_in, rows_of_blocks
from rlds_kit.storage.array_columns import columns_of
from rlds_kit.storage.array_rows import ArrayRows
from rlds_kit.storage.column import Column
from rlds_kit.storage.declared import DeclaredFields
from rlds_kit.storage.episode_messages import end_message
from rlds_kit.storage.intake import Intake
from rlds_kit.storage.jobs import Block, Discard, End, Start
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.policy import BLOCK_ROWS
from rlds_kit.storage.row_buffer import RowBuffer


class EpisodeRecorder:
    """Adds rows to an open episode. Created by `Recorder.start_episode`; not thread-safe.

    Attributes:
      id: permanent id of the episode.
      rows: number of steps so far.
      oldest: time (`time.monotonic`) of the oldest row that is in no block yet; None: there is none.
    """

    def __init__(self, intake: Intake, fields: DeclaredFields, start: pb.EpisodeStart) -> None:
        self.id = uuid.UUID(bytes=start.episode_id)
        self.rows = 0
        self.oldest: float | None = None
        self._intake, self._fields, self._start = intake, fields, start
        self._started = self._ended = self._lacks_observation = False
        self._last_block = range(0)
        self._leaving: Block | None = None  # a block while it is passed to the writer thread
        self._buffer = self._new_buffer()
        intake.add(self)

    @property
    def ids(self) -> tuple[bytes]:
        """The id of the episode."""
        return (self.id.bytes,)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the rows that are in no block yet."""
        return self._buffer.nbytes

    def count_logged(self) -> None:
        """Does nothing: rows are counted when they are added."""

    def append(self, observed: Mapping[str, Any], acted: Mapping[str, Any] | None = None) -> None:
        """Adds a row, copying everything in it.

        Args:
          observed: the observation and other fields of the same row.
          acted: action, reward, discount and other results of the action that led here; stored with the previous row.
            None on the first row, and where rows were left out before this one.

        Raises:
          SpecError: a declared field does not match, and the recorder is strict; nothing of the row is recorded.
          UnsupportedTypeError: a value cannot be recorded; nothing of the row is.
          RecordingError: the episode has ended, or the recorder cannot write.
        """
        self._check()
        if acted is not None and self.rows == 0:
            raise RecordingError("the first row of an episode has no action before it; pass acted=None")
        if self._lacks_observation:
            raise RecordingError("the action before had no observation after it, which only the last one may lack")
        self._add(observed, acted or {})

    def act(self, acted: Mapping[str, Any]) -> None:
        """Adds the last action of an episode whose final observation is missing and stays undefined.

        Raises:
          As `append`.
        """
        self._check()
        if self.rows == 0 or self._lacks_observation:
            raise RecordingError("there is no observation that this was done in; append it first")
        self._add({}, acted)
        self._lacks_observation = True

    def extend(self, observed: ArrayRows, acted: ArrayRows) -> None:
        """Adds many rows at once, copying the arrays that they are given as: all of them, or nothing if some are wrong.

        Sequences that are neither arrays nor lists are read, and checked, block by block.

        Args:
          observed: the observations and other fields of the same rows.
          acted: the actions, rewards and other results, counted from the row before these, or from the first of these
            in a new episode. One for each row that leads to another; one more than that if the final observation is
            missing, and stays undefined.

        Raises:
          ValueError: there are more actions, or fewer.
          Others as `append`.
        """
        self._check()
        if self._lacks_observation:
            raise RecordingError("the action before had no observation after it, which only the last one may lack")
        begin, first_acted = self.rows, max(self.rows - 1, 0)
        most = begin + observed.length - first_acted
        if acted.length not in (most - 1, most) or most <= 0:
            raise ValueError(
                f"expected {most - 1} actions for {observed.length} more observations, or {most} where the final "
                f"observation is missing, got {acted.length}"
            )
        sides = columns_of(observed, acted, begin, first_acted, self._fields)
        rows, nbytes = range(begin, first_acted + acted.length + 1), sum(side.nbytes for side in sides)
        for each in rows_of_blocks(rows, nbytes, self._intake.policy):
            self._put(each, columns_in(each, *sides))
        self._lacks_observation = acted.length == most
        if self._fields.deviations.has_pending():
            self._fields.deviations.warn()

    def end(
        self,
        ending: EpisodeEnd,
        *,
        terminated: bool = False,
        truncated: bool = False,
        metadata: Mapping[str, Any] | None = None,
        acted: Mapping[str, Any] | None = None,
    ) -> None:
        """Ends the episode. An episode without rows is not recorded.

        Args:
          ending: TERMINATED, TRUNCATED or INTERRUPTED.
          terminated: Gymnasium's flag.
          truncated: Gymnasium's flag; both may be set.
          metadata: added to the metadata of the start.
          acted: the last action of data whose final observation is missing; that observation is then undefined.

        Raises:
          ValueError: `ending` is INCOMPLETE, which only readers assign.
          RecordingError: the episode has ended already, or the recorder cannot write.
        """
        self._check()
        message = end_message(self.id.bytes, ending, terminated=terminated, truncated=truncated, metadata=metadata)
        if acted:
            self.act(acted)
        with self._intake.lock:
            self._finish(message)
        if self._intake.policy.each_episode:
            self._intake.flush()

    def discard(self) -> None:
        """Discards the episode: no reader shows it. `rlds-kit rechunk` removes bytes that are already on disk.

        Raises:
          RecordingError: the episode has ended already, or the recorder cannot write.
        """
        self._check()
        with self._intake.lock:
            if self._leaving is not None:
                self.cut()
            self._buffer.settle(self.rows)
            if self._started:
                self._intake.put(Discard(self.id.bytes, self.rows))
            self._close()
            self._intake.took(0 if self._started else -self.rows, -self._buffer.nbytes)
            self._buffer = self._new_buffer()

    def cut(self) -> None:
        """Makes a block of the buffered rows, if there are any. The caller holds the intake's monitor."""
        # A signal handler may raise between any two of these lines. The state is changed in an order that lets the next
        # call repeat them: `_leaving` keeps the block until everything is done, and the writer ignores jobs that it has
        # seen before. A handler may also flush, which does all of this; then nothing is left to change.
        leaving = self._leaving
        if leaving is None:
            self._buffer.settle(self.rows)
            if self.rows == self._last_block.stop:
                self.oldest = None
                return
            leaving = self._leaving = Block(self.id.bytes, range(self._last_block.stop, self.rows), self._buffer)
        if not self._started:
            self._intake.put(Start(self._start))
            self._started = True
        self._intake.put(leaving)
        last = leaving.rows
        fresh = self._new_buffer(len(last))
        cut = last, fresh, None, None
        # No signal handler can run between the condition and the assignment, which are one line without calls.
        self._last_block, self._buffer, self.oldest, self._leaving = cut if self._leaving is leaving else self._blocks

    @property
    def _blocks(self) -> tuple[range, RowBuffer, float | None, Block | None]:
        """What `cut` changes: the last block, the buffer, the time of its oldest row, and the block that is leaving."""
        return self._last_block, self._buffer, self.oldest, self._leaving

    def interrupt(self) -> None:
        """Ends the episode as INTERRUPTED. The caller holds the intake's monitor."""
        self._finish(end_message(self.id.bytes, EpisodeEnd.INTERRUPTED))

    def _check(self) -> None:
        self._intake.check()
        if self._ended:
            raise RecordingError("the episode has ended; start another one")

    def _new_buffer(self, last_rows: int = 0) -> RowBuffer:
        # Under memory pressure blocks are cut early, and the next one is probably as short.
        expected = last_rows or self._intake.policy.block_rows or BLOCK_ROWS
        rows = 1 << (expected - 1).bit_length()  # few sizes, so that similar blocks reuse arrays
        return RowBuffer(rows, self._intake.policy.block_bytes, self._intake.pool)

    def _add(self, observed: Mapping[str, Any], acted: Mapping[str, Any]) -> None:
        rows = self.rows
        try:
            leaves = self._fields.leaves(observed, acted)
        except (SpecError, UnsupportedTypeError) as error:
            error.add_note(f"This is row {rows} of episode {self.id}. Nothing of it is recorded.")
            raise
        try:
            while not self._take(*leaves):
                leaves = self._fields.leaves(observed, acted)
        except BaseException:
            if self.rows == rows:
                self._fields.forget()
            raise
        if self._fields.deviations.has_pending():
            self._fields.deviations.warn()

    def _take(self, observed: Leaves, acted: Leaves) -> bool:
        """Adds a row; False if a signal handler, which runs in this thread, flushed or closed meanwhile."""
        with self._intake.lock:
            self._check()  # again: another thread may have closed the recorder meanwhile
            if self._leaving is not None:
                self.cut()
            buffer, rows = self._buffer, self.rows
            before = buffer.nbytes
            if self.oldest is None:
                self.oldest = time.monotonic()
            buffer.add(rows, observed, acted)
            # If a signal handler raises before this line, the whole row is removed again. It cannot run between the
            # conditions and the addition, which are one expression without calls.
            self.rows += 1 if buffer.attempt is not None and buffer is self._buffer and not self._ended else 0
            if self.rows == rows:
                buffer.settle(rows)
                return False
            self._intake.took(1, buffer.nbytes - before)
            policy = self._intake.policy
            if policy.is_full(self.rows - self._last_block.stop, self._buffer.nbytes):
                self.cut()
            self._intake.after_row()
            return True

    def _put(self, rows: range, columns: list[Column]) -> None:
        """Passes rows to the writer thread as a block of their own."""
        with self._intake.lock:
            self.cut()
            block = Block(self.id.bytes, rows, ArrayBlock(columns, self._intake.pool))
            self._check()
            # A signal handler, which runs in this thread, may have ended the episode before this line, not within it.
            self._leaving, self.rows = (self._leaving, self.rows) if self._ended else (block, rows.stop)
            self._check()
            self._intake.took(len(rows), block.buffer.nbytes)
            self.cut()
            self._intake.after_row()

    def _finish(self, end: pb.EpisodeEnd) -> None:
        if self.rows:
            self.cut()
            end.rows = self.rows
            self._intake.put(End(end))
        self._close()

    def _close(self) -> None:
        self._ended, self.oldest = True, None
        self._intake.remove(self)
