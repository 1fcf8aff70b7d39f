"""One session that is played: its windows, and what they say to the engine and hear from it."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from rlds_kit.studio.frames.header import Flags
from rlds_kit.studio.frames.picture import Encoded
from rlds_kit.studio.play import protocol, window
from rlds_kit.studio.play.frames_out import WINDOW, Shown
from rlds_kit.studio.play.host import Host, PlayedEpisode, Scene
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.running import HOST_SECONDS, MakeEnvironment, Running
from rlds_kit.studio.play.window import Window
from rlds_kit.studio.workers import requests
from rlds_kit.trials import Driver, Phase, events, messages


class Play:
    """What all windows of a session share.

    Args:
      session: which.
      scene: what is played.
      make: makes the environment.
      host: where outcomes go.
      clock: in nanoseconds.
    """

    def __init__(
        self,
        session: str,
        scene: Scene,
        make: MakeEnvironment,
        host: Host,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._session, self._scene, self._host = session, scene, host
        self._policies = scene.open.environment.policies
        self.look = requests.Look(quality=scene.quality)
        self._windows: dict[str, Window] = {}
        self._state: messages.ShowState | None = None
        self._over: str | None = None
        self._asked: messages.AskConfirmation | None = None
        self._picture: tuple[Encoded, int, Flags] | None = None
        self.running = Running(session, scene, make, host, self, clock)
        self._left_ns = self.running.now()

    async def prepare(self) -> None:
        """Makes the environment and begins the first episode."""
        await self.running.prepare()
        self._left_ns = self.running.now()  # whoever waited for this comes in now

    async def run(self) -> str:
        """Plays until the session is over; returns why it is."""
        return await self.running.play()

    async def end(self, reason: str) -> Ledger:
        """Tells the host, and says good-bye; returns what the host may still have to be told."""
        self._over = reason
        ledger = self.running.ledger
        ledger.note(lambda: self._host.ended(self._session, reason))
        await ledger.settle(HOST_SECONDS)
        for each in self._windows.values():
            _dismiss(each, reason)
        return ledger

    @property
    def is_left(self) -> bool:
        """Whether it holds an environment, though its windows are gone for longer than a lost one is waited for."""
        if self._windows or self.running.is_ending or not self.running.has_environment:
            return False
        return self.running.now() - self._left_ns >= self.running.grace_ns

    def enter(self, entering: Window) -> None:
        """A window is opened, or a lost one is back."""
        if self._over is not None:
            _dismiss(entering, self._over)
            return
        entering.tell(self._welcome(entering))
        self._windows[entering.name] = entering
        if entering.seat is not None:
            taken = events.SeatTaken(self.running.now(), entering.seat, entering.admission.holder, entering.name)
            refused = None if self.running.phase is Phase.ENDED else self.running.handle(taken)
            if refused is not None:
                entering.tell(protocol.Error(code="seat", message=refused))
                entering.close(window.NOT_ADMITTED, "the seat is taken")
                del self._windows[entering.name]
                return
        if self._state is not None:
            entering.tell(self._state_message(self._state))
        if self._asked is not None and entering.seat is None:
            entering.tell(_ask(self._asked))
        if self._picture is not None:
            entering.show(self._shown(entering, *self._picture))

    def leave(self, leaving: Window, *, is_lost: bool) -> None:
        """A window is gone."""
        self._left_ns = self.running.now()
        if self._windows.pop(leaving.name, None) is not None and leaving.seat is not None:
            self.running.handle(events.SeatLeft(self.running.now(), leaving.seat, leaving.name, is_lost))

    def stop(self, reason: str) -> None:
        """Ends the episode and the session."""
        self.running.stop(reason)

    def take(self, source: Window, message: protocol.FromBrowser) -> None:
        """Takes a message from a window."""
        if isinstance(message, protocol.Ack):
            if not source.acknowledge(message.seq):
                source.tell(protocol.Error(code="frame", message="no such frame was sent", where="ack.seq"))
        elif source.name not in self._windows:
            pass  # it was displaced and is being closed
        elif isinstance(message, protocol.Leave):
            self.leave(source, is_lost=False)
            source.close(window.LEFT, "left")
        elif isinstance(message, protocol.Reward):
            self._judge(source, message)
        elif source.seat is None:
            source.tell(protocol.Error(code="observer", message="you look on; only those who play may do this"))
        else:
            self._act(source, source.seat, message)

    def _judge(self, source: Window, message: protocol.Reward) -> None:
        """Takes a reward from somebody who plays, or looks on."""
        number, is_over = self.running.number, self.running.phase is Phase.ENDED
        if message.episode not in {None, number} or is_over:
            said = f"episode {number if is_over else message.episode} is over; judge it where it is replayed"
            source.tell(protocol.Error(code="episode", message=said, where="reward.episode"))
            return
        if self.running.is_judged_too_fast:
            said = "rewards come faster than they can be written; give this one again in a moment"
            source.tell(protocol.Error(code="refused", message=said, where=message.type))
            return
        who, of = source.admission.holder, message.seat or source.seat or self.running.opened.seats[0]
        now = self.running.now()
        shown = source.frames.step_of(message.shown, number)
        details = {"shown_frame": shown, "pressed_ns": message.time, "key": message.key, "device": message.device}
        given = events.RewardGiven(now, who, of, message.value, message.confidence, message.step, message.note, details)
        refused = self.running.handle(given)
        if refused is not None:
            source.tell(protocol.Error(code="refused", message=refused, where=message.type))

    def _act(self, source: Window, seat: str, message: protocol.FromBrowser) -> None:
        if isinstance(message, protocol.SetQuality | protocol.Camera):
            self._look(source, message)
            return
        if isinstance(message, protocol.Keys) and not self._is_heard(seat):
            return
        if isinstance(message, protocol.Drive) and message.driver == "policy" and seat not in self._policies:
            source.tell(protocol.Error(code="policy", message=f"no policy can drive {seat!r}", where="drive.driver"))
            return
        refused = self.running.handle(self._event(source, seat, message))
        if refused is not None:
            source.tell(protocol.Error(code="refused", message=refused, where=message.type))
        elif isinstance(message, protocol.Rate):
            self.running.keep_rate(message.fps)

    def _is_heard(self, seat: str) -> bool:
        """Whether keys mean something: not when all is over, nor while a program acts for the person."""
        return self.running.phase is not Phase.ENDED and self.running.driver(seat) is Driver.HUMAN

    def _event(self, source: Window, seat: str, message: protocol.FromBrowser) -> events.Event:
        now = self.running.now()
        match message:
            case protocol.Keys():
                shown = source.frames.step_of(message.shown, self.running.number)
                return events.KeysChanged(now, seat, message.held, shown, message.time)
            case protocol.Start() | protocol.Resume():
                return events.Ready(now, seat)
            case protocol.Pause():
                return events.Pause(now, seat)
            case protocol.Cancel():
                return events.Cancel(now, seat)
            case protocol.Confirm():
                return events.Confirm(now, seat, message.save, message.completed)
            case protocol.Drive():
                return events.DriverChanged(now, seat, Driver(message.driver))
            case protocol.Rate():
                return events.RateChanged(now, message.fps)
            case protocol.Say():
                return events.MessageSent(now, seat, tuple(message.to), message.content)
        raise TypeError(message)  # pragma: no cover  the others are done above

    def _look(self, source: Window, message: protocol.SetQuality | protocol.Camera) -> None:
        if isinstance(message, protocol.SetQuality):
            self.look = self.look._replace(quality=message.level)
        elif message.n < len(self.running.opened.cameras):
            self.look = self.look._replace(camera=message.n)
        else:
            said = f"expected one of the cameras 0 to {len(self.running.opened.cameras) - 1}, got {message.n}"
            source.tell(protocol.Error(code="camera", message=said, where="camera.n"))
            return
        self._tell_all(protocol.Looks(quality=self.look.quality or self._scene.quality, camera=self.look.camera))
        self.running.show_again()

    # What the engine's runtime calls:

    def seated(self) -> list[events.SeatTaken]:
        """Who sits where as an episode begins."""
        people = [each for each in self._windows.values() if each.seat is not None]
        return [events.SeatTaken(0, each.seat or "", each.admission.holder, each.name) for each in people]

    def tell(self, message: messages.Message) -> None:
        """Shows what the engine says."""
        match message:
            case messages.ShowState():
                self._show_state(message)
            case messages.AskConfirmation():
                self._asked = message
                self._tell_all(_ask(message))
            case messages.ShowDriver(seat, driver):
                self._tell_all(protocol.DriverNow(seat=seat, driver=driver.value))
            case messages.Amended(events.RewardGiven(_, _, seat, value), step, aggregate):
                self._tell_all(protocol.Amended(seat=seat, step=step, value=value, aggregate=aggregate))
            case messages.Displaced(_, connection):
                self._displace(connection)
            case messages.Forward(said):
                heard = protocol.Said(sender=said.sender, content=said.content)
                for each in self._windows.values():
                    if each.seat in said.to:
                        each.tell(heard)

    def _show_state(self, state: messages.ShowState) -> None:
        """Tells it, unless only the step and the rewards are new: those come with the frames, which never pile up."""
        old, self._state = self._state, state
        if state.phase is not Phase.CONFIRMING:
            self._asked = None
        is_known = old is not None and dataclasses.replace(old, step=state.step, totals=state.totals) == state
        if state.phase is not Phase.RUNNING or not is_known:
            self._tell_all(self._state_message(state))

    def _displace(self, connection: str) -> None:
        old = self._windows.pop(connection, None)
        if old is not None:
            old.tell(protocol.Notice(code="displaced", message="the game goes on in another window of yours"))
            old.close(window.DISPLACED, "another window")

    def show(self, picture: Encoded, step: int, flags: Flags) -> None:
        """Shows a picture to everybody."""
        self._picture = picture, step, flags
        for each in self._windows.values():
            each.show(self._shown(each, picture, step, flags))

    def _shown(self, to: Window, picture: Encoded, step: int, flags: Flags) -> Shown:
        totals = {} if self._state is None else self._state.totals
        total = totals.get(to.seat or "", next(iter(totals.values()), 0.0))
        return Shown(picture, self.running.number, step, total, flags)

    def saved(self, episode: PlayedEpisode) -> None:
        """An episode is over and on the disk."""
        self._asked = None
        self._tell_all(
            protocol.Saved(
                episode=episode.number,
                id=episode.episode_id,
                status=episode.status.value,
                reason=episode.reason,
                steps=episode.steps,
                totals=dict(episode.totals),
                is_kept=episode.is_kept,
            )
        )

    def not_judged(self, source: str, reason: str) -> None:
        """Says to whoever gave a reward why it was not recorded."""
        for each in self._windows.values():
            if each.admission.holder == source:
                each.tell(protocol.Error(code="reward", message=reason, where="reward"))

    def warn(self, code: str, reason: str) -> None:
        """Says something that went wrong."""
        self._tell_all(protocol.Notice(code=code, message=reason))

    def facts(self) -> dict[str, Any]:
        """How fast pictures came to those who play: counts, and milliseconds from sending to painting."""
        return {
            each.seat: {
                "sent": each.frames.sent,
                "dropped": each.frames.dropped,
                "latency_p50_ms": each.frames.latencies.percentile(50),
                "latency_p95_ms": each.frames.latencies.percentile(95),
            }
            for each in self._windows.values()
            if each.seat is not None
        }

    def _tell_all(self, message: protocol.ToBrowser) -> None:
        for each in list(self._windows.values()):
            each.tell(message)

    def _welcome(self, entering: Window) -> protocol.Welcome:
        opened = self.running.opened
        controls = opened.controls[entering.seat or opened.seats[0]]
        chords = tuple(protocol.KeyAction(keys=keys, name=name) for keys, _, name in controls.actions)
        environment = self._scene.open.environment
        return protocol.Welcome(
            session=self._session,
            seat=entering.seat,
            seats=opened.seats,
            policies=tuple(self._policies),
            controls=protocol.Controls(chords=chords, axes=tuple(keys for _, _, keys in controls.axes)),
            instructions=self._scene.instructions,
            environment=environment.name or environment.id,
            cameras=opened.cameras,
            turn=self._scene.turn.value,
            fps=15.0 if self._state is None else self._state.fps,
            quality=self.look.quality or self._scene.quality,
            camera=self.look.camera,
            window=WINDOW,
        )

    def _state_message(self, state: messages.ShowState) -> protocol.State:
        until = state.until_ns
        return protocol.State(
            phase=state.phase.value,
            episode=self.running.number,
            step=state.step,
            totals=dict(state.totals),
            fps=state.fps,
            reason=state.reason,
            seconds=None if until is None else max(0.0, (until - self.running.now()) / 1e9),
        )


def _dismiss(leaving: Window, reason: str) -> None:
    leaving.tell(protocol.Notice(code="ended", message=reason))
    leaving.close(window.ENDED, "the session is over")


def _ask(asked: messages.AskConfirmation) -> protocol.Ask:
    return protocol.Ask(default_completed=asked.is_completed, is_over=asked.is_over)
