"""Messages from a browser while an episode is played: JSON, version 1.

Every message has `"v": 1` and a `"type"`. What a player sends is an event of `rlds_kit.trials`, without the fields that
the server adds. A message that is not valid changes nothing, and is answered by an `error`.
"""

import dataclasses
import functools
import operator
import typing
from typing import Annotated, Any, ClassVar, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.studio.play.to_browser import Error
from rlds_kit.trials import Driver, events
from rlds_kit.trials.frames.picture import Quality

with needs("studio"):
    from pydantic import AfterValidator, BaseModel, Field, StringConstraints, TypeAdapter, ValidationError, create_model

MOST_BYTES: Final = 16_384
"""Of a message from a browser."""
MOST_KEYS: Final = 64
_U32: Final = 2**32 - 1
_I63: Final = 2**63 - 1
_ADDED: Final = {"time_ns", "seat", "sender", "source", "details"}
"""Fields of events that no browser sends: the server knows them."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Analog = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Sequence = Annotated[int, Field(ge=0, le=_U32)]
Count = Annotated[int, Field(ge=0, le=_I63)]


class Received(BaseModel):
    """A message from a browser. Strict: no value is converted, and no unknown field is allowed."""

    model_config = {"extra": "forbid", "strict": True, "frozen": True}

    v: Literal[1]
    type: str


class Hello(Received):
    """The first message: it identifies the person. `ahead`: whether pictures of possible next steps are wanted."""

    type: Literal["hello"]
    token: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    ahead: bool = False


class Ack(Received):
    """A frame was painted, and all before it; `time` is the browser's clock in ns."""

    type: Literal["ack"]
    seq: Sequence
    time: Count | None = None


class Ahead(Received):
    """Pictures ahead have come, up to this number; `shown` is the number of one that was painted at `time`."""

    type: Literal["ahead"]
    seq: Sequence
    shown: Sequence | None = None
    time: Count | None = None


class Pong(Received):
    """The answer to a `ping`, with its number."""

    type: Literal["pong"]
    number: Count


class Leave(Received):
    """The person leaves, and does not come back."""

    type: Literal["leave"]


class SetQuality(Received):
    """Sets the quality of pictures."""

    type: Literal["quality"]
    level: Annotated[Quality, Field(strict=False)]


class Camera(Received):
    """Selects the view."""

    type: Literal["camera"]
    n: Annotated[int, Field(ge=0, le=99)]


class EventMessage(Received):
    """A message that is an event of the trial: `_event_message` makes the class of each type."""

    event: ClassVar[type[events.Event]]

    def to_event(self, **added: Any) -> events.Event:
        """The event; `added` are the fields that the server adds."""
        sent = type(self).model_fields.keys() & {each.name for each in dataclasses.fields(self.event)}
        return self.event(**{**{name: getattr(self, name) for name in sent}, **added})


class RewardMessage(EventMessage):
    """A reward for a step of this episode; without `step`, for the latest. The answer is `amended`, once it is stored.

    Without `seat`, it is for the person's own, and for the first where the person is an observer. `shown` is the latest
    frame that was painted, `time` the browser's clock in ns; `key` and `device` say how it was given.
    """

    seat: Name | None = None
    episode: Count | None = None
    shown: Sequence | None = None
    time: Count | None = None
    key: Name | None = None
    device: Literal["keyboard", "pointer", "gamepad"] | None = None


class KeysMessage(EventMessage):
    """What is held now. `shown` is the latest frame that was painted, and `ahead` a picture ahead that hides it."""

    ahead: Sequence | None = None


def _event_message(
    tag: str, event: type[events.Event], base: type[EventMessage] = EventMessage, **limits: Any
) -> type[EventMessage]:
    """The class of messages that are an event, with the fields that the server does not add; `limits` narrow types."""
    types = {**typing.get_type_hints(event), **limits}
    fields: dict[str, Any] = {"type": (Literal[tag], ...)}
    fields |= {
        each.name: (types[each.name], ... if each.default is dataclasses.MISSING else each.default)
        for each in dataclasses.fields(event)
        if each.name not in _ADDED
    }
    made = create_model(tag.title(), __base__=base, __doc__=event.__doc__, **fields)
    made.event = event
    return made


_EVENTS: Final = (
    _event_message(
        "keys",
        events.KeysChanged,
        KeysMessage,
        held=Annotated[dict[Name, Analog], Field(max_length=MOST_KEYS)],
        shown_frame=Annotated[Sequence | None, Field(alias="shown")],
        pressed_ns=Annotated[Count | None, Field(alias="time")],
    ),
    _event_message("start", events.Ready),
    _event_message("resume", events.Ready),
    _event_message("pause", events.Pause),
    _event_message("cancel", events.Cancel),
    _event_message("confirm", events.Confirm, is_completed=Annotated[bool, Field(alias="completed")]),
    _event_message(
        "drive",
        events.DriverChanged,
        driver=Annotated[Literal["human", "policy", "actor", "nobody"], AfterValidator(Driver)],
    ),
    _event_message("rate", events.RateChanged, fps=Finite),
    _event_message(
        "say",
        events.MessageSent,
        content=Annotated[str, StringConstraints(min_length=1, max_length=2000)],
        to=Annotated[tuple[Name, ...], Field(max_length=16)],
    ),
    _event_message(
        "reward",
        events.RewardGiven,
        RewardMessage,
        value=Finite,
        confidence=Annotated[float, Field(ge=0, le=1)],
        step=Count | None,
        note=Annotated[str, StringConstraints(max_length=1000)],
    ),
)
_annotated: Any = Annotated  # of a type that is computed
_UNION: Any = functools.reduce(operator.or_, (Hello, Ack, Ahead, Pong, Leave, SetQuality, Camera, *_EVENTS))
READER: Final[TypeAdapter[Any]] = TypeAdapter(_annotated[_UNION, Field(discriminator="type")])
_CODES: Final = {"json_invalid": "json", "union_tag_invalid": "type", "union_tag_not_found": "type"}


class InvalidMessageError(ValueError):
    """A message from a browser is not valid; `error` is the answer to it."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


def read(text: str | bytes) -> Received:
    """A message from a browser.

    Args:
      text: JSON, at most `MOST_BYTES` in UTF-8.

    Raises:
      InvalidMessageError: it is not a message.

    >>> read('{"v": 1, "type": "ack", "seq": 7}').seq
    7
    >>> read('{"v": 1, "type": "confirm", "save": true}').to_event(time_ns=5, seat="player")
    Confirm(time_ns=5, seat='player', save=True, is_completed=False)
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="surrogatepass"))
    if size > MOST_BYTES:
        raise InvalidMessageError(Error("too_large", f"expected a message of at most {MOST_BYTES} bytes, got {size}"))
    try:
        message: Received = READER.validate_json(text)
    except ValidationError as error:
        raise InvalidMessageError(_answer(error)) from None
    return message


def _answer(error: ValidationError) -> Error:
    """Describes the first problem, without a copy of the input."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:200]
    code = "version" if where.split(".")[-1:] == ["v"] else _CODES.get(first["type"], "field")
    return Error(code, first["msg"][:500], where)
