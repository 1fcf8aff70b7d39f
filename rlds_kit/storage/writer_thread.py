"""The background thread of a recorder: processes jobs in order, writes, and syncs when requested or at intervals."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from rlds_kit.base.errors import RecordingError
from rlds_kit.storage.jobs import Block, Discard, End, Job, Jobs, Parts, Start, Sync
from rlds_kit.storage.shard_set import ShardSet

JOB_BYTES: Final = 16 << 10
"""Bytes that a queued job counts in addition to its rows: for many short episodes, the jobs take more memory than the
rows."""


class WriterThread:
    """Processes jobs until `finish`, or until writing fails.

    Args:
      monitor: protects all state that is shared with callers; notified on every change.
      shards: to write to. Only this thread uses them, so they need no lock.
      interval: seconds after which buffered rows are written and synced; None: never.
      cut_waiting: a callback that makes jobs of rows that are at least this many seconds old; the caller holds the
        monitor.
      stop: a callback for when writing fails; this thread holds the monitor.
    """

    def __init__(
        self,
        monitor: threading.Condition,
        shards: ShardSet,
        interval: float | None,
        cut_waiting: Callable[[float], None],
        stop: Callable[[], None],
    ) -> None:
        self.buffered_bytes = 0
        """Bytes of rows that are not written yet, in open blocks and in jobs, and JOB_BYTES for each job. Protected by
        the monitor."""
        self.rows_given = 0
        self.rows_written = 0
        self.written: dict[bytes, int] = {}
        self.durable: dict[bytes, int] = {}
        self._monitor, self._shards, self._interval = monitor, shards, interval
        self._cut_waiting, self._stop = cut_waiting, stop
        self._jobs: deque[Job] = deque()
        self.error: BaseException | None = None
        """The error that stopped this thread; nothing more is written then."""
        self._closing = False
        self._last_ticket = self._synced_ticket = 0
        self._memory_limit = 0  # callers wait for fewer buffered bytes than this
        self._next_tick = time.monotonic() + (interval or 0) / 2
        self._is_over = False
        self._counted = 0  # rows of `shards` that `rows_written` has
        self._thread = threading.Thread(target=self._run, name="rlds_kit writer", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queues a job. The caller holds the monitor."""
        self._jobs.append(job)
        self.buffered_bytes += _nbytes(job)
        self._monitor.notify_all()

    def request_sync(self) -> int:
        """Requests a sync of all jobs so far; returns a ticket for `wait_for_sync`. The caller holds the monitor."""
        self._last_ticket += 1
        self.put(Sync(self._last_ticket))
        return self._last_ticket

    def wait_for_sync(self, ticket: int) -> None:
        """Waits until the sync `ticket` is done. The caller holds the monitor, which is released while waiting.

        Raises:
          RecordingError: writing failed before.
        """
        # Nothing more is synced if a signal handler or another thread has closed the recorder meanwhile.
        self._monitor.wait_for(lambda: self._synced_ticket >= ticket or self.error is not None or self._is_over)
        self.check()

    def wait_for_memory(self, limit: int) -> None:
        """Waits until fewer than `limit` bytes are buffered, or no job is queued. The caller holds the monitor."""
        # A little less, or the caller would wait again after one row, and threads that take turns are slow.
        self._memory_limit = limit - limit // 64
        self._monitor.wait_for(
            lambda: self.buffered_bytes < self._memory_limit or not self._jobs or self.error is not None
        )

    def check(self) -> None:
        """Raises the error that stopped this thread, if any.

        Raises:
          RecordingError: writing failed; the message has the numbers of stored and lost steps.
        """
        if self.error is not None:
            lost = self.rows_given - self.rows_written
            reason = str(self.error) or type(self.error).__name__
            raise RecordingError(
                f"recording stopped: {reason}. {self.rows_written} steps are stored and {lost} are lost. "
                "Free space or repair the disk, then record into the same directory again."
            ) from self.error

    def finish(self) -> None:
        """Writes all queued jobs, closes the shards and ends the thread; call `check` afterwards for errors."""
        with self._monitor:
            self._closing = True
            self._monitor.notify_all()
            # `wait_for` releases the monitor completely, also if a signal handler called this while its thread owned
            # the monitor; so the writer thread can finish.
            self._monitor.wait_for(lambda: self._is_over)
        self._thread.join()  # only after `_is_over`: before Python 3.13, an interrupted join marks the thread as ended

    def _run(self) -> None:
        try:
            while (job := self._next_job()) is not None:
                try:
                    self._do(job)
                finally:
                    self._count_rows()
            self._shards.close()
            with self._monitor:
                self.durable.update(self.written)
        except BaseException as error:  # noqa: BLE001  every error must reach the caller
            self._fail(error)
        finally:
            with self._monitor:
                self._is_over = True
                self._monitor.notify_all()

    def _next_job(self) -> Job | None:
        """Waits for a job; None when closing and the queue is empty. Cuts buffered rows at intervals."""
        with self._monitor:
            while not self._jobs:
                if self._closing:
                    return None
                self._monitor.wait(self._seconds_to_tick())
                self._tick()
            self._tick()
            job = self._jobs.popleft()
            self.buffered_bytes -= _nbytes(job)
            self._monitor.notify_all()
            return job

    def _seconds_to_tick(self) -> float | None:
        return None if self._interval is None else max(0.0, self._next_tick - time.monotonic())

    def _tick(self) -> None:
        if self._interval is None or time.monotonic() < self._next_tick:
            return
        self._next_tick = time.monotonic() + self._interval / 2
        self._cut_waiting(self._interval / 2)
        if (self._jobs or self._shards.is_dirty) and not any(isinstance(job, Sync) for job in self._jobs):
            self.request_sync()

    def _do(self, job: Job) -> None:
        match job:
            case Start():
                self._shards.start(job)
            case Block():
                self._write_block(job)
            case End():
                self._shards.end(job)
            case Discard():
                self._discard(job)
            case Sync():
                self._sync(job)
            case Jobs():
                with self._shards.at_once():
                    for parts in job.take():
                        self._write_parts(parts)

    def _write_parts(self, parts: Parts) -> None:
        self._shards.parts(parts)
        with self._monitor:
            if parts.rows is not None:
                self.buffered_bytes -= parts.rows.release(parts.row_count())
            if not parts.are_whole:
                self.written.update(zip(parts.ids, parts.end_rows, strict=True))
            if self.buffered_bytes < self._memory_limit:
                self._monitor.notify_all()

    def _write_block(self, job: Block) -> None:
        if job.episode_id not in self._shards.episodes or job.rows.stop <= self.written.get(job.episode_id, 0):
            return  # a repeated job, or one of a discarded episode, after Ctrl-C
        self._shards.block(job)
        with self._monitor:
            self.buffered_bytes -= job.buffer.nbytes
            job.buffer.release()
            self.written[job.episode_id] = job.rows.stop
            if self.buffered_bytes < self._memory_limit:
                self._monitor.notify_all()

    def _count_rows(self) -> None:
        """Counts the rows that were written since the last call."""
        counted, self._counted = self._counted, self._shards.rows
        if self._counted != counted:
            with self._monitor:
                self.rows_written += self._counted - counted

    def _discard(self, job: Discard) -> None:
        self._shards.discard(job)
        with self._monitor:
            self.rows_written += job.rows - self.written.get(job.episode_id, 0)

    def _sync(self, job: Sync) -> None:
        self._shards.sync()
        with self._monitor:
            self.durable.update(self.written)
            for ended in self.durable.keys() - self._shards.episodes.keys():
                del self.durable[ended], self.written[ended]
            self._synced_ticket = job.ticket
            self._monitor.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._monitor:
            self.error = error
            self._stop()
            self.rows_written -= self._shards.rows_gone()
            self._jobs.clear()
            self._monitor.notify_all()
        self._shards.abandon()


def _nbytes(job: Job) -> int:
    return JOB_BYTES * (job.count if isinstance(job, Jobs) else 1)
