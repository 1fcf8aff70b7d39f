"""Seats that wait for programs elsewhere, and the programs that wait for seats."""

import asyncio
from dataclasses import dataclass

from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.actors.contract import ActorInfo
from rlds_kit.trials.actors.registry import Implementation
from rlds_kit.trials.service.remote_seat import RemoteSeat, Send
from rlds_kit.trials.wire.messages import Join
from rlds_kit.trials.workers.placement import Placement


class NoSeatError(LookupError):
    """There is no seat for a program."""


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A seat that waits for a program.

    Attributes:
      info: of the trial.
      found: the program that took it.
    """

    info: ActorInfo
    found: "asyncio.Future[RemoteSeat]"

    def fits(self, join: Join) -> bool:
        """Whether a program wants such a seat."""
        info = self.info
        pairs = (join.trial, info.trial), (join.seat, info.seat), (join.actor_class, info.actor_class.name)
        return not self.found.done() and all(wish in (None, here) for wish, here in pairs)


class RemoteSeats:
    """The source of actors that are programs elsewhere.

    Args:
      join_seconds: how long a trial waits for a program, unless the configuration of the actor has `join_seconds`.
    """

    def __init__(self, join_seconds: float) -> None:
        self._join_seconds = join_seconds
        self._wanted: list[Wanted] = []
        self._news = asyncio.Condition()

    @property
    def waiting(self) -> list[ActorInfo]:
        """Of seats without a program, those that wait longest first."""
        return [each.info for each in self._wanted if not each.found.done()]

    async def take(
        self, implementation: Implementation, info: ActorInfo, placement: Placement | None = None
    ) -> RemoteSeat:
        """Waits for a program.

        Args:
          implementation: "remote".
          info: of the trial.
          placement: is the program's matter.

        Raises:
          ActorError: none came in time.
        """
        del implementation, placement
        wanted = Wanted(info, asyncio.get_running_loop().create_future())
        seconds = info.config.get("join_seconds", self._join_seconds)
        self._wanted.append(wanted)
        try:
            async with self._news:
                self._news.notify_all()
            async with asyncio.timeout(float(seconds)):
                return await wanted.found
        except TimeoutError as error:
            if _is_taken(wanted):  # in this moment
                return wanted.found.result()
            raise ActorError(f"no program took the seat in {seconds:g} seconds") from error
        except asyncio.CancelledError:
            if _is_taken(wanted):
                wanted.found.result().over.set()
            raise
        finally:
            self._wanted.remove(wanted)

    async def join(self, join: Join, name: str, send: Send) -> RemoteSeat:
        """Gives a program a seat.

        Args:
          join: what it wants.
          name: of the program.
          send: sends it a message.

        Raises:
          NoSeatError: there was no such seat in time.
        """
        try:
            async with asyncio.timeout(join.wait_seconds), self._news:
                await self._news.wait_for(lambda: any(each.fits(join) for each in self._wanted))
                return self._seated(join, name, send)
        except TimeoutError as error:
            if any(each.fits(join) for each in self._wanted):  # nothing to wait for
                return self._seated(join, name, send)
            wishes = {"trial": join.trial, "seat": join.seat, "actor_class": join.actor_class}
            named = ", ".join(f"{key} {wish!r}" for key, wish in wishes.items() if wish is not None) or "any"
            raise NoSeatError(f"no seat ({named}) waits for a program; set wait_seconds to wait for one") from error

    def _seated(self, join: Join, name: str, send: Send) -> RemoteSeat:
        wanted = next(each for each in self._wanted if each.fits(join))
        seat = RemoteSeat(wanted.info, name, send)
        wanted.found.set_result(seat)
        return seat

    def cancel(self, trial: str, reason: str) -> bool:
        """Waits for no program of a trial any more; returns whether it had waited."""
        found = [each for each in self._wanted if each.info.trial == trial and not each.found.done()]
        for each in found:
            each.found.set_exception(ActorError(reason))
        return bool(found)


def _is_taken(wanted: Wanted) -> bool:
    found = wanted.found
    return found.done() and not found.cancelled() and found.exception() is None
