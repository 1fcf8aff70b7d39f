"""The queue of rows between callers and the writer thread: one lock, one memory limit, one list of open episodes."""

import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Final, Protocol

import numpy as np

from rlds_kit.base.errors import RecordingError
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.jobs import Job
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.shard_set import ShardSet
from rlds_kit.storage.writer_thread import WriterThread

_CLOSED: Final = "the recorder is closed; open another one on the same directory to add episodes"


class OpenEpisodes(Protocol):
    """The interface of what buffers the rows of open episodes; the caller of its methods holds the monitor."""

    @property
    def oldest(self) -> float | None:
        """Time (`time.monotonic`) of the oldest row that is in no block yet; None: there is none."""

    @property
    def ids(self) -> Iterable[bytes]:
        """The ids of the episodes."""

    @property
    def waiting_bytes(self) -> int:
        """Bytes of rows that are in no block yet."""

    def count_logged(self) -> None:
        """Calls `took` for rows that were added without it."""

    def cut(self) -> None:
        """Makes blocks of the buffered rows."""

    def interrupt(self) -> None:
        """Ends the episodes as INTERRUPTED."""


class Intake:
    """The caller's side of a recorder: accepts rows, and limits the memory of those that are not written yet.

    Args:
      shards: to which the writer thread writes.
      policy: when rows are written and synced.
      memory_limit: maximum bytes of rows that are not written yet.
    """

    def __init__(self, shards: ShardSet, policy: FlushPolicy, memory_limit: int) -> None:
        # `with self.lock`, not `with self.monitor`: `Condition.__exit__` is Python code, and a signal handler that
        # raises at its beginning would leave the lock acquired. The lock is reentrant because a signal handler may call
        # `flush` or `close` while its own thread holds it.
        self.lock = threading.RLock()
        self.monitor = threading.Condition(self.lock)
        self.policy = policy
        self.pool = ArrayPool(memory_limit)
        self.closed = self._finished = False
        self._pid = os.getpid()
        self._in_child = False
        self._open: dict[OpenEpisodes, None] = {}
        self.memory_limit = memory_limit
        self._bytes_since_sync = 0
        self._sync_bytes = 0 if policy.each_step else sys.maxsize if policy.each_bytes is None else policy.each_bytes
        self.stopped = np.zeros(1, np.bool_)
        """`[1]` bool, whether recording is not possible any more: closed, failed, or in a forked child."""
        self._thread = WriterThread(self.monitor, shards, policy.interval, self._cut_waiting, self._stop)
        _opened.add(self)
        self._shards = shards

    def add(self, episodes: OpenEpisodes) -> None:
        """Registers open episodes."""
        with self.lock:
            self._open[episodes] = None

    def remove(self, episodes: OpenEpisodes) -> None:
        """Unregisters episodes that have ended. The caller holds the monitor."""
        self._open.pop(episodes, None)

    def put(self, job: Job) -> None:
        """Passes a job to the writer thread. The caller holds the monitor."""
        self._thread.put(job)

    def took(self, rows: int, nbytes: int) -> None:
        """Counts rows and bytes that an episode added, or removed (negative). The caller holds the monitor."""
        self._thread.rows_given += rows
        self._thread.buffered_bytes += nbytes
        self._bytes_since_sync += nbytes

    def after_row(self) -> None:
        """Waits until memory is below the limit, and syncs if the policy requires it. The caller holds the monitor."""
        self.took_row(0, 0)

    def took_row(self, rows: int, nbytes: int) -> None:
        """As `took`, and then `after_row`; called for every row, so without calls."""
        thread, since_sync = self._thread, self._bytes_since_sync + nbytes
        thread.rows_given += rows
        thread.buffered_bytes += nbytes
        self._bytes_since_sync = since_sync
        if thread.buffered_bytes >= self.memory_limit:
            self._free_memory()
        if since_sync >= self._sync_bytes:
            self._flush()

    def room(self) -> int:
        """Bytes from which on rows that are counted later would exceed a limit. The caller holds the monitor."""
        left = min(self.memory_limit - self._thread.buffered_bytes, self._sync_bytes - self._bytes_since_sync)
        return left // len(self._open)  # for others may add as many

    def flush(self) -> None:
        """Returns when all added rows are durable.

        Raises:
          RecordingError: it could not be written.
        """
        self.check()
        with self.lock:
            self._flush()

    def durable(self) -> dict[bytes, int]:
        """The number of durable rows of each open episode; empty in a forked child, which has none."""
        if self._in_child:
            return {}
        with self.lock:
            return {key: self._thread.durable.get(key, 0) for each in self._open for key in each.ids}

    def check(self) -> None:
        """Raises an error if recording is not possible any more.

        Raises:
          RecordingError: closed, failed, or used in a forked child.
        """
        if self.stopped[0]:  # checked for every row, so without a call
            self._refuse()

    def _refuse(self) -> None:
        if self.closed:
            raise RecordingError(_CLOSED)
        if self._in_child:
            raise RecordingError(
                f"this recorder belongs to process {self._pid}; open another one in this process (both may record into "
                "the same directory at once)"
            )
        with self.lock:
            for episode in self._open:
                episode.count_logged()
        self._thread.check()
        raise RecordingError(_CLOSED)  # Ctrl-C has interrupted `close` before it set `closed`

    def close(self) -> None:
        """Interrupts open episodes, writes everything and ends the writer thread; does nothing in a forked child.

        Raises:
          RecordingError: something could not be written.
        """
        if self._finished or self._in_child:
            return
        with self.lock:
            self._stop()
            self.closed = True
            for episode in list(self._open):
                episode.interrupt()
        # If Ctrl-C interrupts the wait, `_finished` is still False, and the next call (at the latest the one at exit)
        # waits again.
        self._thread.finish()
        self._finished = True
        self._thread.check()

    def leave_to_parent(self) -> None:
        """Closes, in a forked child, its copies of the files, which would keep the parent's locks."""
        self._in_child = True
        self._stop()
        self._shards.abandon()

    def _stop(self) -> None:
        self.stopped[0] = True

    def _flush(self) -> None:
        self._cut_waiting(0)
        self._bytes_since_sync = 0
        self._thread.wait_for_sync(self._thread.request_sync())

    def _cut_waiting(self, seconds: float) -> None:
        """Makes blocks of rows that are at least this old. The caller holds the monitor."""
        latest = time.monotonic() - seconds
        for episode in self._open:
            if episode.oldest is not None and episode.oldest <= latest:
                episode.cut()

    def _free_memory(self) -> None:
        """Cuts the largest buffers until those left have half of the limit, then waits for the disk."""
        waiting = sorted(self._open, key=lambda episode: episode.waiting_bytes, reverse=True)
        surplus = sum(episode.waiting_bytes for episode in waiting) - self.memory_limit // 2
        for episode in waiting:
            if surplus <= 0 or not episode.waiting_bytes:
                break
            surplus -= episode.waiting_bytes
            episode.cut()
        self._thread.wait_for_memory(self.memory_limit)


_opened: "weakref.WeakSet[Intake]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for intake in list(_opened):
        intake.leave_to_parent()


# A fork hook instead of `os.getpid()` for every row: the system call would cost more than the rest of the row.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
