"""Environments of trials: in worker processes or in this one, and used again by the next trial."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.placement import Placement
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError, WorkerPool
from rlds_kit.trials.workers.stage import Stage


class PlayedEnvironment(Protocol):
    """An environment that does requests; see `workers.pool.Environment`.

    Attributes:
      opened: what there is to know of it.
      on_lost: called with the reason when it is lost and no request is pending.
    """

    opened: requests.Opened
    on_lost: Callable[[str], None] | None

    async def request(self, request: requests.Request) -> Any:  # the answer that belongs to the request
        """Does a request.

        Raises:
          EnvironmentLostError: the environment can be used no more.
        """

    async def close(self) -> None:
        """Lets it go."""


class EnvironmentHere:
    """An environment in this program: while it does a step, nothing else happens.

    Args:
      request: which.

    Raises:
      RequestFailedError: it cannot be made.
    """

    def __init__(self, request: requests.Open) -> None:
        try:
            self._stage = Stage(request)
        except Exception as error:
            raise RequestFailedError(f"{type(error).__name__}: {error}") from error
        self.opened = self._stage.opened()
        self.on_lost: Callable[[str], None] | None = None
        self._loss = ""

    async def request(self, request: requests.Request) -> Any:  # the answer that belongs to the request
        """Does a request.

        Raises:
          EnvironmentLostError: the environment raised an error, now or before.
        """
        await asyncio.sleep(0)  # others have their turn, and time passes
        if self._loss:
            raise EnvironmentLostError(self._loss)
        try:
            return self._stage.answer(request)
        except Exception as error:
            self._loss = f"{type(error).__name__}: {error}"
            self._stage.close()
            raise EnvironmentLostError(self._loss) from error

    async def close(self) -> None:
        """Closes it."""
        if not self._loss:
            self._loss = "it was closed"
            self._stage.close()


_Wanted = tuple[requests.Open, Placement | None]


class Environments:
    """Environments for trials; one that is free again is used by the next trial that wants the same.

    Args:
      pool: of processes; None: environments are in this program.
      places: how many environments there are at most.
    """

    def __init__(self, pool: WorkerPool | None, places: int) -> None:
        self._pool, self._places = pool, places
        self._free: list[tuple[_Wanted, PlayedEnvironment]] = []
        self._taken = 0

    async def take(self, request: requests.Open, placement: Placement | None = None) -> PlayedEnvironment:
        """An environment for a trial.

        Args:
          request: which.
          placement: where; None: as the pool does by default.

        Raises:
          RequestFailedError: it cannot be made.
          EnvironmentLostError: making it crashed or hangs.
        """
        self._taken += 1
        try:
            while (found := self._free_one((request, placement))) is not None:
                with contextlib.suppress(EnvironmentLostError):  # its machine may be gone, without notice
                    await found.request(requests.Show(requests.View(quality=None)))
                    return found
            while self._free and self._taken + len(self._free) > self._places:
                _, unused = self._free.pop(0)
                await unused.close()
            return EnvironmentHere(request) if self._pool is None else await self._pool.open(request, placement)
        except BaseException:
            self._taken -= 1
            raise

    def _free_one(self, wanted: _Wanted) -> PlayedEnvironment | None:
        for each in self._free:
            if each[0] == wanted:
                self._free.remove(each)
                each[1].on_lost = None
                return each[1]
        return None

    async def give_back(
        self,
        request: requests.Open,
        placement: Placement | None,
        environment: PlayedEnvironment,
        *,
        is_usable: bool,
    ) -> None:
        """A trial does not need its environment any more."""
        self._taken -= 1
        if is_usable:
            environment.on_lost = lambda _: self._forget(environment)
            self._free.append(((request, placement), environment))
        else:
            await environment.close()

    def _forget(self, environment: PlayedEnvironment) -> None:
        """The process of one that is free is gone."""
        self._free = [each for each in self._free if each[1] is not environment]

    async def end_idle(self) -> None:
        """Closes those that are free."""
        free, self._free = self._free, []
        for _, each in free:
            await each.close()

    async def close(self) -> None:
        """Closes those that are free."""
        await self.end_idle()
