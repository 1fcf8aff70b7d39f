"""Messages between a lobby and its pages: JSON, version 1."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.studio.play.from_browser import MOST_BYTES

with needs("studio"):
    from pydantic import BaseModel, StringConstraints, ValidationError

VERSION: Final = 1


class Wait(BaseModel):
    """The only message of a page: it wants to play in an environment; who closes the socket waits no more."""

    model_config = {"extra": "forbid", "strict": True, "frozen": True}

    v: Literal[1]
    type: Literal["wait"]
    study: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    environment: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


@dataclass(frozen=True, slots=True)
class Queue:
    """How it stands; sent when a person comes, and when it changes, at most once a second.

    Attributes:
      waiting: people in the lobby.
      needed: people who play together.
      place: of this person; 1 is first.
      fill_seconds: until programs take the seats that are empty; None: never.
      notice: why those who have found each other do not play yet; "": nothing is in the way.
    """

    type: ClassVar[str] = "queue"
    waiting: int
    needed: int
    place: int
    fill_seconds: float | None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Countdown:
    """People have found each other, and have a place; it begins in some seconds unless a person leaves.

    Attributes:
      seconds: until then.
      people: who play together.
      programs: seats that programs take.
    """

    type: ClassVar[str] = "countdown"
    seconds: float
    people: int
    programs: int


@dataclass(frozen=True, slots=True)
class Matched:
    """The session is there.

    Attributes:
      session: its id.
      token: to play from the seat.
      seat: of this person.
    """

    type: ClassVar[str] = "matched"
    session: str
    token: str
    seat: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The person waits no more.

    Attributes:
      code: a word for programs: "full", "late", "displaced", "closed" and so on.
      message: for the person.
    """

    type: ClassVar[str] = "refused"
    code: str
    message: str


Message = Queue | Countdown | Matched | Refused


def dump(message: Message) -> str:
    """A message as JSON.

    >>> dump(Refused("full", "come later"))
    '{"v":1,"type":"refused","code":"full","message":"come later"}'
    """
    fields = {each.name: getattr(message, each.name) for each in dataclasses.fields(message)}
    return json.dumps({"v": VERSION, "type": message.type, **fields}, ensure_ascii=False, separators=(",", ":"))


def read(text: str | bytes) -> Wait | None:
    """The message of a page; None: it is none.

    >>> read("{}") is None
    True
    """
    if len(text) > MOST_BYTES:
        return None
    try:
        return Wait.model_validate_json(text)
    except ValidationError:
        return None
