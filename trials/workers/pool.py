"""Worker processes, and the environments in them, as the server sees them."""

import asyncio
import contextlib
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from rlds_kit.closing import AsyncClosing
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.backend import EndIdle, Processes, WorkerBackend
from rlds_kit.trials.workers.channel import ProcessLostError
from rlds_kit.trials.workers.hosted_environments import ENVIRONMENTS
from rlds_kit.trials.workers.placement import Placement

ANSWER_SECONDS: Final = 60.0
"""For an environment to answer; then its worker is killed."""
CLOSE_SECONDS: Final = 10.0


class EnvironmentLostError(RuntimeError):
    """An environment crashed, hangs, or was with one that did. Its recording ends with the last step."""


class RequestFailedError(RuntimeError):
    """A request could not be done; the environment is as it was."""


class PoolFullError(RequestFailedError):
    """There are as many environments as there may be."""


class WorkerPool(AsyncClosing):
    """Workers for environments. Asynchronous; all calls come from one event loop.

    Args:
      workers: how many processes at most; None: as many as there are cores.
      environments_per_worker: how many environments share a process at most.
      answer_seconds: for an environment to answer.
      backend: that starts the workers; None: processes on this machine.
      end_idle: ends what is idle elsewhere; called when a cluster has no space for a worker.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        environments_per_worker: int = 16,
        answer_seconds: float = ANSWER_SECONDS,
        backend: WorkerBackend | None = None,
        end_idle: EndIdle | None = None,
    ) -> None:
        self._most = workers or os.cpu_count() or 1
        self._each, self._answer_seconds = environments_per_worker, answer_seconds
        self._backend: WorkerBackend = backend or Processes()
        self._end_idle = end_idle
        self._ending: set[asyncio.Task[None]] = set()
        self._workers: list[_Worker] = []
        self._numbers = itertools.count()

    async def open(self, request: requests.Open, placement: Placement | None = None) -> "Environment":
        """Makes an environment in the process that has the fewest.

        Args:
          request: which.
          placement: where; None: as the backend does by default.

        Raises:
          RequestFailedError: it cannot be made; the message gives the reason.
          PoolFullError: there is no room for another one.
          EnvironmentLostError: making it crashed or hangs.
        """
        worker = self._least_loaded(placement)
        environment = Environment(worker, next(self._numbers))
        worker.environments.append(environment)
        try:
            opened = await environment.request(request)
        except BaseException:
            worker.forget(environment)
            raise
        environment.opened = opened
        return environment

    async def request(self, request: requests.Catalogue | requests.Describe) -> Any:  # the answer that belongs to it
        """Has any worker do a request that needs no environment.

        Raises:
          RequestFailedError: it could not be done.
          PoolFullError: the processes have as many environments as they may.
          EnvironmentLostError: doing it crashed or hangs.
        """
        return await Environment(self._least_loaded(), next(self._numbers)).request(request)

    def _least_loaded(self, placement: Placement | None = None) -> "_Worker":
        placement = placement if self._backend.has_places else None
        self._workers = [worker for worker in self._workers if worker.is_alive]
        idle = next((each for each in self._workers if each.is_idle and each.placement == placement), None)
        if idle is not None:
            return idle  # to start another process takes a second of a core
        if len(self._workers) >= self._most:
            self._end_of_another_place(placement)
        if len(self._workers) < self._most:
            self._workers.append(self._started(placement))
        fitting = [worker for worker in self._workers if worker.placement == placement]
        least = min(fitting, key=lambda worker: len(worker.environments), default=None)
        if least is None or len(least.environments) >= self._each:
            raise PoolFullError(
                f"there are {self.places} environments already, as many as there may be; try again later"
            )
        return least

    def _started(self, placement: Placement | None) -> "_Worker":
        return _Worker(self._backend, self._answer_seconds, placement, self._end_idle)

    def _end_of_another_place(self, placement: Placement | None) -> None:
        """Ends a worker that has no environment, if it is at another place than the one that is wanted."""
        idle = next((each for each in self._workers if each.is_idle and each.placement != placement), None)
        if idle is not None:
            self._workers.remove(idle)
            task = asyncio.create_task(idle.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def end_idle(self) -> None:
        """Ends the workers that have no environment."""
        idle = [worker for worker in self._workers if worker.is_idle]
        self._workers = [worker for worker in self._workers if worker not in idle]
        await asyncio.gather(*(worker.close() for worker in idle))

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another environment now."""
        taken = sum(len(worker.environments) for worker in self._workers if worker.is_alive)
        return taken >= self.places

    @property
    def places(self) -> int:
        """For environments, in all processes."""
        return self._most * self._each

    @property
    def processes(self) -> Sequence[int]:
        """Ids of the processes that live."""
        return [worker.pid for worker in self._workers if worker.is_alive]

    async def close(self) -> None:
        """Ends open episodes as INTERRUPTED, and all processes."""
        await asyncio.gather(*(worker.close() for worker in self._workers), *self._ending)
        self._workers = []


class Environment:
    """An environment in a worker. Made by `WorkerPool.open`.

    Attributes:
      opened: what there is to know of it.
      on_lost: called with the reason when its worker dies and no request is pending.
    """

    opened: requests.Opened

    def __init__(self, worker: "_Worker", number: int) -> None:
        self._worker, self.number = worker, number
        self.on_lost: Callable[[str], None] | None = None

    async def request(self, request: requests.Request) -> Any:  # the answer that belongs to the request
        """Has the worker do a request.

        Raises:
          EnvironmentLostError: the environment can be used no more.
          RequestFailedError: the request could not be done, and nothing changed.
        """
        answer = await self._worker.request(self.number, request)
        if isinstance(answer, requests.Failed):
            if answer.is_lost:
                self._worker.forget(self)
                raise EnvironmentLostError(answer.reason)
            raise RequestFailedError(answer.reason)
        return answer

    async def close(self) -> None:
        """Lets it go; an open episode ends as INTERRUPTED."""
        with contextlib.suppress(EnvironmentLostError):
            await self.request(requests.Close())
        self._worker.forget(self)


class _Worker:
    """One worker, and its environments."""

    def __init__(
        self,
        backend: WorkerBackend,
        answer_seconds: float,
        placement: Placement | None,
        end_idle: EndIdle | None,
    ) -> None:
        self.environments: list[Environment] = []
        self.placement = placement
        self._channel = backend.start(
            ENVIRONMENTS, self._lose, answer_seconds=answer_seconds, placement=placement, end_idle=end_idle
        )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._channel.pid

    @property
    def is_idle(self) -> bool:
        """Whether it has no environment, and nothing to do."""
        return not self.environments and not self._channel.is_waiting

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return self._channel.is_alive

    def forget(self, environment: Environment) -> None:
        """An environment is gone."""
        if environment in self.environments:
            self.environments.remove(environment)

    async def request(self, environment: int, request: requests.Request) -> requests.Answer:
        """Has a request done."""
        try:
            answer: requests.Answer = await self._channel.request(environment, request)
        except ProcessLostError as error:
            raise EnvironmentLostError(str(error)) from error
        return answer

    def _lose(self, reason: str) -> None:
        for environment in self.environments:
            if environment.on_lost is not None:
                environment.on_lost(reason)
        self.environments = []

    async def close(self) -> None:
        """Ends the process, by force if it takes long."""
        await self._channel.close(CLOSE_SECONDS)
