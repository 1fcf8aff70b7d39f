"""Actors of trials, in processes of their own or in this one."""

import asyncio
import itertools
import os
import pickle
from collections import defaultdict
from typing import Any, Final

from rlds_kit.closing import AsyncClosing
from rlds_kit.trials.actors.actor_process import ACTORS
from rlds_kit.trials.actors.contract import ActorInfo, Text
from rlds_kit.trials.actors.hosted_actors import HostedActors
from rlds_kit.trials.actors.registry import Implementation
from rlds_kit.trials.actors.requests import Act, Acted, Answer, End, Failed, Load, Loaded, News, Request, Reset
from rlds_kit.trials.workers.backend import EndIdle, Processes, Worker, WorkerBackend
from rlds_kit.trials.workers.channel import ProcessLostError
from rlds_kit.trials.workers.placement import Placement

START_SECONDS: Final = 60.0
"""For an implementation to be imported, and for an actor to be made."""
CLOSE_SECONDS: Final = 10.0


class ActorError(RuntimeError):
    """An actor gave no action that can be done.

    Args:
      reason: for people to read.
      is_lost: whether it can act no more.
    """

    def __init__(self, reason: str, *, is_lost: bool = True) -> None:
        super().__init__(reason)
        self.is_lost = is_lost


class _Here:
    """Actors in this program: a slow one stops everything."""

    def __init__(self) -> None:
        self._actors = HostedActors()
        self.pid, self.is_alive, self.is_waiting = os.getpid(), True, False

    async def request(self, number: int, request: Request) -> Answer:
        """Has a request done."""
        (answer,) = await self._actors.answer([(number, request)])
        return answer

    def kill(self, reason: str) -> None:
        """Forgets the actors."""
        del reason
        self.is_alive = False

    async def close(self, seconds: float) -> None:
        """Forgets the actors."""
        del seconds
        self.is_alive = False


class _Home:
    """A place of actors of one implementation: one actor at a time, or all of them if they act together."""

    def __init__(self, implementation: Implementation, placement: Placement | None, place: Worker) -> None:
        self.implementation, self.placement, self.place = implementation, placement, place
        self.loaded: Loaded | None = None
        self.seated, self.is_retired, self.is_new = 0, False, True

    def fits(self, implementation: Implementation, placement: Placement | None) -> bool:
        """Whether it takes one more actor of an implementation."""
        is_same = (self.implementation, self.placement) == (implementation, placement)
        if not is_same or self.loaded is None or self.is_retired or not self.place.is_alive:
            return False
        return self.loaded.is_batched or not self.seated

    def leave(self, *, is_stuck: bool) -> None:
        """An actor is gone; a place where one did not answer gets no other, and ends with its last."""
        self.seated -= 1
        self.is_retired = self.is_retired or is_stuck
        if self.is_retired and not self.seated:
            self.place.kill("its trial is over, and it did not answer")


class SeatedActor:
    """An actor of a trial. Made by `ActorPool.take`.

    Attributes:
      implementation: its name.
      version: of the implementation.
      learns: whether it wants each step.
      is_amended: whether it wants new aggregates of rewards.
    """

    def __init__(self, home: _Home, loaded: Loaded, number: int) -> None:
        self._home, self._number = home, number
        self.implementation, self.version = home.implementation.name, loaded.version
        self.learns, self.is_amended = loaded.learns, loaded.is_amended
        self._is_busy = False

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...], news: News) -> Acted:
        """Has the actor choose an action within its space.

        Raises:
          ActorError: it did not.
        """
        answer = await self._request(Act(observation, reward, messages, news))
        if not isinstance(answer, Acted):
            raise ActorError(f"expected an action, got {answer!r}")
        return answer

    async def reset(self, info: ActorInfo) -> None:
        """Begins a trial.

        Raises:
          ActorError: that failed.
        """
        await self._request(Reset(info))

    async def end(self, news: News, seconds: float) -> str:
        """Ends the trial of the actor and makes room for another one; one that is busy for longer is killed.

        Returns:
          What failed; "" if nothing did.
        """
        failure = ""
        if self._home.place.is_alive and not self._is_busy:
            try:
                async with asyncio.timeout(seconds):
                    await self._request(End(news))
            except ActorError as error:
                failure = str(error)
            except TimeoutError:
                failure = f"it did not end in {seconds:g} seconds"
        self.leave()
        return failure

    def leave(self) -> None:
        """Makes room, also where the actor does not answer."""
        self._home.leave(is_stuck=self._is_busy)

    async def _request(self, request: Request) -> Answer:
        if self._is_busy:
            raise ActorError("it still does not answer the request before")
        self._is_busy = True
        try:
            answer: Answer = await self._home.place.request(self._number, request)
        except ProcessLostError as error:
            self._is_busy = False
            raise ActorError(str(error)) from error
        self._is_busy = False
        if isinstance(answer, Failed):
            raise ActorError(answer.reason, is_lost=answer.is_lost)
        return answer


