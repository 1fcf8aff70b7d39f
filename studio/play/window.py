"""One window of a person, and the queue of what it is sent."""

import asyncio
import time
from collections import deque
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.play.ahead_out import AheadOut, Possible
from rlds_kit.studio.play.frames_out import FramesOut, Shown
from rlds_kit.studio.play.host import Admission
from rlds_kit.studio.play.round_trips import RoundTrips
from rlds_kit.studio.play.seen import Seen
from rlds_kit.studio.play.to_browser import Link, Notice, Ping, ToBrowser, dump
from rlds_kit.trials.engine.messages import SeatFacts

with needs("studio"):
    from starlette.websockets import WebSocket

ENDED: Final = 4000
DISPLACED: Final = 4001
NOT_ADMITTED: Final = 4003
TOO_SLOW: Final = 4008
NO_HELLO: Final = 4009
LEFT: Final = 1000
PING_SECONDS: Final = 1.0
"""Between two measurements of the round trip."""
MOST_WAITING: Final = 256
"""Messages in the queue of a window; a window that has more is closed."""


class Window:
    """One connection. Everything but `send_all` returns at once.

    Args:
      name: identifies the connection.
      admission: of its person.
      wants_ahead: whether its page shows pictures ahead.

    Attributes:
      frames: on their way.
      ahead: pictures ahead on their way.
      seen: what its person saw.
      round_trips: the latest.
    """

    def __init__(self, name: str, admission: Admission, *, wants_ahead: bool = False) -> None:
        self.name, self.admission, self.wants_ahead = name, admission, wants_ahead
        self.frames, self.ahead = FramesOut(), AheadOut()
        self.seen, self.round_trips = Seen(), RoundTrips()
        self._warning = ""
        self._pressed_ns: int | None = None
        self._texts: deque[str] = deque()
        self._news = asyncio.Event()
        self._close: tuple[int, str] | None = None
        self._is_stuck = asyncio.Event()

    @property
    def seat(self) -> str | None:
        """From which its person acts."""
        return self.admission.seat

    def send(self, message: ToBrowser) -> None:
        """Sends a message, in order."""
        if len(self._texts) >= MOST_WAITING:
            self._is_stuck.set()
            return
        self._texts.append(dump(message))
        self._news.set()

    def show(self, shown: Shown) -> None:
        """Sends a picture, unless a newer one comes first."""
        self.frames.offer(shown)
        self.ahead.forget()
        self._news.set()

    def show_ahead(self, possible: Possible) -> None:
        """Sends a picture of a possible next step, if its page shows them and its link takes it."""
        if self.wants_ahead:
            self.ahead.offer(possible)
            self._news.set()

    @property
    def round_trip_ms(self) -> float | None:
        """The median of the latest round trips, in milliseconds; None: too few were measured."""
        return self.round_trips.median_ms(time.monotonic_ns())

    def pong(self, number: int) -> bool:
        """The browser answered a ping; returns whether there was one."""
        return self.round_trips.answered(number, time.monotonic_ns())

    def warn(self, warning: str) -> None:
        """Shows that the link is too slow, or not any more: "". Once, until it is something else."""
        if warning != self._warning:
            self._warning = warning
            self.send(Link(warning))

    def acknowledge(self, sequence: int, painted_ns: int | None = None) -> bool:
        """The browser painted a frame, at this time of its own clock; returns whether there was one."""
        is_known = self.frames.acknowledge(sequence, time.monotonic_ns())
        place = self.frames.place_of(sequence)
        if place is not None:
            self.seen.painted(*place, painted_ns)
        if self.frames.is_waiting:
            self._news.set()
        return is_known

    def received_ahead(self, number: int, shown: int | None, shown_ns: int | None) -> bool:
        """Pictures ahead have come, and one of them may be shown; returns whether there were any."""
        is_known = self.ahead.received(number)
        possible = self.ahead.possible(shown)
        if possible is not None and shown_ns is not None:
            self.seen.shown_ahead(possible.episode, possible.step, possible.action, shown_ns)
        self._news.set()
        return is_known

    def step_on_screen(self, shown: int | None, ahead: int | None, episode: int) -> int | None:
        """The step of an episode whose picture is on the screen; None if it is not known.

        Args:
          shown: the latest frame that was painted.
          ahead: a picture ahead that hides it.
          episode: that is played.
        """
        possible = self.ahead.possible(ahead)
        if possible is not None:
            return possible.step if possible.episode == episode else None
        return self.frames.step_of(shown, episode)

    def clock(self, facts: SeatFacts, episode: int) -> dict[str, Any]:
        """What was measured of a key press, for the recording; nothing if none was since the step before."""
        if facts.pressed_ns is None or facts.pressed_ns == self._pressed_ns:
            return {}
        self._pressed_ns = facts.pressed_ns
        median = self.round_trip_ms
        trip = {} if median is None else {"round_trip_ns": int(median * 1e6)}
        return trip if facts.shown_frame is None else {**trip, **self.seen.of(episode, facts.shown_frame)}

    def close(self, code: int, reason: str) -> None:
        """Closes the connection after the messages in the queue."""
        self._close = self._close or (code, reason)
        self._news.set()

    def dismiss(self, reason: str) -> None:
        """The session is over."""
        self.send(Notice("ended", reason))
        self.close(ENDED, "the session is over")

    async def send_all(self, socket: WebSocket) -> None:
        """Sends until the window is closed."""
        stuck = asyncio.ensure_future(self._is_stuck.wait())
        sending = asyncio.ensure_future(self._send(socket))
        pinging = asyncio.ensure_future(self._ping())
        try:
            await asyncio.wait({stuck, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stuck.cancel()
            pinging.cancel()
            is_over = sending.done()
            sending.cancel()
        if is_over:
            sending.result()  # raises what it raised
        else:
            await socket.close(TOO_SLOW, "too many messages wait for this window")

    async def _ping(self) -> None:
        """Measures the round trip of a person who plays, again and again."""
        while self.seat is not None:
            now = time.monotonic_ns()
            median, number = self.round_trips.median_ms(now), self.round_trips.ask(now)
            if number is not None:
                self.send(Ping(number, median))
            await asyncio.sleep(PING_SECONDS)

    async def _send(self, socket: WebSocket) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._texts:
                await socket.send_text(self._texts.popleft())
            if self._close is not None:
                await socket.close(*self._close)
                return
            now = time.monotonic_ns()
            frame = self.frames.next(now)
            if frame is None and not self.frames.is_waiting:
                frame = self.ahead.next(now)
            if frame is not None:
                await socket.send_bytes(frame)
                self._news.set()
