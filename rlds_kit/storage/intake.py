"""Where rows wait between the caller and the background thread: one lock, one memory limit, one list of episodes."""

import os
import threading
import time
import weakref
from typing import Protocol

from rlds_kit.base.errors import RecordingError
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.jobs import Job
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.shard_set import ShardSet
from rlds_kit.storage.writer_thread import WriterThread


class OpenEpisode(Protocol):
    """What the intake asks of an episode that is being recorded; all with the monitor held."""

    oldest: float | None

    @property
    def waiting_bytes(self) -> int:
        """Bytes of rows that are in no block yet."""

    def cut(self) -> None:
        """Makes a block of the waiting rows."""

    def interrupt(self) -> None:
        """Ends the episode as INTERRUPTED."""


class Intake:
    """The caller's side of a recorder.

    Args:
      shards: where the background thread writes.
      policy: when.
      memory_limit: bytes that may wait.
    """

    def __init__(self, shards: ShardSet, policy: FlushPolicy, memory_limit: int) -> None:
        # Callers take the lock itself: a signal may interrupt `Condition.__exit__`, which then never lets go of it.
        self.lock = threading.RLock()
        self.monitor = threading.Condition(self.lock)
        self.policy = policy
        self.pool = ArrayPool()
        self.closed = self._finished = False
        self._pid = os.getpid()
        self._in_child = False
        self._open: dict[bytes, OpenEpisode] = {}
        self._memory_limit = memory_limit
        self._bytes_since_sync = 0
        self._thread = WriterThread(self.monitor, shards, policy.interval, self._cut_waiting)
        _opened.add(self)
        self._shards = shards

    def add(self, episode_id: bytes, episode: OpenEpisode) -> None:
        """Makes an episode known."""
        with self.lock:
            self._open[episode_id] = episode

    def remove(self, episode_id: bytes) -> None:
        """Forgets an episode that has ended. The monitor must be held."""
        self._open.pop(episode_id, None)

    def put(self, job: Job) -> None:
        """Hands a job to the background thread. The monitor must be held."""
        self._thread.put(job)

    def took(self, rows: int, nbytes: int) -> None:
        """Counts what an episode has taken, or given back. The monitor must be held."""
        self._thread.rows_given += rows
        self._thread.held_bytes += nbytes
        self._bytes_since_sync += nbytes

    def after_row(self) -> None:
        """Waits for free memory and for what the policy promises of each step. The monitor must be held."""
        if self._thread.held_bytes >= self._memory_limit:
            self._make_room()
        each_bytes = self.policy.each_bytes
        if self.policy.each_step or (each_bytes is not None and self._bytes_since_sync >= each_bytes):
            self._flush()

    def flush(self) -> None:
        """Returns when everything given is durable.

        Raises:
          RecordingError: it could not be written.
        """
        self.check()
        with self.lock:
            self._flush()

    def durable(self) -> dict[bytes, int]:
        """For each open episode how many of its rows are on disk; nothing in a forked child, which has none."""
        if self._in_child:
            return {}
        with self.lock:
            return {key: self._thread.durable.get(key, 0) for key in self._open}

    def check(self) -> None:
        """Raises if nothing can be recorded any more.

        Raises:
          RecordingError: closed, failed, or used in a forked child.
        """
        if self.closed or self._in_child or self._thread.error is not None:  # asked with every row
            self._refuse()

    def _refuse(self) -> None:
        if self.closed:
            raise RecordingError("the recorder is closed; open another one on the same directory to add episodes")
        if self._in_child:
            raise RecordingError(
                f"this recorder belongs to process {self._pid}; open another one in this process (both may record into "
                "the same directory at once)"
            )
        self._thread.check()

    def close(self) -> None:
        """Interrupts open episodes, writes everything and ends the thread; in a forked child it does nothing.

        Raises:
          RecordingError: something could not be written.
        """
        if self._finished or self._in_child:
            return
        with self.lock:
            self.closed = True
            for episode in list(self._open.values()):
                episode.interrupt()
        # Where Ctrl-C breaks off the waiting, the next call (at exit, at the latest) goes on with it.
        self._thread.finish()
        self._finished = True
        self._thread.check()

    def leave_to_parent(self) -> None:
        """Called in a forked child: its copies of the files would hold the parent's locks."""
        self._in_child = True
        self._shards.abandon()

    def _flush(self) -> None:
        self._cut_waiting(0)
        self._bytes_since_sync = 0
        self._thread.wait_for_sync(self._thread.request_sync())

    def _cut_waiting(self, seconds: float) -> None:
        """Makes blocks of the rows that have waited so long. The monitor must be held."""
        latest = time.monotonic() - seconds
        for episode in self._open.values():
            if episode.oldest is not None and episode.oldest <= latest:
                episode.cut()

    def _make_room(self) -> None:
        """Keeps the waiting bytes below the limit: cuts the largest blocks, then waits for the disk."""
        waiting = sorted(self._open.values(), key=lambda episode: episode.waiting_bytes, reverse=True)
        surplus = sum(episode.waiting_bytes for episode in waiting) - self._memory_limit // 2
        for episode in waiting:
            if surplus <= 0 or not episode.waiting_bytes:
                break
            surplus -= episode.waiting_bytes
            episode.cut()
        self._thread.wait_for_room(self._memory_limit)


_opened: "weakref.WeakSet[Intake]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for intake in list(_opened):
        intake.leave_to_parent()


# Not a look at the process id with every row: a system call would cost more than the rest of the row.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
