"""The background thread of a recorder: takes jobs in order, writes, syncs, and keeps the time."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from rlds_kit.base.errors import RecordingError
from rlds_kit.storage.jobs import Block, Discard, End, Job, Start, Sync
from rlds_kit.storage.shard_set import ShardSet

JOB_BYTES: Final = 16 << 10
"""What a job counts for besides its rows while it waits: those of many short episodes take more memory than these."""


class WriterThread:
    """Runs until `close`, or until writing fails.

    Args:
      monitor: guards everything here that both sides touch; notified when something changed.
      shards: where to write.
      interval: seconds after which waiting rows are written and made durable; None: never by time.
      cut_waiting: called with the monitor held and a number of seconds: turns rows that have waited so long into jobs.
    """

    def __init__(
        self,
        monitor: threading.Condition,
        shards: ShardSet,
        interval: float | None,
        cut_waiting: Callable[[float], None],
    ) -> None:
        self.held_bytes = 0
        """Bytes of rows that are not written yet, in open blocks and in jobs, and JOB_BYTES for each of these. Guarded
        by the monitor."""
        self.rows_given = 0
        self.rows_written = 0
        self.written: dict[bytes, int] = {}
        self.durable: dict[bytes, int] = {}
        self._monitor, self._shards, self._interval, self._cut_waiting = monitor, shards, interval, cut_waiting
        self._jobs: deque[Job] = deque()
        self.error: BaseException | None = None
        """What went wrong in the background; then nothing more is written."""
        self._closing = False
        self._last_ticket = self._synced_ticket = 0
        self._next_tick = time.monotonic() + (interval or 0) / 2
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="rlds_kit writer", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queues a job. The monitor must be held."""
        self._jobs.append(job)
        self.held_bytes += JOB_BYTES
        self._monitor.notify_all()

    def request_sync(self) -> int:
        """Asks that everything put so far be made durable; returns a ticket to wait for. The monitor must be held."""
        self._last_ticket += 1
        self.put(Sync(self._last_ticket))
        return self._last_ticket

    def wait_for_sync(self, ticket: int) -> None:
        """Waits, with the monitor held, until `ticket` is done.

        Raises:
          RecordingError: writing failed first.
        """
        self._monitor.wait_for(lambda: self._synced_ticket >= ticket or self.error is not None)
        self.check()

    def wait_for_room(self, limit: int) -> None:
        """Waits, with the monitor held, until less than `limit` bytes wait, or nothing is left to be written."""
        self._monitor.wait_for(lambda: self.held_bytes < limit or not self._jobs or self.error is not None)

    def check(self) -> None:
        """Raises what went wrong in the background.

        Raises:
          RecordingError: writing failed; says how many steps are kept and lost.
        """
        if self.error is not None:
            lost = self.rows_given - self.rows_written
            raise RecordingError(
                f"recording stopped: {self.error}. {self.rows_written} steps are kept and {lost} are lost. "
                "Make room or mend the disk, then record into the same directory again."
            ) from self.error

    def finish(self) -> None:
        """Writes what is queued, closes the shards and ends the thread; `check` tells whether that went well."""
        with self._monitor:
            self._closing = True
            self._monitor.notify_all()
            # Lets go of the monitor, also where the handler of a signal came in between while this thread held it.
            self._monitor.wait_for(lambda: self._is_over)
        self._thread.join()  # last: until Python 3.13 an interrupted join takes the thread for ended

    def _run(self) -> None:
        try:
            while (job := self._next_job()) is not None:
                self._do(job)
            self._shards.close()
            with self._monitor:
                self.durable.update(self.written)
        except BaseException as error:  # noqa: BLE001  whatever it is, the caller must hear of it
            self._fail(error)
        finally:
            with self._monitor:
                self._is_over = True
                self._monitor.notify_all()

    def _next_job(self) -> Job | None:
        """Waits for a job; None when closing and nothing is left. Cuts waiting rows when their time has come."""
        with self._monitor:
            while not self._jobs:
                if self._closing:
                    return None
                self._monitor.wait(self._seconds_to_tick())
                self._tick()
            self._tick()
            self.held_bytes -= JOB_BYTES
            self._monitor.notify_all()
            return self._jobs.popleft()

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

    def _write_block(self, job: Block) -> None:
        if job.episode_id not in self._shards.episodes or job.rows.stop <= self.written.get(job.episode_id, 0):
            return  # it came twice, or after its episode was discarded: Ctrl-C came in between
        self._shards.block(job)
        with self._monitor:
            self.held_bytes -= job.buffer.nbytes
            job.buffer.release()
            self.rows_written += len(job.rows)
            self.written[job.episode_id] = job.rows.stop
            self._monitor.notify_all()

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
            self.rows_written -= self._shards.rows_gone()
            self._jobs.clear()
            self._monitor.notify_all()
        self._shards.abandon()
