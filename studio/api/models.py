"""Bodies of requests. Unknown fields are refused."""

import re
from typing import Annotated, Any, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.seating import SeatPlan, Together
from rlds_kit.studio.database.studies import Content, StudyEnvironment
from rlds_kit.trials.environments.schema import RESERVED

with needs("studio"):
    from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator, model_validator

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _one_line(text: str) -> str:
    """Refuses control characters and line breaks: names are also shown in terminals and lists."""
    if found := _CONTROL.search(text):
        raise ValueError(f"expected one line without control characters, got {found[0]!r} at {found.start()}")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True), AfterValidator(_one_line)]
Text = Annotated[str, StringConstraints(max_length=50_000)]
Email = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^@\s]+@[^@\s]+$"), AfterValidator(_one_line)]
RowId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
EnvironmentId = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^(?:(?:[\w.-]+/)?[\w.-]+|[A-Za-z_][\w.]*:[A-Za-z_]\w*)$")
]
"""An id of Gymnasium, or "module:function" of dm_env, which must be one that the configured modules offer.

A request never causes an import.
"""
Token = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Strict(BaseModel):
    """Values of JSON: no value is converted, and no unknown field is allowed."""

    model_config = {"extra": "forbid", "strict": True, "frozen": True}


class Body(Strict):
    """The base of all bodies."""

    v: Literal[1] = 1


LOGINS: Final = ((("token",), ()), (("invitation", "name"), ("email",)), (("study",), ("name", "participant")))
"""Kinds of logins: the required fields, and the optional ones."""
_LOGIN_FIELDS: Final = ("token", "invitation", "study", "name", "email", "participant")


class Login(Body):
    """A login: with a token; with an invitation and a name; or with a study."""

    token: Token | None = None
    invitation: Token | None = None
    study: RowId | None = None
    name: Name | None = None
    email: Email | None = None
    participant: Name | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Login":
        given = {name for name in _LOGIN_FIELDS if getattr(self, name) is not None}
        if not any({*needed} <= given <= {*needed, *more} for needed, more in LOGINS):
            ways = "; ".join(" and ".join((*needed, *(f"{each}?" for each in more))) for needed, more in LOGINS)
            raise ValueError(f"expected one of: {ways}")
        return self


class Invitation(Body):
    """An invitation."""

    role: Literal[tuple(role.value for role in Role)]  # type: ignore[valid-type]  # pydantic's, made of the roles
    uses: Annotated[int, Field(ge=1, le=100_000)] | None = 1
    days: Annotated[float, Field(gt=0, le=365)] = 14.0


_KEYS: Final = (
    r"Arrow(?:Up|Down|Left|Right)|Key[B-CE-RT-VX-Z]|Digit\d|Numpad\d|Space|Enter|Shift(?:Left|Right)|Comma|Period"
    r"|Semicolon|Quote|BracketLeft|BracketRight|Minus|Equal|Backquote|Backslash"
)
"""Names of keys in the browser (KeyboardEvent.code). W, A, S and D are arrows; Escape and Slash pause."""
_CHORD: Final = re.compile(rf"(?:{_KEYS})(?:\+(?:{_KEYS})){{0,3}}")


def _chord(text: str) -> str:
    """Keys that are down together, as "ArrowUp+Space"."""
    if not _CHORD.fullmatch(text) or len(set(text.split("+"))) < len(text.split("+")):
        raise ValueError(
            "expected names of keys, at most four with + between them, such as ArrowLeft, KeyJ or ArrowUp+Space; "
            f"W, A, S and D are the arrows, Escape and / pause; got {text!r}"
        )
    return "+".join(sorted(text.split("+")))


Chord = Annotated[str, StringConstraints(max_length=80), AfterValidator(_chord)]


class ActionRow(Strict):
    """A discrete action: its name, which participants see, and the keys that trigger it."""

    name: Annotated[Name, StringConstraints(max_length=80)]
    keys: Annotated[list[Chord], Field(max_length=8)]


class ControlTable(Strict):
    """Keys and names of all discrete actions in order, and the number of the action for when no key is pressed."""

    actions: Annotated[list[ActionRow], Field(min_length=1, max_length=1000)]
    default: Annotated[int, Field(ge=0)]

    @field_validator("actions")
    @classmethod
    def _each_key_once(cls, actions: list[ActionRow]) -> list[ActionRow]:
        rows: dict[str, list[int]] = {}
        for number, row in enumerate(actions):
            for chord in row.keys:
                rows.setdefault(chord, []).append(number)
        if twice := {chord: numbers for chord, numbers in rows.items() if len(numbers) > 1}:
            listed = "; ".join(f"{chord} for the actions {', '.join(map(str, of))}" for chord, of in twice.items())
            raise ValueError(f"expected each key for one action, got {listed}")
        return actions

    @model_validator(mode="after")
    def _default_is_one(self) -> "ControlTable":
        if self.default >= len(self.actions):
            raise ValueError(f"default: expected one of the actions 0 to {len(self.actions) - 1}, got {self.default}")
        return self


