"""What browser and server tell each other while an episode is played: JSON, version 1.

Every message has `"v": 1` and a `"type"`. What is not understood changes nothing, and is answered by an `error`.
Frames travel the other way as bytes, see `rlds_kit.studio.frames.header`.
"""

from typing import Annotated, Any, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.studio.frames.picture import Quality

with needs("studio"):
    from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

VERSION: Final = 1
MOST_BYTES: Final = 16_384
"""Of a message from a browser."""
MOST_KEYS: Final = 64
_U32: Final = 2**32 - 1
_I63: Final = 2**63 - 1

Name = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Analog = Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)]
Sequence = Annotated[int, Field(ge=0, le=_U32)]


class _Message(BaseModel):
    """Strict: nothing is converted, nothing is passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    v: Literal[1] = VERSION


class _Asked(_Message):
    v: Literal[1]


class Hello(_Asked):
    """The first message: who comes."""

    type: Literal["hello"]
    token: Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Keys(_Asked):
    """Everything that is held now, whenever that changes; `shown`: the latest frame painted; `time`: in ns."""

    type: Literal["keys"]
    held: Annotated[dict[Name, Analog], Field(max_length=MOST_KEYS)]
    shown: Sequence | None = None
    time: Annotated[int, Field(ge=0, le=_I63)] | None = None


class Ack(_Asked):
    """A frame was painted, and all before it."""

    type: Literal["ack"]
    seq: Sequence


class Start(_Asked):
    """The person is ready to begin."""

    type: Literal["start"]


class Resume(_Asked):
    """The person wants to go on."""

    type: Literal["resume"]


class Pause(_Asked):
    """The person wants a pause."""

    type: Literal["pause"]


class Cancel(_Asked):
    """The person breaks the episode off."""

    type: Literal["cancel"]


class Confirm(_Asked):
    """What becomes of the episode."""

    type: Literal["confirm"]
    save: bool
    completed: bool = False


class Leave(_Asked):
    """The person goes, and does not come back."""

    type: Literal["leave"]


class Drive(_Asked):
    """Somebody else is to act from the person's seat, or the person again, from the next step on."""

    type: Literal["drive"]
    driver: Literal["human", "policy", "nobody"]


class Rate(_Asked):
    """Steps a second."""

    type: Literal["rate"]
    fps: Annotated[float, Field(allow_inf_nan=False)]


class SetQuality(_Asked):
    """Of pictures."""

    type: Literal["quality"]
    level: Annotated[Quality, Field(strict=False)]


class Camera(_Asked):
    """Which view to see."""

    type: Literal["camera"]
    n: Annotated[int, Field(ge=0, le=99)]


class Reward(_Asked):
    """A judgement of a step of this episode; without `step`, of the latest.

    Without `seat`, it is of one's own, and of the first where one looks on. `shown` and `time` are as in `Keys`; `key`
    and `device` say how it was given. It is answered by `Amended` when it is on the disk.
    """

    type: Literal["reward"]
    value: Annotated[float, Field(allow_inf_nan=False)]
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    seat: Name | None = None
    step: Annotated[int, Field(ge=0, le=_I63)] | None = None
    episode: Annotated[int, Field(ge=0, le=_I63)] | None = None
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
    shown: Sequence | None = None
    time: Annotated[int, Field(ge=0, le=_I63)] | None = None
    key: Name | None = None
    device: Literal["keyboard", "pointer", "gamepad"] | None = None


class Say(_Asked):
    """Text for other seats; for all of them if `to` is empty."""

    type: Literal["say"]
    content: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    to: Annotated[list[Name], Field(max_length=16)] = []


FromBrowser = Annotated[
    Hello
    | Keys
    | Ack
    | Start
    | Resume
    | Pause
    | Cancel
    | Confirm
    | Leave
    | Drive
    | Rate
    | SetQuality
    | Camera
    | Reward
    | Say,
    Field(discriminator="type"),
]


class KeyAction(BaseModel):
    """Keys that are held together, and what they do."""

    keys: tuple[str, ...]
    name: str


