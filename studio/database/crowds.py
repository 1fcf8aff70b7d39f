"""Crowds: the rows of their people, the data that these sent, and messages to them.

The row of a person has their current step, and nothing that identifies them; what they sent is in `personal`.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import Reward, Terms
from rlds_kit.crowd.tasks import Person, Place, Stage
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError, TakenError

with needs("studio"):
    from sqlalchemy import Connection, Row, insert, or_, select, update

_PLAIN: Final = tuple(
    each.name for each in dataclasses.fields(Person) if each.name not in {"stage", "left", "place", "is_ready"}
)
_OF_VISIT: Final = ("user_id", "session_id", "code_hash", "code_used_ns", "paid_ns", "prize_paid_ns")
_NOTHING: Final = Reward(0.0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class CrowdRow:
    """A crowd.

    Attributes:
      id: of the row.
      owner_id: the account that runs it.
      is_paused: whether all people wait before their next step.
      is_closed: whether new people are refused.
    """

    id: str
    owner_id: str
    is_paused: bool
    is_closed: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """The row of a person of a crowd.

    Attributes:
      person: their state.
      user_id: their account.
      session_id: the session that they play, or played last.
      code_hash: of their completion code; None: they have none yet.
      code_used_ns: when a person redeemed it.
      earned: what the recordings were worth when their game was over.
      paid_ns: when it was noted that they were paid.
      terms: by which they are paid; None: their game has not begun.
      prize_paid_ns: when it was noted that the prize of a raffle was paid.
    """

    person: Person
    user_id: str
    session_id: str | None = None
    code_hash: str | None = None
    code_used_ns: int | None = None
    earned: Reward = _NOTHING
    paid_ns: int | None = None
    terms: Terms | None = None
    prize_paid_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the experimenter.

    Attributes:
      id: of the row.
      text: of the message.
      sent_ns: when it was sent.
    """

    id: str
    text: str
    sent_ns: int


def find_or_add(connection: Connection, owner: str, name: str) -> CrowdRow:
    """The crowd with a name; it is made if there is none."""
    rows = tables.crowds
    wanted = select(rows.c.id, rows.c.owner_id, rows.c.is_paused, rows.c.is_closed).where(rows.c.name == name)
    found = connection.execute(wanted).first()
    if found is None:
        values = {"id": tables.new_id(), "owner_id": owner, "is_paused": False, "is_closed": False}
        connection.execute(insert(rows).values(name=name, created_ns=tables.now_ns(), **values))
        return CrowdRow(**values)  # type: ignore[arg-type]  # as above
    return CrowdRow(*found)


def set_state(connection: Connection, crowd: CrowdRow, *, is_paused: bool, is_closed: bool) -> CrowdRow:
    """Pauses or closes a crowd, or not."""
    rows = tables.crowds
    connection.execute(update(rows).where(rows.c.id == crowd.id).values(is_paused=is_paused, is_closed=is_closed))
    return dataclasses.replace(crowd, is_paused=is_paused, is_closed=is_closed)


def visits(connection: Connection, crowd: str) -> list[Visit]:
    """The rows of all people of a crowd, in order of arrival."""
    rows = tables.crowd_people
    found = connection.execute(select(rows).where(rows.c.crowd_id == crowd).order_by(rows.c.arrived, rows.c.id))
    return [_visit(row) for row in found]


def write(connection: Connection, crowd: str, changed: Iterable[Visit]) -> None:
    """Writes rows: inserts new ones, updates existing ones."""
    rows = tables.crowd_people
    for each in changed:
        values = _values(each)
        if connection.execute(update(rows).where(rows.c.id == each.person.id).values(**values)).rowcount == 0:
            connection.execute(insert(rows).values(crowd_id=crowd, **values))


def redeem(connection: Connection, crowd: str, code_hash: str) -> str:
    """Marks a completion code as used; returns the person's id.

    Raises:
      NotFoundError: no person has this code.
      TakenError: it was used before.
    """
    rows = tables.crowd_people
    known = rows.c.crowd_id == crowd, rows.c.code_hash == code_hash
    unused = update(rows).where(*known, rows.c.code_used_ns.is_(None)).values(code_used_ns=tables.now_ns())
    is_used = connection.execute(unused).rowcount == 0
    person = connection.execute(select(rows.c.id).where(*known)).scalar()
    if person is None:
        raise NotFoundError("no person has this completion code; compare it letter by letter")
    if is_used:
        raise TakenError("this completion code was used before")
    return str(person)


def personal_of(connection: Connection, user: str) -> dict[str, Any]:
    """What a person sent: `source`, `device`, `answers`, `texts`; nothing after they were erased."""
    rows = tables.personal.c
    return dict(connection.execute(select(rows.crowd).where(rows.user_id == user)).scalar() or {})


def note_personal(connection: Connection, user: str, **more: Any) -> None:
    """Adds to what a person sent."""
    rows = tables.personal
    whole = {**personal_of(connection, user), **more}
    connection.execute(update(rows).where(rows.c.user_id == user).values(crowd=whole))


def participants(connection: Connection, crowd: str) -> Mapping[str, tuple[str | None, dict[str, Any]]]:
    """By person: their id at the platform, and what they sent."""
    people, personal = tables.crowd_people, tables.personal
    columns = people.c.id, personal.c.participant, personal.c.crowd
    wanted = select(*columns).join(personal, personal.c.user_id == people.c.user_id).where(people.c.crowd_id == crowd)
    return {row.id: (row.participant, row.crowd or {}) for row in connection.execute(wanted)}


def send(connection: Connection, crowd: str, text: str, person: str | None) -> None:
    """Sends a message to a person; None: to all people."""
    values = {"id": tables.new_id(), "crowd_id": crowd, "person_id": person, "text": text, "sent_ns": tables.now_ns()}
    connection.execute(insert(tables.crowd_messages).values(**values))


def messages(connection: Connection, crowd: str, person: str, since: float) -> Sequence[Message]:
    """The messages to a person, and those to all people since this person arrived, in order."""
    rows = tables.crowd_messages.c
    to_all = rows.person_id.is_(None) & (rows.sent_ns >= int(since * 1e9))
    wanted = select(rows.id, rows.text, rows.sent_ns).where(
        rows.crowd_id == crowd, or_(rows.person_id == person, to_all)
    )
    return [Message(*row) for row in connection.execute(wanted.order_by(rows.sent_ns, rows.id))]


def _values(visit: Visit) -> dict[str, Any]:
    person, place, earned = visit.person, visit.person.place, visit.earned
    return {
        **{name: getattr(person, name) for name in _PLAIN},
        "stage": person.stage.value,
        "left": None if person.left is None else person.left.value,
        "task": None if place is None else place.task,
        "game": None if place is None else place.game,
        "seat": None if place is None else place.seat,
        **{name: getattr(visit, name) for name in _OF_VISIT},
        **{name: getattr(earned, name) for name in ("base_cents", "bonus_cents", "tickets")},
        "terms": None if visit.terms is None else visit.terms.as_json(),
    }


def _visit(row: "Row[Any]") -> Visit:
    values = row._mapping  # noqa: SLF001  its public name
    person = Person(
        **{name: values[name] for name in _PLAIN},
        stage=Stage(row.stage),
        left=None if row.left is None else Stage(row.left),
        place=None if row.task is None else Place(row.task, row.game, row.seat),
    )
    earned = Reward(row.completion, row.base_cents, row.bonus_cents, row.tickets)
    terms = None if row.terms is None else Terms.of_json(row.terms)
    return Visit(person, earned=earned, terms=terms, **{name: values[name] for name in _OF_VISIT})