class Seat(Strict):
    """A seat of an environment; see `SeatPlan`."""

    name: Annotated[Name, StringConstraints(max_length=64)]
    is_human: bool = True
    actor: Annotated[str, StringConstraints(max_length=200)] = ""
    config: dict[str, Any] = {}
    is_required: bool = True
    default_action: int | Annotated[list[float], Field(max_length=64)] | None = None
    idle_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    controls: ControlTable | None = None
    instructions: Text = ""


Whose = Literal["one", "all", "vote", "nobody"]


class Rules(Strict):
    """How people are matched, and what they decide together; see `Together`."""

    fill_seconds: Annotated[float, Field(ge=0, le=3600)] | None = None
    wait_seconds: Annotated[float, Field(gt=0, le=86_400)] = 900.0
    most_waiting: Annotated[int, Field(ge=1, le=100_000)] = 1000
    countdown_seconds: Annotated[float, Field(ge=0, le=60)] = 3.0
    matchmaker: Annotated[str, StringConstraints(max_length=200)] = ""
    within_ms: Annotated[float, Field(ge=0, le=60_000)] = 50.0
    longest_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    pause: Whose = "one"
    cancel: Whose = "one"
    confirm: Whose = "one"
    onlookers: bool = True


class Environment(Strict):
    """An environment of a study."""

    id: RowId | None = None
    name: Name
    instructions: Text = ""
    environment: EnvironmentId
    interface: Literal["gymnasium", "pettingzoo", "dm_env"] | None = None
    """Must agree with the id; None: as the id has it."""
    kwargs: dict[str, Any] = {}
    turn: Literal["clock", "press", "hold", "release"] = "clock"
    fps: Annotated[float, Field(ge=1, le=60)] = 15.0
    max_steps: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    controls: ControlTable | None = None
    seats: Annotated[list[Seat], Field(max_length=64)] = []
    together: Rules = Rules()

    @field_validator("seats")
    @classmethod
    def _each_name_once(cls, seats: list[Seat]) -> list[Seat]:
        names = [each.name for each in seats]
        if len(set(names)) < len(names):
            raise ValueError(f"expected seats with names of their own, got {', '.join(names)}")
        return seats

    @field_validator("kwargs")
    @classmethod
    def _nothing_reserved(cls, kwargs: dict[str, Any]) -> dict[str, Any]:
        if reserved := RESERVED & kwargs.keys():
            raise ValueError(f"the studio itself sets {', '.join(sorted(reserved))}")
        return kwargs

    @model_validator(mode="after")
    def _of_its_interface(self) -> "Environment":
        if self.interface == "pettingzoo":
            return self  # its ids have the form of other ids; the studio checks that they exist
        if self.interface not in {None, self._interface}:
            raise ValueError(f"expected the interface {self._interface} for {self.environment}, got {self.interface}")
        return self

    @property
    def _interface(self) -> str:
        return "dm_env" if ":" in self.environment else "gymnasium"

    def content(self) -> StudyEnvironment:
        """For the database."""
        values = {**self.model_dump(), "id": self.id or "", "interface": self.interface or self._interface}
        seats = tuple(SeatPlan(**each.model_dump()) for each in self.seats)
        return StudyEnvironment(**{**values, "seats": seats, "together": Together(**self.together.model_dump())})


Environments = Annotated[list[Environment], Field(min_length=1, max_length=64)]


class NewStudy(Body):
    """A study."""

    name: Name
    description: Annotated[str, StringConstraints(max_length=2_000)] = ""
    instructions: Text = ""
    environments: Environments

    def content(self) -> Content:
        """For the database."""
        return Content(
            name=self.name,
            description=self.description,
            instructions=self.instructions,
            environments=tuple(each.content() for each in self.environments),
        )


class ChangedStudy(NewStudy):
    """The next version of a study."""

    version: Annotated[int, Field(ge=1, lt=2**31 - 1)]
    """The version that was changed."""


class State(Body):
    """Whether others may play."""

    enabled: bool


class Check(Body):
    """Environments that a study is to have."""

    environments: Environments


class ControlsWanted(Body):
    """An environment whose keys are requested."""

    environment: Environment


class NewSession(Body):
    """The study and environment to play."""

    study: RowId
    environment: RowId


class EpisodesWanted(BaseModel):
    """The query of the table of episodes; text, as in a URL."""

    model_config = {"extra": "forbid", "frozen": True}

    study: RowId | None = None
    session: RowId | None = None
    user: Annotated[str, StringConstraints(max_length=64)] | None = None
    status: list[Literal["recording", "completed", "cancelled", "rejected", "abandoned"]] = []
    tag: Annotated[str, StringConstraints(max_length=200)] | None = None
    page: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    size: Annotated[int, Field(ge=1, le=500)] = 50
    sort: Annotated[str, StringConstraints(pattern="^-?(started|environment|status|steps|total_reward|duration)$")] = (
        "-started"
    )
