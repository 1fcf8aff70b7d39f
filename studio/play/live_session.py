"""A session that is played: episode after episode in one environment, before an audience."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from rlds_kit.studio.play import to_browser, window
from rlds_kit.studio.play.ahead import Ahead
from rlds_kit.studio.play.attendees import Attendees
from rlds_kit.studio.play.audience import Audience
from rlds_kit.studio.play.council import Council
from rlds_kit.studio.play.frame_header import NO_FLAGS, Flags
from rlds_kit.studio.play.host import Host, Scene
from rlds_kit.studio.play.idle_seats import IdleSeats
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.live_environment import LiveEnvironment, MakeEnvironment
from rlds_kit.studio.play.live_episode import LiveEpisode
from rlds_kit.studio.play.programs import Programs, setup_of
from rlds_kit.studio.play.records import Records, final_metadata, played_episode
from rlds_kit.studio.play.trial_config import trial_config, without_failed
from rlds_kit.studio.play.welcome import welcome
from rlds_kit.studio.play.window import Window
from rlds_kit.trials import Driver, Phase, Status, Trial, Turn, events, messages
from rlds_kit.trials.actors.actor_pool import ActorPool
from rlds_kit.trials.engine.config import SECOND
from rlds_kit.trials.frames.picture import Encoded
from rlds_kit.trials.hosts.clock import SteadyClock, WakeTimer
from rlds_kit.trials.hosts.judgements import Judgement
from rlds_kit.trials.hosts.play_facts import play_facts
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError

log = logging.getLogger(__name__)
MOST_FAILURES: Final = 3
"""Of environments in a row; then the session ends."""
_DESERTED: Final = "everybody left"


class LiveSession:
    """A session that is played.

    Args:
      session: its id.
      scene: what is played.
      make: makes the environment, and makes it again after it was lost.
      host: where outcomes are stored.
      actors: for seats of programs.
      clock: in nanoseconds.

    Attributes:
      now: the time that events have.
      audience: the windows of the session.
      episode: that is played, once `prepare` has returned.
      view: how everybody sees the environment.
      fps: steps a second that people chose for further episodes; None: they did not.
      council: counts what people decide together.
      idle: seats where nothing was pressed for long.
    """

    episode: LiveEpisode

    def __init__(
        self,
        session: str,
        scene: Scene,
        make: MakeEnvironment,
        host: Host,
        actors: ActorPool,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._id, self.scene = session, scene
        self.now, self.audience = SteadyClock(clock), Audience()
        self.view = requests.View(quality=scene.quality)
        self.fps: float | None = None
        self._environment = LiveEnvironment(make, self._lost)
        self._ahead = Ahead(scene, self._environment, self.audience)
        self._records = Records(session, scene, host, self.audience)
        self._work: asyncio.Queue[requests.Request | messages.Finish | None] = asyncio.Queue()
        self.council = Council(scene.rules, self.audience.broadcast)
        self.idle = IdleSeats(scene.idle)
        setup = setup_of(scene.open.environment, scene.actors, scene.metadata)
        self._programs = Programs(actors, setup, self.handle, self.now)
        self._attendees = Attendees(scene, self._programs, self.audience.broadcast, self._records.present)
        self._doing: messages.StepEnvironment | None = None
        self._timer = WakeTimer(self.now, lambda: self.handle(events.Tick(self.now())))
        self._is_drawing, self._flags = False, NO_FLAGS
        self._stop_reason, self._end_reason = "", ""
        self._left_ns = self.now()

    async def prepare(self) -> None:
        """Makes the environment and begins the first episode.

        Raises:
          RequestFailedError: it cannot be made.
          EnvironmentLostError: making it crashed.
        """
        await self._environment.make()
        await self._begin(self.scene.first)
        self._left_ns = self.now()  # people who waited for this enter now

    async def run(self) -> str:
        """Plays until the session is over; returns the reason."""
        try:
            while (task := await self._next_task()) is not None:
                if not isinstance(task, messages.Finish):
                    await self._request(task)
                    continue
                await self._finish(task)
                reason = await self._next(task)
                if reason is not None:
                    return reason
            return self._stop_reason
        finally:
            self._timer.set(None)
            self._attendees.all_go()
            await self._programs.end()
            try:
                await self._records.judgements.close()
            finally:
                await self._environment.close()

    async def _next_task(self) -> requests.Request | messages.Finish | None:
        """What to do next; while there is nothing, pictures of possible next steps are drawn."""
        while self._work.empty() and self._ahead.is_due:
            await self._ahead.draw(self.view)
        return await self._work.get()

    async def end(self, reason: str) -> Ledger:
        """Notifies the host and all windows; returns the ledger, which may still have notes for the host."""
        self._end_reason = reason
        await self._records.ended(reason)
        for each in self.audience.windows.values():
            each.dismiss(reason)
        return self._records.ledger

    def stop(self, reason: str) -> None:
        """Ends the episode and then the session; `run` returns when it is on the disk."""
        self._stop_reason = reason
        if self.handle(events.Stop(self.now(), reason)) is not None and self.phase is Phase.ENDED:
            self._work.put_nowait(None)

    @property
    def phase(self) -> Phase:
        """Of the episode."""
        return self.episode.trial.phase

    @property
    def opened(self) -> requests.Opened:
        """What is known of the environment."""
        return self._environment.opened

    @property
    def is_ending(self) -> bool:
        """Whether the session ends with this episode, which is over."""
        return bool(self._stop_reason) or (self.episode.is_abandoned and not self._environment.is_lost)

    @property
    def is_left(self) -> bool:
        """Whether it has an environment, but no window for longer than a lost connection is waited for."""
        if self.audience.windows or self.is_ending or self._environment.is_lost:
            return False
        return self.now() - self._left_ns >= int(self.episode.config.grace_seconds * SECOND)

    @property
    def is_judged_too_fast(self) -> bool:
        """Whether rewards come faster than they can be written."""
        return self._records.judgements.is_full

    def enter(self, entering: Window) -> None:
        """Adds a window: a new one, or one whose connection was lost."""
        if self._end_reason:
            entering.dismiss(self._end_reason)
            return
        fps = None if self.audience.state is None else self.audience.state.fps
        first = welcome(self._id, self.scene, self.opened, self.view, entering.seat, fps)
        entering.send(replace(first, saved=tuple(self.audience.over)))
        self.audience.windows[entering.name] = entering
        if entering.seat is not None and self.phase is not Phase.ENDED:
            refusal = self._seat(entering.seat, entering)
            if refusal is not None:
                entering.send(to_browser.Error("seat", refusal))
                entering.close(window.NOT_ADMITTED, "the seat is taken")
                del self.audience.windows[entering.name]
                return
        self.audience.catch_up(entering, self.now())
        self._attendees.come(entering)
        self._show_company()

    def _seat(self, seat: str, each: Window) -> str | None:
        self.idle.pressed(seat, self.now())
        self.idle.handed_over.discard(seat)
        return self.handle(events.SeatTaken(self.now(), seat, each.admission.holder, each.name))

    @property
    def seats_here(self) -> frozenset[str]:
        """Seats whose people are connected."""
        return frozenset(seat for seat, _ in self.audience.players())

    def _show_company(self) -> None:
        """Sends who is in which seat, if that is new."""
        self._attendees.show({seat: self.episode.trial.driver(seat) for seat in self.opened.seats})

    def leave(self, leaving: Window, *, is_lost: bool) -> None:
        """Removes a window."""
        self._left_ns = self.now()
        self._attendees.close(leaving)
        if self.audience.windows.pop(leaving.name, None) is not None and leaving.seat is not None:
            self._attendees.go(leaving.seat, is_lost=is_lost, is_last=not self.seats_here)
            self.handle(events.SeatLeft(self.now(), leaving.seat, leaving.name, is_lost))
            self._show_company()
            decided = self.council.count(self.seats_here)
            if decided is not None:
                self.handle(decided)

    def set_view(self, view: requests.View) -> None:
        """Changes how everybody sees the environment."""
        self.view = view
        self.audience.broadcast(to_browser.View(view.quality or self.scene.quality, view.camera))
        self._draw()
        self._ahead.again(view)

    def handle(self, event: events.Event) -> str | None:
        """Handles an event and executes the messages of the engine; returns why it was refused, or None."""
        for message in self.episode.trial.handle(event):
            if isinstance(message, messages.Refused):
                return message.reason  # the only one
            self._execute(message)
        return None

    def _execute(self, message: messages.Message) -> None:
        match message:
            case messages.StepEnvironment():
                self._work.put_nowait(self._step(message))
            case messages.RequestAction(seat, step):
                self._programs.request(seat, step)
            case messages.ResetEnvironment(seed, options):
                metadata = {**self.scene.metadata, "session": self._id, "number": self.episode.number}
                metadata["participants"] = self._attendees.recorded(self.opened.seats)
                self._work.put_nowait(requests.Reset(self.view, seed, options, metadata))
            case messages.WakeAt(time_ns):
                self._timer.set(time_ns)
            case messages.Finish():
                self.episode.finish = message
                self._work.put_nowait(message)
            case messages.Amended(judgement, step, aggregate):
                self._records.judgements.add(Judgement(message, self.episode.trial.step))
                if isinstance(judgement, events.RewardGiven):
                    self._programs.amend(judgement.seat, step, aggregate)
            case messages.ShowState():
                self._show_state(message)
            case messages.ShowDriver(seat, driver):
                self.audience.notify(message)
                self._attendees.drive(seat, driver)
                self._show_company()
            case messages.DeliverText(sender, to, content):
                self._programs.deliver(sender, to, content)
                self.audience.notify(message)
            case _:
                self.audience.notify(message)

    def _step(self, step: messages.StepEnvironment) -> requests.Step:
        self._doing = step
        self._ahead.end()
        facts = play_facts(step, self._programs.facts_of(step))
        clocks = {**self._programs.clocks(), **self.audience.clocks(step, self.episode.number)}
        return requests.Step(self.view, step.actions, facts, is_last=step.is_last, clocks=clocks)

    def _show_state(self, message: messages.ShowState) -> None:
        before = self.audience.state
        self.audience.show_state(to_browser.state(message, self.episode.number, self.now()))
        if before is None or before.phase is not message.phase:
            self.council.clear()
            if message.phase is Phase.RUNNING:
                self.idle.begin(self.now())

    def _hand_over_idle(self) -> None:
        """Has programs act for people who press nothing; their next key takes the seat back."""
        if self.phase is not Phase.RUNNING or self.scene.turn is not Turn.CLOCK:
            return
        for seat in self.idle.due(self.now(), self.seats_here):
            fallback = self.scene.fallbacks.get(seat)
            if fallback is not None and self.episode.trial.driver(seat) is Driver.HUMAN:
                self.idle.handed_over.add(seat)
                self.handle(events.DriverChanged(self.now(), seat, fallback))

    def take_back(self, seat: str) -> None:
        """A person who pressed nothing for long does again."""
        if seat in self.idle.handed_over:
            self.idle.handed_over.discard(seat)
            self.idle.pressed(seat, self.now())
            self.handle(events.DriverChanged(self.now(), seat, Driver.HUMAN))

    def _draw(self) -> None:
        """Requests the picture of now, unless one is on its way."""
        if not self._is_drawing and not self._environment.is_lost and self.episode.begun is not None:
            self._is_drawing = True
            self._work.put_nowait(requests.Show(self.view))

    async def _request(self, request: requests.Request) -> None:
        try:
            answer = await self._environment.request(request)
        except EnvironmentLostError:
            return  # `_lost` was called
        except RequestFailedError as error:
            self._is_drawing = False
            self.audience.broadcast(to_browser.Notice("picture", self._public(str(error))))
            return
        match answer:
            case requests.Stepped(step, rewards, terminated, truncated, picture, own=own):
                doing = self._doing  # what follows may begin another step
                self._programs.stepped(answer, doing)
                if self.scene.watch is not None and doing is not None:
                    self.scene.watch.stepped(doing, answer)
                for seat in answer.gone:
                    if self.episode.trial.driver(seat) is Driver.ACTOR:
                        self.handle(events.DriverChanged(self.now(), seat, Driver.NOBODY))
                flags = (Flags.TERMINATED if terminated else NO_FLAGS) | (Flags.TRUNCATED if truncated else NO_FLAGS)
                self.handle(events.EnvironmentStepped(self.now(), step, rewards, terminated, truncated))
                self._show(picture, step, flags, own)
                self._ahead.stepped(self.episode, doing, answer, self.view)
                self._hand_over_idle()
            case requests.Begun():
                self.episode.begun, self.episode.started_ns = answer, time.time_ns()
                self._programs.begun(answer)
                await self._records.begun(self.episode.number, answer, self.opened, self.sync)
                self._show(answer.picture, 0, Flags.FIRST, answer.own)
                self._ahead.begin(self.episode, 0, self.view)
                self.handle(events.EnvironmentReady(self.now()))
            case Encoded():
                self._is_drawing = False
                self._show(answer, self.episode.trial.step, self._flags)
                if request != requests.Show(self.view):
                    self._draw()  # the view was changed meanwhile

    def _show(self, picture: Encoded, step: int, flags: Flags, own: Mapping[str, Encoded] | None = None) -> None:
        self._flags = flags
        self.audience.show(picture, self.episode.number, step, flags, own)

    def _lost(self, reason: str) -> None:
        self._is_drawing = False
        if self.scene.watch is not None:
            self.scene.watch.lost()
        public = self._public(reason)
        self.audience.broadcast(to_browser.Notice("environment", public))
        self.handle(events.EnvironmentFailed(self.now(), public))

    def _public(self, error: str) -> str:
        """What people see of an error of the environment, which is logged."""
        log.warning("session %s: %s", self._id, error)
        return self.scene.public(error)

    async def sync(self) -> None:
        """Puts what is recorded so far on the disk.

        Raises:
          EnvironmentLostError: the environment is lost; what was recorded before its loss is there.
        """
        await self._environment.request(requests.Sync())

    async def _begin(self, number: int) -> None:
        config = trial_config(self.scene, self.opened, number, self.fps)
        if self.scene.actors:
            await self._programs.take(self.opened, f"{self._id}-{number}", config.seed or 0)
        config = without_failed(config, self._programs.failed)
        self.episode = LiveEpisode(number, config, Trial(config))
        self.handle(events.Begin(self.now()))
        for seat in self.opened.seats:
            self._attendees.drive(seat, self.episode.trial.driver(seat))
        for seat, reason in self._programs.failed.items():
            self.handle(events.ActorFailed(self.now(), seat, reason))
        for seat, each in self.audience.players():
            self._seat(seat, each)
        self._show_company()

    async def _finish(self, finish: messages.Finish) -> None:
        await self._records.judgements.settle()
        facts = {**finish.facts, "frames": self.audience.frame_statistics()}
        begun = self.episode.begun
        if begun is None:
            return
        played = played_episode(self._id, self.episode, begun, finish, facts)
        await self._request(requests.Finish(final_metadata(played), is_kept=finish.is_kept))
        if self._environment.is_lost:
            played = replace(played, status=Status.ABANDONED, reason=self._environment.loss, is_whole=False)
        await self._records.finished(played)

    async def _next(self, finish: messages.Finish) -> str | None:
        """Begins the next episode; returns why not, if the session is over."""
        if self._stop_reason or self._attendees.are_gone():
            return self._stop_reason or _DESERTED
        if not self._environment.is_lost:
            self._environment.failures = 0
            if self.episode.is_abandoned:
                return finish.reason
        elif self._environment.failures >= MOST_FAILURES:
            return f"the environment failed {self._environment.failures} times: {finish.reason}"
        else:
            try:
                await self._environment.make()
            except (RequestFailedError, EnvironmentLostError) as error:
                return self._public(str(error))
        await self._begin(self.episode.number + 1)
        if self._attendees.are_gone():
            self.stop(_DESERTED)
        return None
