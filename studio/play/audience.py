"""The windows of a session, and what each of them is sent."""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.studio.play import to_browser, window
from rlds_kit.studio.play.ahead_out import Possible
from rlds_kit.studio.play.frame_header import Flags
from rlds_kit.studio.play.frames_out import Shown
from rlds_kit.studio.play.to_browser import State, ToBrowser
from rlds_kit.studio.play.window import Window
from rlds_kit.trials import Driver, Phase, events, messages
from rlds_kit.trials.frames.picture import Encoded

MOST_SAVED: Final = 50
"""Episodes that are over, which a window that enters later is sent."""


class Audience:
    """Sends messages and pictures to all windows of a session, and the latest ones to a window that enters later.

    Attributes:
      windows: of players and observers, by name.
      state: the latest state of the episode; None: there is none yet.
      over: the last episodes that are over, in order.
    """

    def __init__(self) -> None:
        self.windows: dict[str, Window] = {}
        self.state: State | None = None
        self.over: deque[to_browser.Saved] = deque(maxlen=MOST_SAVED)
        self._question: messages.RequestConfirmation | None = None
        self._picture: tuple[Encoded, int, int, Flags] | None = None
        self._own: Mapping[str, Encoded] = {}
        self._ahead: list[Possible] = []

    def players(self) -> list[tuple[str, Window]]:
        """The windows of players, each with its seat."""
        return [(each.seat, each) for each in self.windows.values() if each.seat is not None]

    def catch_up(self, entering: Window, now_ns: int) -> None:
        """Sends a window that entered what the others were sent last."""
        if self.state is not None:
            entering.send(to_browser.state(self.state, self.state.episode, now_ns))
        if self._question is not None and entering.seat is None:
            entering.send(self._question)
        is_of_now = self._picture is not None and (self.state is None or self._picture[1] == self.state.episode)
        if self._picture is not None and is_of_now:  # not the last one of the episode before
            entering.show(self._shown(entering, *self._picture))
        for possible in self._ahead if entering.seat is not None else ():
            entering.show_ahead(possible)

    def broadcast(self, message: ToBrowser) -> None:
        """Sends a message to all windows."""
        for each in list(self.windows.values()):
            each.send(message)

    def notify(self, message: messages.Message) -> None:
        """Sends a message of the engine to the windows that it is for."""
        match message:
            case messages.RequestConfirmation():
                self._question = message
                self.broadcast(message)
            case messages.ShowDriver():
                self.broadcast(message)
            case messages.Amended(events.RewardGiven(_, _, seat, value), step, aggregate):
                self.broadcast(to_browser.Amended(seat, step, value, aggregate))
            case messages.Displaced(_, connection) if connection in self.windows:
                old = self.windows.pop(connection)
                old.send(to_browser.Notice("displaced", "the game goes on in another window of yours"))
                old.close(window.DISPLACED, "another window")
            case messages.DeliverText(_, to):
                for seat, each in self.players():
                    if seat in to:
                        each.send(message)

    def show_state(self, state: State) -> None:
        """Sends a state, unless only the step and the rewards are new: the frames have these."""
        old, self.state = self.state, state
        if state.phase is not Phase.CONFIRMING:
            self._question = None
        for each in self.windows.values():
            each.frames.begin(state.episode)
        if state.phase is not Phase.RUNNING or old is None or old.standing != state.standing:
            self.broadcast(state)

    def show(
        self, picture: Encoded, episode: int, step: int, flags: Flags, own: Mapping[str, Encoded] | None = None
    ) -> None:
        """Sends a picture to all windows.

        Args:
          picture: encoded, for those who have none of their own.
          episode: its number in the session.
          step: how many were done.
          flags: of the step.
          own: by seat, its own picture; None: as before.
        """
        self._own = self._own if own is None else own
        self._picture = picture, episode, step, flags
        for each in self.windows.values():
            each.show(self._shown(each, *self._picture))

    def show_ahead(self, possible: Possible) -> None:
        """Sends a picture of a possible next step to the players."""
        self._ahead.append(possible)
        for _, each in self.players():
            each.show_ahead(possible)

    def forget_ahead(self) -> None:
        """The step is done, or its pictures are drawn anew."""
        self._ahead = []
        for _, each in self.players():
            each.ahead.forget()

    def _shown(self, to: Window, picture: Encoded, episode: int, step: int, flags: Flags) -> Shown:
        totals = {} if self.state is None else self.state.totals
        total = totals.get(to.seat or "", next(iter(totals.values()), 0.0))
        return Shown(self._own.get(to.seat or "", picture), episode, step, total, flags)

    def clocks(self, step: messages.StepEnvironment, episode: int) -> dict[str, Any]:
        """By seat, what was measured of the key press that a step follows from."""
        found = {
            seat: each.clock(step.facts[seat], episode)
            for seat, each in self.players()
            if seat in step.facts and step.facts[seat].driver is Driver.HUMAN
        }
        return {seat: clock for seat, clock in found.items() if clock}

    def done(self, episode: int, step: int, action: int, *, is_equal: bool) -> None:
        """A step was done that there was a picture ahead of, which is equal to the true one or not."""
        for _, each in self.players():
            each.seen.done(episode, step, action, is_equal=is_equal)

    def saved(self, message: to_browser.Saved) -> None:
        """Sends that an episode is stored."""
        self._question = None
        self.over.append(message)
        self.broadcast(message)

    def frame_statistics(self) -> dict[str, Any]:
        """How fast pictures reached the players: counts, milliseconds from sending to painting, and round trips."""
        return {
            seat: {
                "sent": each.frames.sent,
                "dropped": each.frames.dropped,
                "latency_p50_ms": each.frames.latencies.percentile(50),
                "latency_p95_ms": each.frames.latencies.percentile(95),
                "round_trip_ms": each.round_trip_ms,
                "ahead_sent": each.ahead.sent,
                "ahead_dropped": each.ahead.dropped,
                "ahead_shown": each.seen.ahead,
                "ahead_wrong": each.seen.wrong,
            }
            for seat, each in self.players()
        }
