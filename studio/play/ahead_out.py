"""Which pictures of possible next steps a window gets: few, and only as long as its link takes them.

They are sent after the picture of now, and are the first to be left out: while those of the step before are under way,
no others are sent. So a slow link has at most `MOST_BYTES` in front of the next true picture.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlds_kit.studio.play.frame_header import Flags, Header, pack
from rlds_kit.trials.frames.picture import Codec, Encoded

MOST_BYTES: Final = 65_536
"""Of pictures ahead that are under way."""
_REMEMBERED: Final = 64
"""Pictures ahead of which it is known what they showed."""
NO_PICTURE: Final = Encoded(Codec.NOTHING, b"")


class Possible(NamedTuple):
    """What there would be to see.

    Attributes:
      episode: its number in the session.
      step: that would be done next.
      action: that would be done.
      picture: encoded.
    """

    episode: int
    step: int
    action: int
    picture: Encoded


@dataclass(slots=True)
class AheadOut:
    """The pictures ahead of one window.

    Attributes:
      sent: how many were.
      dropped: how many never will be: the step was done, or the link is too slow.

    >>> from rlds_kit.trials.frames.picture import Codec
    >>> out = AheadOut()
    >>> for action in range(2):
    ...     out.offer(Possible(0, 1, action, Encoded(Codec.TEXT, b"@")))
    >>> len(out.next(time_ns=5)), out.dropped
    (37, 0)
    >>> out.forget()
    >>> out.next(time_ns=6), out.dropped
    (None, 1)
    """

    sent: int = 0
    dropped: int = 0
    _waiting: deque[Possible] = field(default_factory=deque)
    _under_way: deque[tuple[int, int]] = field(default_factory=deque)
    _past: deque[tuple[int, Possible]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _of: tuple[int, int] | None = None
    _is_refused: bool = False

    def offer(self, possible: Possible) -> None:
        """Takes a picture; those of one step together are sent, or none that does not fit."""
        self._waiting.append(possible)

    def forget(self) -> None:
        """The step was done: what waits is of no use any more."""
        self.dropped += len(self._waiting)
        self._waiting.clear()

    def next(self, time_ns: int) -> bytes | None:
        """The picture to send now; None if there is none, or the link takes none.

        Args:
          time_ns: now, of the server's clock.
        """
        while self._waiting:
            possible = self._waiting.popleft()
            if self._fits(possible):
                return self._packed(possible, time_ns)
            self.dropped += 1
        return None

    def _fits(self, possible: Possible) -> bool:
        of = possible.episode, possible.step
        if of != self._of:
            self._of, self._is_refused = of, bool(self._under_way)
        under_way = sum(size for _, size in self._under_way)
        return not self._is_refused and under_way + len(possible.picture.data) <= MOST_BYTES

    def _packed(self, possible: Possible, time_ns: int) -> bytes:
        self.sent += 1
        data = possible.picture.data
        self._under_way.append((self.sent, len(data)))
        self._past.append((self.sent, possible._replace(picture=NO_PICTURE)))
        head = Header(
            possible.picture.codec, Flags.AHEAD, self.sent, possible.step, time_ns, 0.0, len(data), possible.action
        )
        return pack(head) + data

    def received(self, number: int) -> bool:
        """Takes the browser's word that a picture, and all before it, have come.

        Returns:
          False if no such picture was sent.
        """
        if not 1 <= number <= self.sent:
            return False
        while self._under_way and self._under_way[0][0] <= number:
            self._under_way.popleft()
        return True

    def possible(self, number: int | None) -> Possible | None:
        """What a picture was of, without its bytes; None if it is not known any more."""
        return next((possible for each, possible in self._past if each == number), None)
