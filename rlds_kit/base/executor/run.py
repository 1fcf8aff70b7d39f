"""The interface of executors, and how the outcome of a task travels between processes."""

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from rlds_kit.base.errors import RldsKitError

P = TypeVar("P")
R = TypeVar("R")

Notify: TypeAlias = Callable[[int], None]
"""A callback that gets the amount of work that was done since its last call, in any unit."""

AGAIN: Final = "run the same command again, and it continues with the parts that are not done"
_NOTIFY: Final[ContextVar[Notify | None]] = ContextVar("notify", default=None)


class ExecutorError(RldsKitError, RuntimeError):
    """A task raised an error that cannot be pickled; the message has its class and text."""


class WorkerDiedError(ExecutorError):
    """A worker or a pipeline ended before its work was done; the parts that are done are not lost."""


class Run(Protocol):
    """Runs a task for each part and yields its reports in any order, as they arrive."""

    def __call__(
        self, task: Callable[[P], R], parts: Sequence[P], *, shared: Path | None = None, notify: Notify | None = None
    ) -> Iterator[R]:
        """Runs the task.

        Args:
          task: can be pickled. It may run again for the same part when a worker died.
          parts: can be pickled; `str` names a part in errors.
          shared: a directory that all workers see under the same path, for the reports of tasks on Beam; None: the
            temporary directory of this machine.
          notify: gets what tasks pass to `notify`. Beam and Ray do not call it.

        Raises:
          WorkerDiedError: a worker died; the message names its part where the executor knows it.
          ExecutorError: a task raised an error that cannot be pickled.
          Exception: what a task raised; no further tasks are given to workers, and those that run are stopped.
        """


def notify(amount: int) -> None:
    """Called by a task: reports that this much more of it is done."""
    receiver = _NOTIFY.get()
    if receiver is not None:
        receiver(amount)


def notifying(receiver: Notify | None, task: Callable[[P], R], part: P) -> R:
    """Calls a task whose calls of `notify` go to a receiver."""
    token = _NOTIFY.set(receiver)
    try:
        return task(part)
    finally:
        _NOTIFY.reset(token)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """The report of a task, or the error that it raised.

    Attributes:
      report: what it returned.
      error: what it raised, else None.
    """

    report: R | None = None
    error: Exception | None = None

    def get(self) -> R:
        """Returns the report, or raises the error."""
        if self.error is not None:
            raise self.error
        return self.report  # type: ignore[return-value]  # None only if the task returned None


def attempt(task: Callable[[P], R], part: P) -> Outcome[R]:
    """Calls a task in a worker: an error becomes an outcome that can be pickled."""
    try:
        return Outcome(task(part))
    except Exception as error:  # noqa: BLE001  the caller of the executor raises it again
        return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """The error, or one with the same text if a pickle does not restore it; a note has the worker's traceback."""
    found: Any
    try:
        found = pickle.loads(pickle.dumps(error))  # noqa: S301  it was pickled here
    except Exception:  # noqa: BLE001  its class takes other arguments than its message
        found = None
    if type(found) is not type(error):
        found = ExecutorError(f"{type(error).__name__}: {error}")
    found.add_note("".join(traceback.format_exception(error)))
    return found  # type: ignore[no-any-return]  # an Exception, by the line above
