"""The actors of a trial, and what each of them has yet to know."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.actors.contract import ActorInfo, Experience, Text
from rlds_kit.trials.actors.registry import implementation_of
from rlds_kit.trials.actors.requests import Acted, News
from rlds_kit.trials.hosts.actor_source import ActorSource, Seated
from rlds_kit.trials.hosts.trial_setup import ActorConfig, TrialSetup
from rlds_kit.trials.workers.requests import Opened


@dataclass(slots=True)
class _Seat:
    """What an actor is given next.

    Attributes:
      actor: who acts; None: it could not be made.
      reward: of the latest step.
      texts: since the latest step.
      incoming: sent during this step; given with the next one, whoever is faster.
      experience: the latest step.
      amended: steps with new aggregates of rewards.
      coming: aggregates that are new during this step; given with the next one, as messages are.
    """

    actor: Seated | None = None
    reward: float | None = None
    texts: list[Text] = field(default_factory=list)
    incoming: list[Text] = field(default_factory=list)
    experience: Experience | None = None
    amended: dict[int, float] = field(default_factory=dict)
    coming: dict[int, float] = field(default_factory=dict)

    def step_is_done(self) -> None:
        """What came during the step may be given."""
        self.texts, self.incoming = self.texts + self.incoming, []
        self.amended, self.coming = {**self.amended, **self.coming}, {}

    def news(self) -> News:
        """What to learn, and nothing of it twice."""
        found = News(self.experience, tuple(self.amended.items()))
        self.experience, self.amended = None, {}
        return found


class ActorSeats:
    """The actors of a trial.

    Args:
      pool: of actors.
      setup: of the trial.
      trial_id: of the trial.
      seed: of the trial.
      sources: of actors of some implementations, by name; all others are the pool's.
    """

    def __init__(
        self, pool: ActorSource, setup: TrialSetup, trial_id: str, seed: int, sources: Mapping[str, ActorSource]
    ) -> None:
        self._pool, self._setup, self._trial_id, self._seed = pool, setup, trial_id, seed
        self._sources = sources
        self._seats: dict[str, _Seat] = defaultdict(_Seat)
        self._order: Sequence[str] = ()
        self._opened: Opened | None = None

    async def take(self, opened: Opened) -> dict[str, str]:
        """Takes an actor for each seat.

        Returns:
          Why there is none, by seat; a seat that is not in it has its actor.
        """
        self._opened, self._order = opened, opened.seats
        wanted = {name: actor for name in opened.seats if (actor := self._setup.actor(name)) is not None}
        taken = await asyncio.gather(*(self.made(*each) for each in wanted.items()), return_exceptions=True)
        failed = {}
        for name, each in zip(wanted, taken, strict=True):
            if isinstance(each, ActorError):
                failed[name] = str(each)
            elif isinstance(each, BaseException):
                raise each
            else:
                self._seats[name].actor = each
        return failed

    async def made(self, seat: str, actor: ActorConfig) -> Seated:
        """A new actor for a seat, which it does not have yet.

        Raises:
          ActorError: it cannot be made, or there is no such seat.
        """
        if self._opened is None or seat not in self._opened.seats:
            raise ActorError(f"there is no seat {seat!r}; there are {', '.join(self._order)}")
        info = ActorInfo(
            trial=self._trial_id,
            seat=seat,
            actor_class=self._opened.classes[seat],
            seed=_seed_of(self._seed, self._order.index(seat)),
            config=actor.config,
            properties=self._setup.properties,
        )
        implementation = implementation_of(actor.implementation)
        return await self._sources.get(implementation.name, self._pool).take(implementation, info, actor.placement)

    async def put(self, seat: str, actor: Seated) -> None:
        """Puts an actor in a seat; the trial of the one before is over."""
        before, self._seats[seat].actor = self._seats[seat].actor, actor
        self._seats[seat].experience = None
        if before is not None:
            await before.end(News(), self._setup.end_seconds)

    def named(self) -> dict[str, dict[str, str]]:
        """What is recorded of the actors, by seat."""
        return {
            name: {"implementation": each.actor.implementation, "version": each.actor.version}
            for name, each in self._seats.items()
            if each.actor is not None
        }

    async def act(self, seat: str, observation: Any) -> Acted:
        """Has the actor of a seat choose an action.

        Raises:
          ActorError: it did not.
        """
        each = self._seats[seat]
        if each.actor is None:
            raise ActorError("there is no actor")
        texts, each.texts = sorted(each.texts, key=lambda text: self._order.index(text.sender)), []
        try:
            return await each.actor.act(observation, each.reward, tuple(texts), each.news())
        except ActorError:
            raise
        except Exception as error:  # a value that cannot be sent to another process
            raise ActorError(f"{type(error).__name__}: {error}") from error

    def deliver(self, sender: str, to: Sequence[str], content: str) -> None:
        """Gives a message to seats, with their request after this step."""
        for name in to:
            self._seats[name].incoming.append(Text(sender, content))

    def amend(self, seat: str, step: int, value: float) -> None:
        """Gives a new aggregate of rewards to the actor of a seat, with its request after this step."""
        each = self._seats[seat]
        if each.actor is not None and each.actor.is_amended:
            each.coming[step] = value

    def stepped(self, rewards: Mapping[str, float | None], experiences: Mapping[str, Experience]) -> None:
        """Gives all seats what a step brought."""
        for name, each in self._seats.items():
            each.reward = rewards.get(name)
            each.step_is_done()
            if each.actor is not None and each.actor.learns:
                each.experience = experiences.get(name)

    async def end(self) -> dict[str, str]:
        """Ends the trial of all actors; returns what failed, by seat."""
        seated = {name: each for name, each in self._seats.items() if each.actor is not None}
        failures = await asyncio.gather(*(self._end(each) for each in seated.values()))
        return {name: reason for name, reason in zip(seated, failures, strict=True) if reason}

    async def _end(self, each: _Seat) -> str:
        actor, each.actor = each.actor, None
        each.step_is_done()
        return "" if actor is None else await actor.end(each.news(), self._setup.end_seconds)


def _seed_of(seed: int, number: int) -> int:
    """A seed of its own for each seat.

    >>> _seed_of(7, 0) != _seed_of(7, 1)
    True
    """
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