class ActorPool(AsyncClosing):
    """Actors for trials. Asynchronous; all calls come from one event loop.

    Each actor has a process of its own while its trial goes on, so that a slow one delays no other; actors that act
    together (`act_batch`) share one. A process is used again for the next trial.

    Args:
      is_here: whether actors run in this program instead.
      start_seconds: for an implementation to be imported, and for an actor to be made.
      backend: that starts the processes; None: on this machine.
      end_idle: ends what is idle elsewhere; called when a cluster has no space for an actor.
    """

    def __init__(
        self,
        *,
        is_here: bool = False,
        start_seconds: float = START_SECONDS,
        backend: WorkerBackend | None = None,
        end_idle: EndIdle | None = None,
    ) -> None:
        self._is_here, self._start_seconds = is_here, start_seconds
        self._backend: WorkerBackend = backend or Processes()
        self._end_idle = end_idle
        self._homes: list[_Home] = []
        self._numbers = itertools.count(1)
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def take(
        self, implementation: Implementation, info: ActorInfo, placement: Placement | None = None
    ) -> SeatedActor:
        """An actor for a trial that begins.

        Args:
          implementation: of it.
          info: of the trial.
          placement: where it runs; None: as the backend does by default.

        Raises:
          ActorError: the implementation cannot be imported, or the actor cannot be made.
        """
        try:
            async with asyncio.timeout(self._start_seconds):
                while (actor := await self._seated(implementation, info, placement)) is None:
                    pass  # the process of another trial was gone; the next one is new
        except TimeoutError as error:
            raise ActorError(f"{implementation.name} did not begin in {self._start_seconds:g} seconds") from error
        return actor

    async def _seated(
        self, implementation: Implementation, info: ActorInfo, placement: Placement | None
    ) -> SeatedActor | None:
        """An actor that has begun its trial; None: it was to use a process again, and that was gone."""
        home, loaded = await self._home(implementation, placement)
        actor, is_new, home.is_new = SeatedActor(home, loaded, next(self._numbers)), home.is_new, False
        try:
            await actor.reset(info)
        except BaseException as error:
            actor.leave()
            if isinstance(error, ActorError) and not (is_new or home.place.is_alive):
                return None
            raise
        return actor

    async def _home(self, implementation: Implementation, placement: Placement | None) -> tuple[_Home, Loaded]:
        """A place for one more actor, which it has from now on."""
        async with self._locks[implementation.name]:  # one is loaded at a time: it may have room for the others
            self._homes = [home for home in self._homes if home.place.is_alive]
            fitting = (each for each in self._homes if each.fits(implementation, placement))
            home = next(fitting, None)
            if home is None:
                home = _Home(implementation, placement, self._place(placement))
                home.loaded = await self._load(home)
                self._homes.append(home)
            home.seated += 1
            if home.loaded is None:  # a defect: only those that are loaded are listed
                raise RuntimeError(implementation.name)
            return home, home.loaded

    def _place(self, placement: Placement | None) -> Worker:
        if self._is_here:
            return _Here()
        return self._backend.start(ACTORS, _nothing, placement=placement, end_idle=self._end_idle)

    async def end_idle(self) -> None:
        """Ends the processes that have no actor."""
        idle = [home for home in self._homes if not home.seated]
        self._homes = [home for home in self._homes if home.seated]
        await asyncio.gather(*(home.place.close(CLOSE_SECONDS) for home in idle))

    async def _load(self, home: _Home) -> Loaded:
        try:
            answer = await home.place.request(0, Load(home.implementation.target))
        except ProcessLostError as error:
            raise ActorError(str(error)) from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # what pickle raises
            home.place.kill("it was not used")
            raise ActorError(
                f"{home.implementation.name} cannot be sent to a process: {error}; define it in a module"
            ) from error
        except BaseException:
            home.place.kill("it was not used")
            raise
        if not isinstance(answer, Loaded):
            home.place.kill("it was not used")
            raise ActorError(answer.reason if isinstance(answer, Failed) else f"expected Loaded, got {answer!r}")
        return answer

    async def close(self) -> None:
        """Ends all processes."""
        homes, self._homes = self._homes, []
        await asyncio.gather(*(home.place.close(CLOSE_SECONDS) for home in homes))


def _nothing(reason: str) -> None:
    """Those who wait for an answer see that a process is lost."""
