"""Participations: one row for each time that a person or a program was in a seat."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables

with needs("studio"):
    from sqlalchemy import Connection, insert, select, update

HUMAN: Final = "human"
PROGRAM: Final = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Participation:
    """A person or a program was in a seat.

    Attributes:
      id: of the row.
      session_id: of the session.
      seat: its name.
      user_id: the account of a person; None: a program.
      agent_id: of a person, in published data; of a program, its implementation.
      kind: HUMAN or PROGRAM.
      version: of the program; "": it is not known.
      joined_ns: since when.
      left_ns: until when; None: it is still there.
    """

    id: str
    session_id: str
    seat: str
    user_id: str | None
    agent_id: str
    kind: str
    version: str = ""
    joined_ns: int
    left_ns: int | None = None


def write(connection: Connection, participation: Participation) -> None:
    """Writes a participation that begins or ends; a second call changes nothing."""
    rows, values = tables.participations, asdict(participation)
    known = update(rows).where(rows.c.id == participation.id)
    if connection.execute(known.values(left_ns=participation.left_ns)).rowcount == 0:
        connection.execute(insert(rows).values(**values))


def of_session(connection: Connection, session: str) -> list[Participation]:
    """The participations in a session, in the order in which they began."""
    rows = tables.participations
    found: Any = connection.execute(
        select(rows).where(rows.c.session_id == session).order_by(rows.c.joined_ns, rows.c.seat)
    )
    return [Participation(**row._mapping) for row in found]  # noqa: SLF001  its public name
