"""Runs the tasks in this process and in others of this machine at the same time.

This process needs no start and no imports: for two workers that is half of what starting them costs.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic

from rlds_kit.base.arguments import positive
from rlds_kit.base.executor.processes import Worker, stop_busy
from rlds_kit.base.executor.run import Notify, Outcome, P, R, Run, notifying


@contextlib.contextmanager
def on_this_and_processes(
    workers: int, early: int = 0, modules: Sequence[str] = (), *, runs_once: bool = False
) -> Iterator[Run]:
    """An executor with this many processes; the first is the caller's own, so a task that crashes may end the caller.

    The others work like those of `on_processes`.

    Args:
      workers: number of processes, including this one.
      early: number of the other processes that start when the context is entered; the rest start when there is work.
      modules: that the early processes import at once, because the tasks need them.
      runs_once: whether the other processes end after the first run, while the caller goes on: that takes a tenth of a
        second.
    """
    pool: list[Worker] = []
    try:
        for _ in range(min(positive("workers", workers) - 1, early)):
            pool.append(Worker())
            pool[-1].prepare(modules)
        yield partial(_run, pool, workers - 1, runs_once)
    finally:
        for worker in pool:
            worker.stop()


def _run(
    pool: list[Worker],
    others: int,
    is_last: bool,
    task: Callable[[P], R],
    parts: Sequence[P],
    *,
    shared: Path | None = None,  # noqa: ARG001  reports come through pipes
    notify: Notify | None = None,
) -> Iterator[R]:
    waiting = deque(parts)  # any idle process takes the next part; taking one is atomic
    for number in range(min(others, len(parts) - 1)):
        if number == len(pool):
            pool.append(Worker())
        pool[number].give(task, waiting)
    collector: _Collector[R] = _Collector(pool, task, waiting, notify)
    try:
        while True:
            try:
                part = waiting.popleft()
            except IndexError:
                break
            yield notifying(collector.add, task, part)
            yield from collector.reports()
        yield from collector.rest()
        for worker in pool if is_last else ():
            worker.release()
    finally:
        collector.stop()
        stop_busy(pool)


class _Collector(Generic[R]):
    """Receives the messages of the other processes, and gives them parts, while this one works."""

    def __init__(
        self, pool: Sequence[Worker], task: Callable[[P], R], waiting: deque[P], notify: Notify | None
    ) -> None:
        self._notify = notify
        self._messages: SimpleQueue[Any] = SimpleQueue()  # int, Outcome, or None at the end
        self._found: list[R] = []
        self._is_over = False
        self._stop, theirs = Pipe()
        self._thread = threading.Thread(target=_serve, args=(pool, task, waiting, self._messages, theirs), daemon=True)
        self._thread.start()

    def add(self, amount: int) -> None:
        """Passes on what this process has done, and what has arrived from others; raises what a task there raised."""
        self._handle(amount)
        while not self._messages.empty():
            self._handle(self._messages.get())

    def reports(self) -> Iterator[R]:
        """Those that have arrived."""
        while self._found:
            yield self._found.pop(0)

    def rest(self) -> Iterator[R]:
        """All that are still to come."""
        yield from self.reports()
        while not self._is_over:
            self._handle(self._messages.get())
            yield from self.reports()

    def stop(self) -> None:
        """Receives nothing more."""
        with contextlib.suppress(OSError):  # it has ended
            self._stop.send(None)
        self._thread.join()
        self._stop.close()

    def _handle(self, message: Any) -> None:
        if isinstance(message, Outcome):
            self._found.append(message.get())
        elif message is None:
            self._is_over = True
        elif self._notify is not None:
            self._notify(message)


def _serve(
    pool: Sequence[Worker],
    task: Callable[[P], R],
    waiting: deque[P],
    messages: "SimpleQueue[Any]",
    stop: "Connection[Any, Any]",
) -> None:
    try:
        while busy := {worker.pipe: worker for worker in pool if worker.parts}:
            for pipe in wait([*busy, stop]):
                if pipe is stop:
                    return
                worker = busy[pipe]  # type: ignore[index]  # one of them
                message = worker.receive()
                if isinstance(message, Outcome) and message.error is not None:
                    waiting.clear()
                # This thread may wait for the interpreter's lock, so a process gets the next part ahead, but near the
                # end: there, parts are left to those that are idle first.
                for _ in range(len(worker.parts), 2 if len(waiting) > 2 * len(pool) else 1):
                    worker.give(task, waiting)
                messages.put(message)
    except Exception as error:  # noqa: BLE001  the caller raises it
        messages.put(Outcome(error=error))
    finally:
        messages.put(None)
        stop.close()
