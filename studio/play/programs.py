"""The programs of an episode that people play: actors that act from seats of their own, or for people who are away."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.trials import Driver, events
from rlds_kit.trials.actors.actor_pool import ActorError, ActorPool
from rlds_kit.trials.actors.contract import Experience, Judgement
from rlds_kit.trials.actors.requests import Acted
from rlds_kit.trials.engine.messages import StepEnvironment
from rlds_kit.trials.hosts.actor_seats import ActorSeats
from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup
from rlds_kit.trials.workers.requests import Begun, Opened, Stepped

log = logging.getLogger(__name__)
END_SECONDS: Final = 5.0
"""For an actor when its episode is over; then it is killed."""


class Programs:
    """Has actors answer what the engine requests of them.

    Args:
      pool: of actors.
      setup: which actors, by seat.
      handle: takes an event; returns why it was refused, or None.
      now: the time that events have.

    Attributes:
      failed: why a seat has no actor, by seat.
    """

    def __init__(
        self,
        pool: ActorPool,
        setup: TrialSetup,
        handle: Callable[[events.Event], str | None],
        now: Callable[[], int],
    ) -> None:
        self._pool, self._setup, self._handle, self._now = pool, setup, handle, now
        self._seats: ActorSeats | None = None
        self._wanted: dict[str, int] = {}
        self._acting: dict[str, asyncio.Task[None]] = {}
        self._observations: Mapping[str, Any] = {}
        self._clocks: dict[str, dict[str, int]] = {}
        self._began_ns = now()
        self.failed: Mapping[str, str] = {}

    async def take(self, opened: Opened, episode: str, seed: int) -> None:
        """Takes an actor for each seat that has one; those of people are ready before they are needed."""
        await self.end()
        self._began_ns, self._clocks, self._observations = self._now(), {}, {}
        self._seats = ActorSeats(self._pool, self._setup, episode, seed, {})
        self.failed = await self._seats.take(opened)
        for seat, reason in self.failed.items():
            log.warning("%s: the actor of seat %s cannot begin: %s", episode, seat, reason)

    @property
    def named(self) -> Mapping[str, Mapping[str, str]]:
        """Implementation and version of each actor that is there, by seat."""
        return {} if self._seats is None else self._seats.named()

    def begun(self, begun: Begun) -> None:
        """The environment was reset."""
        self._observations = begun.observations

    def request(self, seat: str, step: int) -> None:
        """Requests an action; while the actor still thinks about an older request, the newer one follows it."""
        self._wanted[seat] = step
        if seat not in self._acting:
            task = self._acting[seat] = asyncio.create_task(self._act(seat))
            task.add_done_callback(lambda done: self._acted(seat, done))

    async def _act(self, seat: str) -> None:
        while seat in self._wanted and self._seats is not None:
            step, requested = self._wanted.pop(seat), self._now()
            try:
                acted = await self._seats.act(seat, self._observations.get(seat))
            except ActorError as error:
                self._handle(events.ActorFailed(self._now(), seat, str(error), step, is_lost=error.is_lost))
                continue
            self._clocks[seat] = {
                "requested_ns": requested - self._began_ns,
                "answered_ns": self._now() - self._began_ns,
            }
            self._send(seat, acted)
            self._handle(events.ActionGiven(self._now(), seat, acted.action, step))

    def _acted(self, seat: str, done: "asyncio.Task[None]") -> None:
        self._acting.pop(seat, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("seat %s", seat, exc_info=error)
            self._handle(events.Stop(self._now(), f"{seat}: {type(error).__name__}: {error}"))

    def _send(self, seat: str, acted: Acted) -> None:
        """Gives what an actor sends with its action; what is refused is logged."""
        for to, content in acted.messages:
            self._log(seat, self._handle(events.MessageSent(self._now(), seat, content, (to,))))
        for each in acted.rewards:
            self._log(seat, self._handle(_given(self._now(), seat, each)))

    def _log(self, seat: str, refused: str | None) -> None:
        if refused is not None:
            log.warning("seat %s: %s", seat, refused)

    def facts_of(self, step: StepEnvironment) -> dict[str, Mapping[str, str]]:
        """Implementation and version, by seat, of the actors that act in a step."""
        named = self.named
        return {seat: named[seat] for seat, each in step.facts.items() if each.driver is Driver.ACTOR and seat in named}

    def clocks(self) -> Mapping[str, Any]:
        """When the actors of this step were requested, and answered."""
        clocks, self._clocks = self._clocks, {}
        return clocks

    def deliver(self, sender: str, to: tuple[str, ...], content: str) -> None:
        """Gives a message to the actors of seats."""
        if self._seats is not None:
            self._seats.deliver(sender, to, content)

    def amend(self, seat: str, step: int, value: float) -> None:
        """Gives a new aggregate of rewards to the actor of a seat."""
        if self._seats is not None:
            self._seats.amend(seat, step, value)

    def stepped(self, done: Stepped, step: StepEnvironment | None) -> None:
        """Gives the actors what a step brought; those whose agents are gone act no more."""
        before, self._observations = self._observations, done.observations
        if self._seats is None or step is None:
            return
        flags = done.terminated, done.truncated
        experiences = {
            seat: Experience(
                seen,
                step.actions.get(seat),
                done.rewards.get(seat),
                done.observations.get(seat),
                *flags,
                step.facts[seat].is_default,
            )
            for seat, seen in before.items()
        }
        self._seats.stepped(done.rewards, experiences)

    async def end(self) -> None:
        """Ends the episode of all actors."""
        self._wanted = {}
        await cancel_and_wait(*self._acting.values())
        seats, self._seats = self._seats, None
        if seats is not None:
            for seat, reason in (await seats.end()).items():
                log.warning("seat %s: %s", seat, reason)


def setup_of(environment: Any, actors: Mapping[str, ActorConfig], properties: Mapping[str, Any]) -> TrialSetup:
    """What `ActorSeats` has to know."""
    return TrialSetup(environment=environment, actors=actors, end_seconds=END_SECONDS, properties=properties)


def _given(now_ns: int, seat: str, judgement: Judgement) -> events.RewardGiven:
    to, value, confidence, step, details = judgement
    return events.RewardGiven(now_ns, seat, to, value, confidence, step, details=details)
