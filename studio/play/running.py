"""Runs the episodes of a session: events into the engine, its messages out to the environment and to people."""

import asyncio
import dataclasses
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from rlds_kit.studio.frames.header import NO_FLAGS, Flags
from rlds_kit.studio.frames.picture import Encoded
from rlds_kit.studio.play.clock import SteadyClock
from rlds_kit.studio.play.host import Host, PlayedEpisode, Scene
from rlds_kit.studio.play.judgements import Judgement, Judgements
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.trial_config import play_facts, reward_fields, trial_config
from rlds_kit.studio.workers import requests
from rlds_kit.studio.workers.pool import Environment, EnvironmentLostError, RequestFailedError
from rlds_kit.trials import Driver, Phase, Status, Trial, events, messages
from rlds_kit.trials.config import SECOND

log = logging.getLogger(__name__)
HOST_SECONDS: Final = 2.0
"""That a game waits for its host, which may be slow to note an episode down."""
MOST_FAILURES: Final = 3
"""Of environments in a row; then the session ends."""
MakeEnvironment = Callable[[], Awaitable[Environment]]


class Audience(Protocol):
    """Those who play and look on. None of its methods may take long or raise."""

    look: requests.Look

    def seated(self) -> list[events.SeatTaken]:
        """Who sits where, as an episode begins; times are not looked at."""

    def tell(self, message: messages.Message) -> None:
        """Shows what the engine says."""

    def show(self, picture: Encoded, step: int, flags: Flags) -> None:
        """Shows a picture."""

    def saved(self, episode: PlayedEpisode) -> None:
        """An episode is over and on the disk."""

    def not_judged(self, source: str, reason: str) -> None:
        """Says to whoever gave a reward why it was not recorded."""

    def warn(self, code: str, reason: str) -> None:
        """Says something that went wrong."""

    def facts(self) -> dict[str, Any]:
        """What to record of how it was shown."""


