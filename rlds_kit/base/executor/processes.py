"""Runs the tasks in processes of this machine.

`concurrent.futures` has such a pool too, but when one of its processes dies it neither names the task nor lets the
others finish, and on Ctrl-C it waits for all running tasks.
"""

import contextlib
import importlib
import math
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.arguments import positive
from rlds_kit.base.executor.run import AGAIN, Notify, Outcome, P, R, Run, WorkerDiedError, attempt, notifying

_CONTEXT = multiprocessing.get_context("spawn")  # a fork copies threads and locks in any state
_AHEAD_BYTES: Final = 1 << 12
_SECONDS: Final = 0.1
"""Between messages about the work that a task has done: each interrupts the work of the process that receives it."""
_HINTS = {
    True: "Maybe the system had no memory left for it: try fewer workers",
    False: "A script that starts processes needs `if __name__ == '__main__':` before its own work",
}


@contextlib.contextmanager
def on_processes(workers: int | None = None) -> Iterator[Run]:
    """An executor with this many processes; by default as many as the machine has cores.

    They are spawned when there is work for them: TensorFlow does not survive a fork. So a script that uses this needs
    the usual `if __name__ == "__main__":`.
    """
    pool: list[Worker] = []
    try:
        yield partial(_run, pool, (os.cpu_count() or 1) if workers is None else positive("workers", workers))
    finally:
        for worker in pool:
            worker.stop()


@dataclass(frozen=True, slots=True)
class _Modules:
    """A message: names of modules to import."""

    names: tuple[str, ...]


class Worker:
    """A process, this end of its pipe, and the part that it works on, before those that it was given ahead."""

    def __init__(self) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process: SpawnProcess = _CONTEXT.Process(target=_work, args=(theirs,), name="rlds-kit", daemon=True)
        self._task: Any = None
        self.parts: list[Any] = []
        with _interrupts_blocked():
            self._process.start()
        theirs.close()

    def give(self, task: Callable[[P], R], waiting: deque[P]) -> None:
        """Sends the next part, if there is one; the task is sent once.

        A process that works on a part does not receive: it gets another one ahead only if a pipe surely holds it.
        """
        try:
            part = waiting.popleft()
        except IndexError:
            return
        message = ForkingPickler.dumps((None if task is self._task else task, part))
        if self.parts and len(message) > _AHEAD_BYTES:
            waiting.appendleft(part)
            return
        self._task = task
        self.parts.append(part)
        with contextlib.suppress(OSError):  # `receive` reports that the process died
            self.pipe.send_bytes(message)

    def prepare(self, modules: Sequence[str]) -> None:
        """Lets the process import modules before it gets its first part."""
        with contextlib.suppress(OSError):  # `receive` reports that the process died
            self.pipe.send(_Modules(tuple(modules)))

    def receive(self) -> Any:  # int or Outcome
        """Receives a message: an amount of work that was done, or the outcome of the part, which is then over.

        Raises:
          WorkerDiedError: the process died.
        """
        try:
            message = self.pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode or 0
            how = f"of signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            raise WorkerDiedError(
                f"the process that worked on {self.parts[0]} died {how}. {_HINTS[code < 0]}; {AGAIN}"
            ) from error
        if isinstance(message, Outcome):
            del self.parts[0]
        return message

    def release(self) -> None:
        """Lets an idle process end, without waiting for it; it gets no other part."""
        self.pipe.close()

    def stop(self) -> None:
        """Ends the process, also in the middle of a task."""
        self.pipe.close()
        if self.parts or self._task is None:  # it may still be starting
            self._process.terminate()
        self._process.join()


def _run(
    pool: list[Worker],
    workers: int,
    task: Callable[[P], R],
    parts: Sequence[P],
    *,
    shared: Path | None = None,  # noqa: ARG001  reports come through pipes
    notify: Notify | None = None,
) -> Iterator[R]:
    waiting = deque(parts)
    try:
        for number in range(min(workers, len(parts))):
            if number == len(pool):
                pool.append(Worker())
            pool[number].give(task, waiting)
        while busy := {worker.pipe: worker for worker in pool if worker.parts}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]  # one of them
                message = worker.receive()
                if isinstance(message, Outcome):
                    if message.error is not None:
                        waiting.clear()
                    worker.give(task, waiting)
                    yield message.get()
                elif notify is not None:
                    notify(message)
    finally:
        stop_busy(pool)


def stop_busy(pool: list[Worker]) -> None:
    """Stops the processes that are in the middle of a task, and removes them."""
    for worker in [worker for worker in pool if worker.parts]:
        pool.remove(worker)
        worker.stop()


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Delays Ctrl-C in a process that is started here, until `_work` ignores it. Windows has no such mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # not on Windows

    resource_tracker.ensure_running()  # it would be started with the first process, and then end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: "Connection[Any, Any]") -> None:
    """The process: runs tasks until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller is interrupted, and stops this process
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    task: Any = None
    amounts = _Amounts(pipe.send)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            message = pipe.recv()
            if isinstance(message, _Modules):
                for name in message.names:
                    importlib.import_module(name)
                continue
            given, part = message
            task = task if given is None else given
            outcome = notifying(amounts.add, partial(attempt, task), part)
            amounts.send()
            pipe.send(outcome)


class _Amounts:
    """Sums the amounts of work that a task reports, and sends the sums."""

    def __init__(self, send: Callable[[int], None]) -> None:
        self._send, self._sum, self._time = send, 0, -math.inf

    def add(self, amount: int) -> None:
        """Adds an amount, and sends the sum if the last one was sent long enough ago."""
        self._sum += amount
        if time.monotonic() >= self._time + _SECONDS:
            self.send()

    def send(self) -> None:
        """Sends the sum of what was not sent yet."""
        if self._sum:
            self._send(self._sum)
            self._sum, self._time = 0, time.monotonic()
