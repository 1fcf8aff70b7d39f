"""A process that answers requests, as an event loop sees it."""

import asyncio
import contextlib
import itertools
import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rlds_kit.trials.workers import process
from rlds_kit.trials.workers.job import Job
from rlds_kit.trials.workers.pipe_end import pipe_end
from rlds_kit.trials.workers.worker import serve


class ProcessLostError(RuntimeError):
    """A process ended, or was killed because it did not answer."""


@dataclass(eq=False)
class _Pending:
    """A request on its way."""

    future: "asyncio.Future[Any]"
    request: Any
    number: int
    due: float


class Channel:
    """A process and its pipe.

    Args:
      job: what the process does.
      on_lost: called with the reason when the process is lost.
      answer_seconds: for a request; then the process is killed. None: it may take for ever.
    """

    def __init__(
        self,
        job: Job,
        on_lost: Callable[[str], None],
        answer_seconds: float | None = None,
    ) -> None:
        self._what, self._on_lost, self._answer_seconds = job.what, on_lost, answer_seconds
        self._loop = asyncio.get_running_loop()
        pipe, theirs = multiprocessing.Pipe()
        self._process = process.start(serve, job, theirs)
        theirs.close()  # or the death of the process would not be noticed
        self._pending: dict[int, _Pending] = {}  # the oldest first
        self._watch: asyncio.TimerHandle | None = None
        self._numbers = itertools.count()
        self._lost = ""
        self._pipe = pipe_end(pipe, self._answered, self._ended)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid or 0

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return not self._lost

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is pending."""
        return bool(self._pending)

    async def request(self, number: int, request: Any) -> Any:  # the answer that belongs to the request
        """Has a request done.

        Args:
          number: of what it is for.
          request: what to do.

        Raises:
          ProcessLostError: it is not known whether it was done.
        """
        if self._lost:
            raise ProcessLostError(self._lost)
        key = next(self._numbers)
        pending = self._pending[key] = _Pending(self._loop.create_future(), request, number, self._due())
        if self._watch is None and self._answer_seconds is not None:  # one for all: nearly every one is answered soon
            self._watch = self._loop.call_at(pending.due, self._watch_pending)
        try:
            self._send(key, number, request)
            return await pending.future
        finally:
            self._pending.pop(key, None)

    def _due(self) -> float:
        return self._loop.time() + (self._answer_seconds or 0.0)

    def _send(self, *what: Any) -> None:
        try:
            self._pipe.send(what)
        except OSError:
            self._lose(f"the process of the {self._what} is gone")

    def _watch_pending(self) -> None:
        """Kills a process that has not answered for too long."""
        self._watch = None
        oldest = next((pending for pending in self._pending.values() if not pending.future.done()), None)
        if oldest is None:
            return
        if self._loop.time() < oldest.due:
            self._watch = self._loop.call_at(oldest.due, self._watch_pending)
            return
        request = f"{type(oldest.request).__name__} of {self._what} {oldest.number}"
        self.kill(f"no answer to {request} in {self._answer_seconds:g} seconds; its process was killed")

    def _answered(self, message: tuple[int, Any]) -> None:
        key, answer = message
        pending = self._pending.get(key)
        if pending is not None and not pending.future.done():
            pending.future.set_result(answer)

    def _ended(self) -> None:
        """Has a thread wait until the process has its code: it has closed the pipe, and may still be busy."""
        threading.Thread(target=self._await_code, name="rlds_kit-code", daemon=True).start()

    def _await_code(self) -> None:
        self._process.join()
        reason = f"the process of the {self._what} ended with code {self._process.exitcode}"
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._lose, reason)

    def _lose(self, reason: str) -> None:
        if self._lost:
            return
        self._lost = reason
        self._refuse()
        self._on_lost(reason)

    def kill(self, reason: str) -> None:
        """Ends the process now; pending requests fail with the reason."""
        self._process.kill()
        self._lose(reason)

    async def close(self, seconds: float) -> None:
        """Ends the process, by force if it takes longer."""
        self._lost = self._lost or "the server is shut down"
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        await asyncio.to_thread(self._end, seconds)
        await self._pipe.drain()  # answers that came are delivered before the other requests fail
        self._refuse()
        if self._watch is not None:
            self._watch.cancel()

    def _refuse(self) -> None:
        """Fails all pending requests."""
        for pending in self._pending.values():
            if not pending.future.done():
                pending.future.set_exception(ProcessLostError(self._lost))

    def _end(self, seconds: float) -> None:
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
