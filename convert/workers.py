"""Runs the parts of a conversion: here, or in several processes."""

import contextlib
import multiprocessing
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from rlds_kit.convert.part_note import PartNote
from rlds_kit.convert.part_work import Job, Tell, convert_part
from rlds_kit.convert.parts import Part
from rlds_kit.convert.protocol import ConversionError

_CONTEXT = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in any state
_HINTS = {
    True: "Maybe the system had no memory left for it: try fewer workers",
    False: "In a script, several workers want that the script's own work is under `if __name__ == '__main__':`",
}


class WorkerDiedError(ConversionError):
    """A process that converted a part died; the parts that are done are kept for the next attempt."""


def run(job: Job, parts: Sequence[Part], workers: int, tell: Tell) -> Iterator[PartNote]:
    """Converts parts; yields what was made of each, as they are done.

    Raises:
      WorkerDiedError: a process died; the message says of what, and which episodes it had.
      Exception: whatever `convert_part` raised, in whichever process.
    """
    if workers <= 1 or len(parts) <= 1:
        return (convert_part(job, part, tell) for part in parts)
    return _in_processes(job, parts, min(workers, len(parts)), tell)


@dataclass(slots=True)
class _Worker:
    """A process, the end of its pipe that is here, and the part it is at."""

    process: SpawnProcess
    pipe: "Connection[Any, Any]"
    part: Part | None = None

    def give(self, waiting: Iterator[Part]) -> None:
        """Gives it the next part, or tells it that there is none."""
        self.part = next(waiting, None)
        with contextlib.suppress(OSError):  # a process that died is found out when it is listened to
            self.pipe.send(self.part)

    def stop(self) -> None:
        """Ends the process; what it is at is of no use any more."""
        self.pipe.close()
        if self.part is not None:
            self.process.terminate()
        self.process.join()


def _in_processes(job: Job, parts: Iterable[Part], workers: int, tell: Tell) -> Iterator[PartNote]:
    waiting, started = iter(parts), list[_Worker]()
    try:
        for _ in range(workers):
            started.append(_started(job))
            started[-1].give(waiting)
        while busy := {worker.pipe: worker for worker in started if worker.part is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]  # one of them
                message = _received(worker)
                if isinstance(message, BaseException):
                    raise message
                if isinstance(message, PartNote):
                    worker.give(waiting)
                    yield message
                else:
                    tell(message)
    finally:
        for worker in started:
            worker.stop()


def _started(job: Job) -> _Worker:
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_work, args=(job, there), name="rlds-kit convert", daemon=True)
    with _interrupts_held_back():
        process.start()
    there.close()
    return _Worker(process, here)


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Delays Ctrl-C, in a process that is started here until `_work` ignores it. Windows has no such mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(worker: _Worker) -> Any:  # int, PartNote or an exception
    try:
        return worker.pipe.recv()
    except (EOFError, OSError) as error:
        worker.process.join()
        code, part = worker.process.exitcode or 0, worker.part
        how = f"of signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        what = f"episodes {part.begin} up to {part.end} of the source" if part else "nothing yet"
        raise WorkerDiedError(
            f"the process that converted {what} died {how}. {_HINTS[code < 0]}; run the same conversion again, and it "
            "continues with what is not done"
        ) from error


def _work(job: Job, pipe: "Connection[Any, Any]") -> None:
    """What a process does: converts one part after the other, until there are no more or nobody listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller is interrupted, and stops this process
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while (part := pipe.recv()) is not None:
            pipe.send(_outcome(job, part, pipe.send))


def _outcome(job: Job, part: Part, tell: Callable[[Any], None]) -> PartNote | BaseException:
    try:
        return convert_part(job, part, tell)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001  it is raised where the conversion was asked for
        return _portable(error)


def _portable(error: Exception) -> Exception:
    """The error, or one that says the same, if it does not survive the way to another process."""
    try:
        return error if isinstance(pickle.loads(pickle.dumps(error)), type(error)) else ConversionError(str(error))  # noqa: S301
    except Exception:  # noqa: BLE001  its class wants other arguments than its message
        return ConversionError(f"{type(error).__name__}: {error}")
