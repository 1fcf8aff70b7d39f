"""Which frames a window gets: the newest only, and no more under way than it can paint.

The server's socket takes data also for a link that is choked, so only what the browser acknowledges counts.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from rlds_kit.studio.play.frame_header import NO_FLAGS, Flags, Header, pack
from rlds_kit.trials.frames.picture import Encoded

WINDOW: Final = 4
"""Frames under way at most."""
_MOST_LATENCIES: Final = 4096
_REMEMBERED: Final = 64
"""Frames of which it is known what they showed, when a person presses a key."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What there is to see after a step.

    Attributes:
      picture: encoded.
      episode: its number in the session.
      step: how many were done.
      total: sum of rewards of the seat.
      flags: of the step.
    """

    picture: Encoded
    episode: int
    step: int
    total: float
    flags: Flags = NO_FLAGS


@dataclass(slots=True)
class Latencies:
    """The latest thousands of latencies.

    >>> latencies = Latencies()
    >>> for milliseconds in range(1, 101):
    ...     latencies.add(milliseconds * 1_000_000)
    >>> latencies.percentile(50), latencies.percentile(95)
    (50.0, 95.0)
    """

    _latest: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_LATENCIES))

    def add(self, nanoseconds: int) -> None:
        """Adds one."""
        self._latest.append(nanoseconds)

    def percentile(self, percent: float) -> float | None:
        """So many percent took at most this, in milliseconds; None if there is nothing yet."""
        ordered = sorted(self._latest)
        if not ordered:
            return None
        return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] / 1e6


@dataclass(slots=True)
class FramesOut:
    """The frames of one window.

    Attributes:
      sent: how many were.
      dropped: how many never will be, because a newer one took their place.
      latencies: from sending to acknowledgement.

    >>> from rlds_kit.trials.frames.picture import Codec
    >>> out = FramesOut()
    >>> for step in range(3):
    ...     out.offer(Shown(Encoded(Codec.TEXT, b"@"), 0, step, 0.0))
    >>> out.next(time_ns=5)[-1:], out.next(time_ns=6), out.dropped
    (b'@', None, 2)
    """

    sent: int = 0
    dropped: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    _newest: Shown | None = None
    _under_way: deque[tuple[int, int]] = field(default_factory=deque)
    _past: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to see that was not sent."""
        return self._newest is not None

    def offer(self, shown: Shown) -> None:
        """Takes what is to be seen now, in place of what still waits."""
        self.dropped += self._newest is not None
        self._newest = shown

    def begin(self, episode: int) -> None:
        """Drops what waits of an earlier episode: sent after the state of this one, it would count as a frame of it."""
        if self._newest is not None and self._newest.episode < episode:
            self._newest, self.dropped = None, self.dropped + 1

    def next(self, time_ns: int) -> bytes | None:
        """The frame to send now.

        Args:
          time_ns: now, of the server's clock.

        Returns:
          None if there is nothing new, or too much is under way.
        """
        shown = self._newest
        if shown is None or len(self._under_way) >= WINDOW:
            return None
        self._newest = None
        self.sent += 1
        sequence = self.sent
        self._under_way.append((sequence, time_ns))
        self._past.append((sequence, shown.episode, shown.step))
        data = shown.picture.data
        head = Header(shown.picture.codec, shown.flags, sequence, shown.step, time_ns, shown.total, len(data))
        return pack(head) + data

    def acknowledge(self, sequence: int, time_ns: int) -> bool:
        """Takes the browser's word that a frame, and all before it, were painted.

        Returns:
          False if no such frame was sent.
        """
        if not 1 <= sequence <= self.sent:
            return False
        while self._under_way and self._under_way[0][0] <= sequence:
            number, since = self._under_way.popleft()
            if number == sequence:
                self.latencies.add(time_ns - since)
        return True

    def step_of(self, sequence: int | None, episode: int) -> int | None:
        """The step of an episode that a frame showed; None if it is not known, or was of another episode."""
        place = self.place_of(sequence)
        return None if place is None or place[0] != episode else place[1]

    def place_of(self, sequence: int | None) -> tuple[int, int] | None:
        """The episode and the step that a frame showed; None if it is not known any more."""
        return next(((episode, step) for number, episode, step in self._past if number == sequence), None)