class Controls(BaseModel):
    """How the person acts."""

    chords: tuple[KeyAction, ...]
    axes: tuple[tuple[tuple[str, float], ...], ...]


class Welcome(_Message):
    """The person is in; `seat` is null for those who only look."""

    type: Literal["welcome"] = "welcome"
    session: str
    seat: str | None
    seats: tuple[str, ...]
    policies: tuple[str, ...]
    """Seats that a policy can drive."""
    controls: Controls
    instructions: str
    environment: str
    cameras: tuple[str, ...]
    turn: str
    fps: float
    quality: Quality
    camera: int
    window: int


class Looks(_Message):
    """How everybody sees the environment from now on, for somebody has chosen so."""

    type: Literal["look"] = "look"
    quality: Quality
    camera: int


class State(_Message):
    """Where the episode stands; step and reward between two of these come with the frames."""

    type: Literal["state"] = "state"
    phase: str
    episode: int
    step: int
    totals: dict[str, float]
    fps: float
    reason: str
    seconds: float | None
    """Until the countdown, or the wait, is over."""


class Ask(_Message):
    """Whether to keep the episode."""

    type: Literal["ask"] = "ask"
    default_completed: bool
    is_over: bool


class Saved(_Message):
    """An episode is over and on the disk, or dropped because it had no step."""

    type: Literal["saved"] = "saved"
    episode: int
    id: str
    status: str
    reason: str
    steps: int
    totals: dict[str, float]
    is_kept: bool


class DriverNow(_Message):
    """Somebody else acts from a seat."""

    type: Literal["driver"] = "driver"
    seat: str
    driver: str


class Amended(_Message):
    """A judgement was taken, and is on the disk."""

    type: Literal["amended"] = "amended"
    seat: str
    step: int
    value: float
    aggregate: float


class Said(_Message):
    """What a seat told this one."""

    type: Literal["said"] = "said"
    sender: str
    content: str


class Notice(_Message):
    """Something to know."""

    type: Literal["notice"] = "notice"
    code: str
    message: str


class Error(_Message):
    """What was asked changed nothing."""

    type: Literal["error"] = "error"
    code: str
    message: str
    where: str = ""


ToBrowser = Welcome | Looks | State | Ask | Saved | DriverNow | Amended | Said | Notice | Error

_READER: Final[TypeAdapter[Any]] = TypeAdapter(FromBrowser)
_CODES: Final = {"json_invalid": "json", "union_tag_invalid": "type", "union_tag_not_found": "type"}


class NotUnderstoodError(ValueError):
    """A message from a browser means nothing; `error` is the answer to it."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


def read(text: str | bytes) -> FromBrowser:
    """A message from a browser.

    Args:
      text: JSON, at most `MOST_BYTES` in UTF-8.

    Raises:
      NotUnderstoodError: it is none.

    >>> read('{"v": 1, "type": "ack", "seq": 7}').seq
    7
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="surrogatepass"))
    if size > MOST_BYTES:
        said = f"expected a message of at most {MOST_BYTES} bytes, got {size}"
        raise NotUnderstoodError(Error(code="too_large", message=said))
    try:
        message: FromBrowser = _READER.validate_json(text)
    except ValidationError as error:
        raise NotUnderstoodError(_answer(error)) from None
    return message


def _answer(error: ValidationError) -> Error:
    """Says what is wrong first, without giving back what came."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:200]
    code = "version" if where.split(".")[-1:] == ["v"] else _CODES.get(first["type"], "field")
    return Error(code=code, message=first["msg"][:500], where=where)


def schema() -> dict[str, Any]:
    """The JSON schemas of both directions, for pages and other programs.

    >>> sorted(schema())
    ['from_browser', 'to_browser', 'version']
    """
    sent: TypeAdapter[Any] = TypeAdapter(ToBrowser)
    return {"version": VERSION, "from_browser": _READER.json_schema(), "to_browser": sent.json_schema()}
