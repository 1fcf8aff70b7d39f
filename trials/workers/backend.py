"""What starts workers: processes on this machine, or a cluster."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from rlds_kit.trials.workers.channel import Channel
from rlds_kit.trials.workers.job import Job
from rlds_kit.trials.workers.placement import Placement

EndIdle = Callable[[], Awaitable[None]]


class Worker(Protocol):
    """A process, here or elsewhere, that answers requests; what they raise is an answer."""

    @property
    def pid(self) -> int:
        """Of the process; 0: it is not known."""

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is pending."""

    async def request(self, number: int, request: Any) -> Any:  # the answer that belongs to the request
        """Has a request done.

        Args:
          number: of what it is for.
          request: what to do.

        Raises:
          ProcessLostError: it is not known whether it was done.
        """

    def kill(self, reason: str) -> None:
        """Ends the process now; pending requests fail with the reason."""

    async def close(self, seconds: float) -> None:
        """Ends the process, by force if it takes longer."""


class WorkerBackend(Protocol):
    """What starts workers. Several hosts may use it, each with an event loop of its own."""

    @property
    def environments_per_worker(self) -> int:
        """How many environments of trials share a worker."""

    @property
    def has_places(self) -> bool:
        """Whether a `Placement` makes a difference."""

    def start(
        self,
        job: Job,
        on_lost: Callable[[str], None],
        *,
        answer_seconds: float | None = None,
        placement: Placement | None = None,
        end_idle: EndIdle | None = None,
    ) -> Worker:
        """Starts a worker; its first request may wait until there is a machine for it.

        Args:
          job: what it does.
          on_lost: called with the reason when the worker is lost.
          answer_seconds: for a request; then the worker is killed. None: it may take for ever.
          placement: where it runs; None: as the backend does by default.
          end_idle: ends workers that are idle; called when no machine has space for this one.
        """

    def resources(self) -> Mapping[str, float]:
        """What there is in all, by name: "CPU" at least."""


class Processes:
    """Workers are processes on this machine.

    >>> Processes().resources()["CPU"] >= 1
    True
    """

    @property
    def environments_per_worker(self) -> int:
        """So that one that is free need not be closed for one of another kind."""
        return 2

    @property
    def has_places(self) -> bool:
        """There is only this machine."""
        return False

    def start(
        self,
        job: Job,
        on_lost: Callable[[str], None],
        *,
        answer_seconds: float | None = None,
        placement: Placement | None = None,
        end_idle: EndIdle | None = None,
    ) -> Worker:
        """Starts a process."""
        del placement, end_idle  # there is only this machine, and it takes what comes
        return Channel(job, on_lost, answer_seconds)

    def resources(self) -> Mapping[str, float]:
        """The cores of this machine."""
        return {"CPU": float(os.cpu_count() or 1)}
