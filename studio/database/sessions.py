"""Sessions: one visit of one or several people to one environment of a study, with any number of episodes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.trials.engine.phase import Status
from rlds_kit.trials.environments.playable import SEAT

with needs("studio"):
    from sqlalchemy import Connection, Row, Select, func, insert, select, update

RECORDING: Final = "recording"
"""The status of an episode that is being played."""
SERVER_LOST: Final = "the server ended while it was played"


@dataclass(frozen=True, slots=True)
class Seated:
    """Who may sit in a seat.

    Attributes:
      user_id: the account.
      agent_id: of the same person, in published data.
    """

    user_id: str
    agent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A visit.

    Attributes:
      id: of the session.
      study_id: of the study.
      study_owner_id: who made the study.
      environment_id: of the row of the environment.
      user_id: the account that plays; of several, the first.
      server: the server that it is, or was, open on.
      agent_id: of the person, in published data.
      started_ns: when it began.
      ended_ns: when it ended; None: it is open.
      is_valid: False if the server ended while it was open.
      reason: why it ended.
      people: by seat, who may sit there.
    """

    id: str
    study_id: str
    study_owner_id: str
    environment_id: str
    user_id: str
    server: str
    agent_id: str
    started_ns: int
    ended_ns: int | None
    is_valid: bool
    reason: str = ""
    people: Mapping[str, Seated] = field(default_factory=dict)

    @property
    def directory(self) -> str:
        """Of the recording, below the studio's: one for each environment of a study."""
        return f"{self.study_id}/{self.environment_id}"


def add(
    connection: Connection,
    study: str,
    environment: str,
    user: str,
    agent_id: str,
    server: str,
    people: Mapping[str, Seated] | None = None,
) -> Session:
    """Opens a session.

    Args:
      connection: to the database.
      study: of the study.
      environment: id of the row of the environment.
      user: the account that plays; of several, the first.
      agent_id: of the person, in published data; see `accounts.anonymous`.
      server: that it is open on.
      people: by seat, who may sit there; None: the user, in the only seat.
    """
    made, ids = tables.new_id(), {"study_id": study, "environment_id": environment, "user_id": user}
    rest = {"server": server, "agent_id": agent_id, "started_ns": tables.now_ns(), "is_valid": True}
    connection.execute(insert(tables.sessions).values(id=made, **ids, **rest))
    for seat, each in (people or {SEAT: Seated(user, agent_id)}).items():
        values = {"session_id": made, "seat": seat, "user_id": each.user_id, "agent_id": each.agent_id}
        connection.execute(insert(tables.session_seats).values(**values))
    return get(connection, made)


def get(connection: Connection, session: str) -> Session:
    """A session.

    Raises:
      NotFoundError: there is none.
    """
    row = connection.execute(_select().where(tables.sessions.c.id == session)).first()
    if row is None:
        raise NotFoundError(f"there is no session {session}")
    return _with_people(connection, [_session(row)])[0]


def of_study(connection: Connection, study: str, among: Collection[str]) -> list[Session]:
    """Those of the given sessions that belong to a study, the latest first."""
    rows = tables.sessions.c
    wanted = _select().where(rows.study_id == study, rows.id.in_(among)).order_by(rows.started_ns.desc())
    return _with_people(connection, [_session(row) for row in connection.execute(wanted)])


def end(connection: Connection, session: str, reason: str = "") -> Session:
    """Ends a session; one that has already ended does not change."""
    rows = tables.sessions.c
    open_one = update(tables.sessions).where(rows.id == session, rows.ended_ns.is_(None))
    connection.execute(open_one.values(ended_ns=tables.now_ns(), reason=reason))
    return get(connection, session)


def left_open(connection: Connection, server: str) -> list[Session]:
    """The sessions that a server has not ended."""
    rows = tables.sessions.c
    found = connection.execute(_select().where(rows.server == server, rows.ended_ns.is_(None)))
    return [_session(row) for row in found]


def end_all(connection: Connection, server: str, but: Collection[str] = ()) -> None:
    """Ends the sessions of a server that is shut down.

    Args:
      connection: to the database.
      server: its name.
      but: sessions that stay open because something was not written: the next start recovers it.
    """
    rows = tables.sessions.c
    left = update(tables.sessions).where(rows.server == server, rows.ended_ns.is_(None), rows.id.not_in(but))
    connection.execute(left.values(ended_ns=tables.now_ns()))


def end_left_open(connection: Connection, server: str) -> int:
    """Ends what a killed server left open: its sessions become invalid, their open episodes abandoned.

    Args:
      connection: to the database.
      server: its name; it must not run.

    Returns:
      How many sessions were open.
    """
    rows, now = tables.sessions.c, tables.now_ns()
    left = select(rows.id).where(rows.server == server, rows.ended_ns.is_(None))
    episodes = tables.episodes.c
    connection.execute(
        update(tables.episodes)
        .where(episodes.session_id.in_(left), episodes.status == RECORDING)
        .values(status=Status.ABANDONED.value, reason=SERVER_LOST, ended_ns=now)
    )
    there = tables.participations.c
    gone = update(tables.participations).where(there.session_id.in_(left), there.left_ns.is_(None))
    connection.execute(gone.values(left_ns=now))
    done = update(tables.sessions).where(rows.server == server, rows.ended_ns.is_(None))
    return int(connection.execute(done.values(ended_ns=now, is_valid=False, reason=SERVER_LOST)).rowcount)


def next_number(connection: Connection, session: str) -> int:
    """The number of the next episode of a session."""
    highest = select(func.max(tables.episodes.c.number)).where(tables.episodes.c.session_id == session)
    found = connection.execute(highest).scalar()
    return 0 if found is None else int(found) + 1


def _select() -> "Select[Any]":
    return select(tables.sessions, tables.studies.c.owner_id.label("study_owner_id")).join(tables.studies)


def _with_people(connection: Connection, found: Sequence[Session]) -> list[Session]:
    rows = tables.session_seats
    people: dict[str, dict[str, Seated]] = {each.id: {} for each in found}
    for row in connection.execute(select(rows).where(rows.c.session_id.in_(people)).order_by(rows.c.seat)):
        people[row.session_id][row.seat] = Seated(row.user_id, row.agent_id)
    return [replace(each, people=people[each.id]) for each in found]


def _session(row: Row[Any]) -> Session:
    return Session(**row._mapping)  # noqa: SLF001  its public name
