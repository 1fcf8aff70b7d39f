"""One trial while it runs: messages between the engine, its environment and its actors."""

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Callable
from typing import Any, Final

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.actors.contract import Experience, Judgement
from rlds_kit.trials.actors.requests import Acted, News
from rlds_kit.trials.engine import events, messages
from rlds_kit.trials.engine.config import TrialConfig
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Driver
from rlds_kit.trials.engine.trial import Trial
from rlds_kit.trials.hosts import judgements
from rlds_kit.trials.hosts.actor_seats import ActorSeats
from rlds_kit.trials.hosts.clock import SteadyClock, WakeTimer
from rlds_kit.trials.hosts.observer import Observer
from rlds_kit.trials.hosts.play_facts import play_facts
from rlds_kit.trials.hosts.played_environment import PlayedEnvironment
from rlds_kit.trials.hosts.reward_fields import reward_fields
from rlds_kit.trials.hosts.trial_setup import ActorConfig
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import EnvironmentLostError

log = logging.getLogger(__name__)
BLIND: Final = requests.View(quality=None)


class HostedTrial:
    """A trial that runs.

    Args:
      config: of the engine.
      environment: that was opened.
      seats: the actors.
      layer: for rewards; None: nothing is recorded.
      changed: called when the phase or the step is another one.
      amended: called with every reward that is recorded, and what it makes of the step.
      observer: gets what is measured.

    Attributes:
      trial: the engine.
      finish: how it ended; None: it has not.
      episode_id: in the recording; "" if there is none.
      observations: the latest ones, by seat.
      phase: that was shown last.
      step: that was shown last.
      totals: sums of rewards by seat.
      is_environment_lost: whether the environment can be used no more.
    """

    def __init__(
        self,
        config: TrialConfig,
        environment: PlayedEnvironment,
        seats: ActorSeats,
        *,
        layer: judgements.LayerFile | None,
        changed: Callable[[], None],
        amended: Callable[[messages.Amended], None],
        observer: Observer,
    ) -> None:
        self.trial, self.episode_id = Trial(config), ""
        self.finish: messages.Finish | None = None
        self.observations: dict[str, Any] = {}
        self.phase, self.step = Phase.INITIALIZING, 0
        self.totals: dict[str, float] = {}
        self.is_environment_lost = False
        self._config, self._environment, self._seats = config, environment, seats
        self._changed, self._amended, self._observer = changed, amended, observer
        self._order = environment.opened.seats
        self.now = SteadyClock()
        self._began_ns = self._ticked_ns = self.now()
        self._timer = WakeTimer(self.now, lambda: self.handle(events.Tick(self.now())))
        self._work: asyncio.Queue[requests.Request | messages.Finish] = asyncio.Queue()
        self._doing: messages.StepEnvironment | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._clocks: dict[str, dict[str, int]] = {}
        self._confirming: dict[int, asyncio.Future[float]] = {}
        self._judgements = judgements.Judgements(layer, self._confirmed, self._not_recorded)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return (self.now() - self._began_ns) / 1e9

    async def run(self, metadata: dict[str, Any]) -> None:
        """Runs the trial to its end; the recording is on the disk then."""
        self._metadata = metadata
        self._environment.on_lost = self._lost
        try:
            self.handle(events.Begin(self.now()))
            while not isinstance(task := await self._work.get(), messages.Finish):
                await self._request(task)
            await self._finish(task)
        finally:
            self._environment.on_lost = None
            self._timer.set(None)
            await cancel_and_wait(*self._asking.values())

    def _lost(self, reason: str) -> None:
        self.is_environment_lost = True
        self.handle(events.EnvironmentFailed(self.now(), reason))

    def handle(self, event: events.Event) -> str | None:
        """Handles an event; returns why it was refused, or None."""
        for message in self.trial.handle(event):
            if isinstance(message, messages.Refused):
                return message.reason  # the only one
            self._execute(message)
        return None

    def _execute(self, message: messages.Message) -> None:
        match message:
            case messages.RequestAction(seat, step):
                self._ask(seat, step)
            case messages.StepEnvironment():
                self._work.put_nowait(self._step(message))
            case messages.ResetEnvironment(seed, options):
                self._work.put_nowait(requests.Reset(BLIND, seed, options, self._metadata))
            case messages.WakeAt(time_ns):
                self._timer.set(time_ns)
            case messages.DeliverText(sender, to, content):
                self._seats.deliver(sender, to, content)
            case messages.Amended(judgement, step, aggregate):
                self._judgements.add(judgements.Judgement(message, self.trial.step))
                if isinstance(judgement, events.RewardGiven):
                    self._seats.amend(judgement.seat, step, aggregate)
            case messages.ShowState():
                self.phase, self.step, self.totals = message.phase, message.step, dict(message.totals)
                self._changed()
            case messages.Finish():
                self.finish = message
                self._work.put_nowait(message)

    def _step(self, step: messages.StepEnvironment) -> requests.Step:
        """The request of a step; messages of one step are in the order of seats, whoever was faster."""
        texts = tuple(sorted(step.texts, key=lambda text: self._order.index(text.sender)))
        self._doing = dataclasses.replace(step, texts=texts)
        named = {name: about for name, about in self._seats.named().items() if step.facts[name].driver is Driver.ACTOR}
        clocks, self._clocks = self._clocks, {}
        facts = play_facts(self._doing, named)
        return requests.Step(BLIND, step.actions, facts, is_last=step.is_last, clocks=clocks)

    async def _request(self, request: requests.Request) -> None:
        try:
            answer = await self._environment.request(request)
        except EnvironmentLostError as error:
            self._lost(str(error))  # refused if it was called before
            return
        match answer:
            case requests.Begun():
                self._ticked_ns = self.now()
                self.episode_id, self.observations = answer.episode_id, dict(answer.observations)
                if answer.episode_id:
                    number, opened = uuid.UUID(answer.episode_id), self._environment.opened
                    self._judgements.begin(number, self._sync, reward_fields(opened))
                self.handle(events.EnvironmentReady(self.now()))
            case requests.Stepped():
                self._stepped(answer)

    def _stepped(self, done: requests.Stepped) -> None:
        before, self.observations = self.observations, dict(done.observations)
        doing, self._doing = self._doing, None
        if doing is None:  # a defect: nothing else requests steps
            raise RuntimeError("the environment did a step that was not requested")
        before_ns, self._ticked_ns = self._ticked_ns, self.now()
        self._observer.ticked((self._ticked_ns - before_ns) / 1e9)
        flags = done.terminated, done.truncated
        self._seats.stepped(
            done.rewards,
            {
                name: Experience(
                    seen,
                    doing.actions.get(name),
                    done.rewards.get(name),
                    done.observations.get(name),
                    *flags,
                    doing.facts[name].is_default,
                )
                for name, seen in before.items()
            },
        )
        for name in done.gone:
            if self.trial.driver(name) is Driver.ACTOR:
                self.handle(events.DriverChanged(self.now(), name, Driver.NOBODY))
        self.handle(events.EnvironmentStepped(self.now(), done.step, done.rewards, *flags))

    def _ask(self, seat: str, step: int) -> None:
        """Requests an action, unless the request is under way already."""
        if seat not in self._asking:
            task = self._asking[seat] = asyncio.create_task(self._answer(seat, step))
            task.add_done_callback(lambda done: self._asked(seat, done))

    def _asked(self, seat: str, done: "asyncio.Task[None]") -> None:
        if self._asking.get(seat) is done:
            del self._asking[seat]
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("seat %s", seat, exc_info=error)
            self.handle(events.Stop(self.now(), f"{seat}: {type(error).__name__}: {error}"))

    async def _answer(self, seat: str, step: int) -> None:
        requested = self.now()
        try:
            acted = await self._seats.act(seat, self.observations.get(seat))
        except ActorError as error:
            del self._asking[seat]
            self.handle(events.ActorFailed(self.now(), seat, str(error), step, is_lost=error.is_lost))
            return
        del self._asking[seat]
        answered = self.now()
        self._clocks[seat] = {
            "requested_ns": requested - self._began_ns,
            "answered_ns": answered - self._began_ns,
        }
        self._observer.answered((answered - requested) / 1e9)
        self._say(seat, acted)
        self.handle(events.ActionGiven(answered, seat, acted.action, step))

    def _say(self, seat: str, acted: Acted) -> None:
        """Takes what an actor sends with its action; what is refused is logged."""
        for to, content in acted.messages:
            self._log_refused(seat, self.handle(events.MessageSent(self.now(), seat, content, (to,))))
        for each in acted.rewards:
            self._log_refused(seat, self.judge(seat, each))

    def _log_refused(self, seat: str, reason: str | None) -> None:
        if reason is not None:
            log.warning("seat %s: %s", seat, reason)

    def judge(self, source: str, judgement: Judgement) -> str | None:
        """Takes a reward; returns why it was refused, or None."""
        return self.handle(self._given(source, judgement))

    def _given(self, source: str, judgement: Judgement) -> events.RewardGiven:
        to, value, confidence, step, details = judgement
        return events.RewardGiven(self.now(), source, to, value, confidence, step, details=details)

    async def reward(self, source: str, judgement: Judgement) -> dict[str, float]:
        """Takes a reward; returns when it is on the disk.

        Returns:
          By seat, the aggregate of rewards of the step.

        Raises:
          ValueError: it was refused.
          OSError: it could not be written.
        """
        if self._judgements.is_full:
            await self._judgements.settle()
        done = self.trial.handle(self._given(source, judgement))
        refused = next((each.reason for each in done if isinstance(each, messages.Refused)), None)
        if refused is not None:
            raise ValueError(refused)
        found: dict[str, asyncio.Future[float]] = {}
        for message in done:
            if isinstance(message, messages.Amended) and isinstance(message.judgement, events.RewardGiven):
                future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
                found[message.judgement.seat] = self._confirming[id(message)] = future
            self._execute(message)
        return {seat: await future for seat, future in found.items()}

    def _confirmed(self, amended: messages.Amended) -> None:
        """A reward is on the disk."""
        future = self._confirming.pop(id(amended), None)
        if future is not None and not future.done():
            future.set_result(amended.aggregate)
        self._amended(amended)

    def _not_recorded(self, amended: messages.Amended, reason: str) -> None:
        future = self._confirming.pop(id(amended), None)
        if future is not None and not future.done():
            future.set_exception(OSError(reason))
        else:
            log.error("%s", reason)

    async def swap(self, seat: str, actor: ActorConfig) -> None:
        """Has another actor act from a seat from the next action on, also where the one before is lost.

        Raises:
          ActorError: the actor cannot be made, or there is no such seat; nothing changed.
          ValueError: the trial is over.
        """
        new = await self._seats.made(seat, actor)
        pending = self._asking.pop(seat, None)
        if pending is not None:
            await cancel_and_wait(pending)
        if self.is_over:  # perhaps since a moment ago: nothing else would end the new one
            await new.end(News(), 0.0)
            raise ValueError("the trial is over")
        await self._seats.put(seat, new)
        if self.trial.driver(seat) is not Driver.ACTOR:
            self.handle(events.DriverChanged(self.now(), seat, Driver.ACTOR))
        elif pending is not None:
            self._ask(seat, self.trial.step)

    async def _sync(self) -> None:
        await self._environment.request(requests.Sync())

    async def _finish(self, finish: messages.Finish) -> None:
        await self._judgements.settle()
        metadata = {
            "status": finish.status.value,
            "reason": finish.reason,
            "totals": dict(finish.totals),
            **finish.facts,
        }
        await self._request(requests.Finish(metadata, is_kept=finish.is_kept))
        if not finish.is_kept:
            self.episode_id = ""
        self._judgements.is_over()

    async def settle(self) -> None:
        """Returns when all rewards are on the disk."""
        await self._judgements.settle()

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.trial.phase is Phase.ENDED

    @property
    def status(self) -> Status | None:
        """What became of it; None: it runs."""
        return None if self.finish is None else self.finish.status
