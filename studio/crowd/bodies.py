"""Bodies of requests about a crowd. Unknown fields are refused."""

from typing import Annotated

from rlds_kit.base.extras import needs
from rlds_kit.studio.api.models import Body, Name, RowId

with needs("studio"):
    from pydantic import Field, StringConstraints

_Answer = Annotated[str, StringConstraints(max_length=10_000)] | int | float | None
_Parameter = Annotated[str, StringConstraints(max_length=500)]
Note = Annotated[str, StringConstraints(min_length=1, max_length=4_000, strip_whitespace=True)]


class Arriving(Body):
    """A participant opens the link of a group; `parameters` are those of the address."""

    group: Name
    parameters: Annotated[dict[Annotated[str, StringConstraints(max_length=100)], _Parameter], Field(max_length=50)]
    again: bool = False


class Consenting(Body):
    """They accept the text with this hash."""

    accepted: Annotated[str, StringConstraints(max_length=64)]


class Answering(Body):
    """Answers of a form, by name of the question."""

    answers: Annotated[dict[Annotated[str, StringConstraints(max_length=200)], _Answer], Field(max_length=500)]


class Measured(Body):
    """What a browser says of itself; see `crowd.tasks.Device`."""

    width: Annotated[int, Field(ge=0, le=100_000)]
    height: Annotated[int, Field(ge=0, le=100_000)]
    has_keyboard: bool
    is_touch: bool = False
    browser: Annotated[str, StringConstraints(max_length=100)] = ""
    latency_ms: Annotated[float, Field(ge=0, le=1e6)] = 0.0


class Choosing(Body):
    """A participant in the lobby wants a place; `task` is a card, in groups by choice."""

    task: Name | None = None


class Finishing(Body):
    """A participant is done; `early`: they know that not all is."""

    early: bool = False


class Writing(Body):
    """A message; of the experimenter to a `person`, or to everybody."""

    text: Note
    person: RowId | None = None


class Telling(Body):
    """A message of a participant."""

    text: Note


class Opening(Body):
    """Whether all wait, and whether no new participants are admitted."""

    paused: bool
    closed: bool


class Redeeming(Body):
    """A completion code."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=100)]


class Paid(Body):
    """Assignments that were paid, and those whose prizes were."""

    assignments: Annotated[list[RowId], Field(max_length=100_000)]
    prizes: Annotated[tuple[RowId, ...], Field(max_length=100_000, strict=False)] = ()


Toml = Annotated[str, StringConstraints(max_length=200_000)]


class Checking(Body):
    """What a crowd may declare."""

    text: Toml


class Declaring(Body):
    """What a crowd declares from now on; it was made from this version."""

    text: Toml
    version: Annotated[int, Field(ge=0)]


class Drawing(Body):
    """A raffle of the tickets with this hash."""

    commitment: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    phrase: Annotated[str, StringConstraints(min_length=1, max_length=1_000, strip_whitespace=True)]
    prizes: Annotated[int, Field(ge=1, le=100_000)]
    prize_cents: Annotated[int, Field(ge=1, le=100_000_000)]