class Running:
    """Plays episode after episode in one environment.

    Args:
      session: which.
      scene: what is played.
      make: makes the environment, again after it was lost.
      host: where outcomes go.
      audience: of the play.
      clock: in nanoseconds.
    """

    def __init__(
        self,
        session: str,
        scene: Scene,
        make: MakeEnvironment,
        host: Host,
        audience: Audience,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._session, self._scene, self._make, self._host, self._audience = session, scene, make, host, audience
        self._now = SteadyClock(clock)
        self._environment: Environment | None = None
        self._work: asyncio.Queue[requests.Request | messages.Finish | None] = asyncio.Queue()
        self._wake_ns: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures, self._is_showing = 0, False
        self._stopped = ""
        self._fps: float | None = None
        self._begun: requests.Begun | None = None
        self._finished: messages.Finish | None = None
        self._started_ns = 0
        self._totals: dict[str, float] = {}
        self._judgements = Judgements(scene.open.directory, audience.tell, self._not_judged)
        self._last_flags, self._loss = NO_FLAGS, ""
        self.number = scene.first - 1
        self.ledger = Ledger(lambda reason: audience.warn("database", f"recorded, but not in the list yet: {reason}"))
        self.opened: requests.Opened

    @property
    def phase(self) -> Phase:
        """Where the episode stands."""
        return self._trial.phase

    @property
    def has_environment(self) -> bool:
        """Whether it holds one; else it was lost, and another one may be on its way."""
        return self._environment is not None

    @property
    def grace_ns(self) -> int:
        """For how long a person whose connection was lost is waited for."""
        return int(self._grace_seconds * SECOND)

    @property
    def is_ending(self) -> bool:
        """Whether the session ends with this episode, which is over."""
        is_left = self._finished is not None and self._finished.status is Status.ABANDONED
        return bool(self._stopped) or (is_left and self._environment is not None)

    @property
    def is_judged_too_fast(self) -> bool:
        """Whether rewards come faster than they can be written."""
        return self._judgements.is_full

    def driver(self, seat: str) -> Driver:
        """Who acts from a seat now."""
        return self._trial.driver(seat)

    @property
    def step(self) -> int:
        """How many were done in this episode."""
        return self._trial.step

    def now(self) -> int:
        """The time that events carry."""
        return self._now()

    async def prepare(self) -> None:
        """Makes the environment and begins the first episode.

        Raises:
          RequestFailedError: it cannot be made.
          EnvironmentLostError: making it crashed.
        """
        await self._make_environment()
        self._begin()

    async def _make_environment(self) -> None:
        environment = await self._make()
        environment.on_lost = self._lost
        self._environment, self.opened = environment, environment.opened

    def _begin(self) -> None:
        self.number += 1
        config = trial_config(self._scene, self.opened, self.number, self._fps)
        self._trial, self._grace_seconds = Trial(config), config.grace_seconds
        self._begun, self._finished, self._totals = None, None, {}
        self.handle(events.Begin(self.now()))
        for taken in self._audience.seated():
            self.handle(dataclasses.replace(taken, time_ns=self.now()))

    def handle(self, event: events.Event) -> str | None:
        """Takes an event and does what the engine wants.

        Returns:
          Why the event was refused; None if it was not.
        """
        told = self._trial.handle(event)
        for message in told:
            if isinstance(message, messages.Refused):
                return message.reason  # the only one
            self._do(message)
        return None

    def _do(self, message: messages.Message) -> None:
        match message:
            case messages.StepEnvironment(_, actions, is_last=is_last):
                look = self._audience.look
                self._work.put_nowait(requests.Step(look, actions, play_facts(message), is_last=is_last))
            case messages.ResetEnvironment(seed, options):
                metadata = {**self._scene.metadata, "session": self._session, "number": self.number}
                self._work.put_nowait(requests.Reset(self._audience.look, seed, options, metadata))
            case messages.WakeAt(time_ns):
                self._wake_ns = time_ns
                self._set_timer()
            case messages.Finish():
                self._finished = message
                self._work.put_nowait(message)
            case messages.Amended():
                self._judgements.add(Judgement(message, self.step))
            case _:
                if isinstance(message, messages.ShowState):
                    self._totals = dict(message.totals)
                self._audience.tell(message)

    def _not_judged(self, message: messages.Amended, reason: str) -> None:
        if isinstance(message.judgement, events.RewardGiven):
            self._audience.not_judged(message.judgement.source, reason)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._wake_ns is not None:
            wait = max(0, self._wake_ns - self.now()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(wait, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.handle(events.Tick(self.now()))
        if not self._is_timed:  # a timer may come a little early
            self._set_timer()

    @property
    def _is_timed(self) -> bool:
        return self._timer is not None

    def show_again(self) -> None:
        """Has the picture made anew, with another camera or quality."""
        if not self._is_showing and self._environment is not None and self._begun is not None:
            self._is_showing = True
            self._work.put_nowait(requests.Show(self._audience.look))

    def keep_rate(self, fps: float) -> None:
        """Begins the next episodes at a rate that people chose."""
        self._fps = fps

    def stop(self, reason: str) -> None:
        """Ends the episode and then the session; `play` returns when it is on the disk."""
        self._stopped = reason
        if self.handle(events.Stop(self.now(), reason)) is not None and self.phase is Phase.ENDED:
            self._work.put_nowait(None)

    async def play(self) -> str:
        """Does the work until the session is over.

        Returns:
          Why it is over.
        """
        try:
            while True:
                asked = await self._work.get()
                if asked is None:
                    return self._stopped
                if isinstance(asked, messages.Finish):
                    await self._finish(asked)
                    over = await self._next(asked)
                    if over is not None:
                        return over
                else:
                    await self._ask(asked)
        finally:
            self._wake_ns = None
            self._set_timer()
            try:
                await self._judgements.close()
            finally:
                if self._environment is not None:
                    self._environment.on_lost = None
                    await self._environment.close()

    async def _ask(self, request: requests.Request) -> None:
        if self._environment is None:
            return
        try:
            answer = await self._environment.ask(request)
        except EnvironmentLostError as error:
            self._lost(str(error))
            return
        except RequestFailedError as error:
            self._is_showing = False
            self._audience.warn("picture", self._public(str(error)))
            return
        match answer:
            case requests.Stepped(step, rewards, terminated, truncated, picture):
                flags = (Flags.TERMINATED if terminated else NO_FLAGS) | (Flags.TRUNCATED if truncated else NO_FLAGS)
                event = events.EnvironmentStepped(self.now(), step, rewards, terminated, truncated)
                self.handle(event)
                self._see(picture, step, flags)
            case requests.Begun():
                await self._has_begun(answer)
            case Encoded():
                self._is_showing = False
                self._see(answer, self.step, self._last_flags)
                if request != requests.Show(self._audience.look):
                    self.show_again()  # it was changed meanwhile

    def _see(self, picture: Encoded, step: int, flags: Flags) -> None:
        self._last_flags = flags
        self._audience.show(picture, step, flags)

    async def _has_begun(self, begun: requests.Begun) -> None:
        self._begun, self._started_ns = begun, time.time_ns()
        if begun.episode_id:
            self._judgements.begin(uuid.UUID(begun.episode_id), self._sync, reward_fields(self.opened))
        number = self.number
        self.ledger.note(lambda: self._host.begun(self._session, number, begun.episode_id, begun.seed))
        await self.ledger.settle(HOST_SECONDS)
        self._see(begun.picture, 0, Flags.FIRST)
        self.handle(events.EnvironmentReady(self.now()))

    async def _sync(self) -> None:
        if self._environment is None:
            raise EnvironmentLostError(self._loss)
        await self._environment.ask(requests.Sync())

    def _lost(self, reason: str) -> None:
        if self._environment is None:
            return
        self._environment, self._is_showing = None, False
        self._failures, self._loss = self._failures + 1, reason
        shown = self._public(reason)
        self._audience.warn("environment", shown)
        self.handle(events.EnvironmentFailed(self.now(), shown))

    def _public(self, error: str) -> str:
        """What people see of an error of the environment, which is logged."""
        log.warning("session %s: %s", self._session, error)
        return self._scene.public(error)

    async def _finish(self, finish: messages.Finish) -> None:
        await self._judgements.settle()
        facts = {**finish.facts, "frames": self._audience.facts()}
        ended_ns = time.time_ns()
        if self._environment is not None and self._begun is not None:
            known = {
                "status": finish.status.value,
                "reason": finish.reason,
                "totals": self._totals,
                "started_ns": self._started_ns,
                "ended_ns": ended_ns,
            }
            await self._ask(requests.Finish({**known, **facts}, is_kept=finish.is_kept))
        if self._begun is None:
            return  # it never began
        is_whole = self._environment is not None
        episode = PlayedEpisode(
            session=self._session,
            number=self.number,
            episode_id=self._begun.episode_id,
            seed=self._begun.seed,
            status=finish.status if is_whole else Status.ABANDONED,
            reason=finish.reason if is_whole else self._loss,
            steps=finish.steps,
            totals=self._totals,
            started_ns=self._started_ns,
            ended_ns=ended_ns,
            is_kept=finish.is_kept,
            is_whole=is_whole,
            facts=facts,
        )
        if not episode.is_whole:
            reason = self._scene.public(episode.reason)
            self._audience.warn("interrupted", f"episode {self.number} was interrupted: {reason}")
        self.ledger.note(lambda: self._host.finished(episode), lambda: self._has_noted(episode))
        await self.ledger.settle(HOST_SECONDS)

    def _has_noted(self, episode: PlayedEpisode) -> None:
        if episode.is_whole:
            self._audience.saved(episode)

    async def _next(self, finish: messages.Finish) -> str | None:
        """Makes the next episode ready; returns why not, if the session is over."""
        if self._stopped:
            return self._stopped
        if self._environment is not None:
            self._failures = 0
            if finish.status is Status.ABANDONED:
                return finish.reason
        elif self._failures >= MOST_FAILURES:
            return f"the environment failed {self._failures} times: {finish.reason}"
        else:
            try:
                await self._make_environment()
            except (RequestFailedError, EnvironmentLostError) as error:
                return self._public(str(error))
        self._begin()
        return None
