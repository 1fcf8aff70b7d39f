"""Messages to a browser while an episode is played: JSON, version 1.

Every message has `"v": 1` and a `"type"`. Messages of the engine, `rlds_kit.trials.messages`, are sent as they are.
Frames are sent as bytes, see `rlds_kit.studio.play.frame_header`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rlds_kit.base.extras import needs
from rlds_kit.trials import Status, Turn, messages
from rlds_kit.trials.frames.picture import Quality

with needs("studio"):
    from pydantic import TypeAdapter

VERSION: Final = 1
_WRITER: Final[TypeAdapter[Any]] = TypeAdapter(Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """An episode is over and stored, or dropped because it had no step."""

    episode: int
    id: str
    status: Status
    reason: str
    steps: int
    totals: Mapping[str, float]
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The person was admitted.

    Attributes:
      seat: of the person; None for observers.
      policies: seats that a policy can drive.
      seat_number: of the seat among all; None for observers.
      actors: seats that have a program of their own.
      rules: whose word pauses, cancels and confirms: "one", "all", "vote" or "nobody"; of `rate`, where nobody's is.
      controls: of the person's seat, or of the first: `chords` of keys with name and action, and `axes`.
      camera: number of the view.
      window: frames that may be sent without an `ack`.
      saved: the last episodes of the session, in order.
    """

    session: str
    seat: str | None
    seats: tuple[str, ...]
    policies: tuple[str, ...]
    seat_number: int | None
    actors: tuple[str, ...]
    rules: Mapping[str, str]
    controls: Mapping[str, Any]
    instructions: str
    environment: str
    cameras: tuple[str, ...]
    turn: Turn
    fps: float
    quality: Quality
    camera: int
    window: int
    saved: tuple[Saved, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """How everybody sees the environment from now on, because a player changed it."""

    quality: Quality
    camera: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State(messages.ShowState):
    """The state of the episode; step and reward between two of these are sent with the frames.

    Attributes:
      episode: its number in the session.
      seconds: until the countdown, or the wait, is over.
    """

    episode: int
    seconds: float | None

    @property
    def standing(self) -> tuple[Any, ...]:
        """All but what every step changes."""
        return self.phase, self.fps, self.reason, self.until_ns, self.episode


def state(shown: messages.ShowState, episode: int, now_ns: int) -> State:
    """The state of an episode, as it is sent at a time."""
    seconds = None if shown.until_ns is None else max(0.0, (shown.until_ns - now_ns) / 1e9)
    return State(
        shown.phase,
        shown.step,
        shown.totals,
        shown.fps,
        shown.reason,
        shown.until_ns,
        episode=episode,
        seconds=seconds,
    )


@dataclass(frozen=True, slots=True)
class Participant:
    """Who is in a seat now.

    Attributes:
      seat: its name.
      state: "person", "program", "lost" (a person whose connection is), "away" (a person for whom a program acts),
        "empty" (a person is to come), or "nobody" (the default action is done).
      program: the implementation that acts, or would; "": none.
    """

    seat: str
    state: str
    program: str = ""


@dataclass(frozen=True, slots=True)
class Participants:
    """Who is in all seats, in order; sent whenever that changes."""

    seats: tuple[Participant, ...]


@dataclass(frozen=True, slots=True)
class Votes:
    """What people have yet to agree on.

    Attributes:
      about: "pause", "cancel" or "confirm".
      agreed: seats that did, each with what it wants.
      needed: how many of those who are there have to agree; 0: it is decided, or not voted on any more.
    """

    about: str
    agreed: Mapping[str, str]
    needed: int


@dataclass(frozen=True, slots=True)
class Amended:
    """A reward was accepted, and is stored."""

    seat: str
    step: int
    value: float
    aggregate: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Information for the person."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Ping:
    """The browser has to answer at once: the server measures the round trip.

    Attributes:
      number: that the answer has to have.
      round_trip_ms: median of the latest, in milliseconds; None: too few were measured.
    """

    number: int
    round_trip_ms: float | None


@dataclass(frozen=True, slots=True)
class Link:
    """The link of the person is too slow for what is played, or fast enough again.

    Attributes:
      warning: for the person to read; "": it is fast enough.
    """

    warning: str


@dataclass(frozen=True, slots=True)
class Error:
    """A message of the browser was refused and changed nothing."""

    code: str
    message: str
    where: str = ""


ToBrowser: TypeAlias = (
    Welcome
    | View
    | State
    | messages.RequestConfirmation
    | Saved
    | messages.ShowDriver
    | Participants
    | Votes
    | Amended
    | messages.DeliverText
    | Notice
    | Ping
    | Link
    | Error
)
TAGS: Final[dict[type, str]] = {
    Welcome: "welcome",
    View: "look",
    State: "state",
    messages.RequestConfirmation: "ask",
    Saved: "saved",
    messages.ShowDriver: "driver",
    Participants: "participants",
    Votes: "votes",
    Amended: "amended",
    messages.DeliverText: "said",
    Notice: "notice",
    Ping: "ping",
    Link: "link",
    Error: "error",
}
"""The "type" of each message to the browser."""


def dump(message: ToBrowser) -> str:
    """A message to the browser, as JSON.

    >>> dump(Error("json", "expected JSON"))
    '{"v":1,"type":"error","code":"json","message":"expected JSON","where":""}'
    """
    fields = {each.name: getattr(message, each.name) for each in dataclasses.fields(message)}
    return _WRITER.dump_json({"v": VERSION, "type": TAGS[type(message)], **fields}).decode()
