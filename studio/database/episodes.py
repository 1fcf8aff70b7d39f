"""Episodes: one row for each that is stored or being played. The steps are in the recording."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError, StaleError
from rlds_kit.studio.database.roles import Relation
from rlds_kit.studio.database.sessions import RECORDING, Session
from rlds_kit.trials.engine.phase import Status

with needs("studio"):
    from sqlalchemy import (
        ColumnElement,
        Connection,
        Row,
        Select,
        case,
        delete,
        false,
        func,
        insert,
        or_,
        select,
        true,
        update,
    )

_TOGETHER: Final = 500
"""Number of ids in one statement: databases have a limit."""
STATUSES: Final = (RECORDING, *(status.value for status in Status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """An episode.

    Attributes:
      id: its id in the recording.
      public_id: its id in published data.
      session_id: id of the session.
      number: its number in the session.
      study_id: id of the study.
      study_owner_id: account that made the study.
      study_name: for people.
      study_version: the version that was played.
      environment_id: of the row of the environment.
      environment_name: for people.
      user_id: account that recorded it.
      agent_id: of the same person, in published data.
      directory: of the recording, below the studio's.
      status: "recording", or as `trials.Status`.
      reason: why it ended.
      started_ns: when it began.
      ended_ns: when it ended.
      steps: number of steps.
      total_reward: sum of the rewards; None: it is not a number.
      tags: of the episode, in alphabetical order.
      people: those who could sit in a seat, by account, with their ids in published data.
    """

    id: str
    public_id: str
    session_id: str
    number: int
    study_id: str
    study_owner_id: str
    study_name: str
    study_version: int
    environment_id: str
    environment_name: str
    user_id: str
    agent_id: str
    directory: str
    status: str
    reason: str
    started_ns: int
    ended_ns: int | None
    steps: int
    total_reward: float | None
    tags: tuple[str, ...]
    people: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which episodes to select.

    Attributes:
      viewer: the account that requests them.
      relations: the account must have one of these to an episode; see `accounts.permissions`.
      study: id of a study.
      session: id of a session.
      agent: id of a person, in published data.
      statuses: the status must be one of these.
      tag: the episode must have it.
      sort: one of SORTS.
      is_descending: whether the greatest comes first.
      page: the first is 0.
      size: of a page.
    """

    viewer: str
    relations: frozenset[Relation]
    study: str | None = None
    session: str | None = None
    agent: str | None = None
    statuses: tuple[str, ...] = ()
    tag: str | None = None
    sort: str = "started"
    is_descending: bool = True
    page: int = 0
    size: int = 50


_ROWS: Final = tables.episodes.c
SORTS: Final[dict[str, ColumnElement[Any]]] = {
    "started": _ROWS.started_ns,
    "environment": tables.study_environments.c.name,
    "status": _ROWS.status,
    "steps": _ROWS.steps,
    "total_reward": _ROWS.total_reward,
    "duration": func.coalesce(_ROWS.ended_ns - _ROWS.started_ns, 0),
}


def begin(
    connection: Connection, episode: str, public_id: str, number: int, session: Session, version: int, directory: str
) -> None:
    """Writes the row of an episode that begins.

    Args:
      connection: to the database.
      episode: its id in the recording.
      public_id: its id in published data.
      number: of it in the session; see `sessions.next_number`.
      session: that it belongs to.
      version: of the study.
      directory: of the recording, below the studio's.
    """
    connection.execute(
        insert(tables.episodes).values(
            id=episode,
            public_id=public_id,
            number=number,
            session_id=session.id,
            study_id=session.study_id,
            study_version=version,
            environment_id=session.environment_id,
            user_id=session.user_id,
            directory=directory,
            status=RECORDING,
            reason="",
            started_ns=tables.now_ns(),
            steps=0,
            total_reward=0.0,
        )
    )


def finish(connection: Connection, episode: str, status: Status, reason: str, steps: int, total_reward: float) -> bool:
    """Stores how an episode ended.

    Returns:
      Whether it is stored: one that was abandoned before its first step is not.

    Raises:
      StaleError: it has ended already, or there is no such episode.
    """
    playing = (_ROWS.id == episode, _ROWS.status == RECORDING)
    is_kept = status is not Status.ABANDONED or steps > 0
    total = None if math.isnan(total_reward) else total_reward
    values = {"status": status.value, "reason": reason, "steps": steps, "total_reward": total}
    now_ns = tables.now_ns()
    ended_ns = case((_ROWS.started_ns > now_ns, _ROWS.started_ns), else_=now_ns)  # a clock may be set back
    done = connection.execute(
        update(tables.episodes).where(*playing).values(ended_ns=ended_ns, **values)
        if is_kept
        else delete(tables.episodes).where(*playing)
    )
    if done.rowcount == 0:
        raise StaleError(f"the episode {episode} is not being played")
    return is_kept


def ended(connection: Connection, directory: str) -> frozenset[str]:
    """The episodes of a recording that have ended, or were deleted: their rows are final."""
    over = select(_ROWS.id).where(_ROWS.directory == directory, _ROWS.status != RECORDING)
    deleted = select(tables.deletions.c.episode_id).where(tables.deletions.c.directory == directory)
    return frozenset(row.id for row in connection.execute(over.union(deleted)))


def exists(connection: Connection, episode: str) -> bool:
    """Whether an episode has a row."""
    return connection.execute(select(_ROWS.id).where(_ROWS.id == episode)).first() is not None


def missing(connection: Connection, episodes: Sequence[str]) -> frozenset[str]:
    """Those of the given episodes that have no row."""
    found: set[str] = set()
    for first in range(0, len(episodes), _TOGETHER):
        some = episodes[first : first + _TOGETHER]
        found.update(row.id for row in connection.execute(select(_ROWS.id).where(_ROWS.id.in_(some))))
    return frozenset(episodes) - found


def get(connection: Connection, episode: str) -> Episode:
    """An episode.

    Raises:
      NotFoundError: there is none.
    """
    row = connection.execute(_select().where(_ROWS.id == episode)).first()
    if row is None:
        raise NotFoundError(f"there is no episode {episode}")
    return _episode(row, _tags(connection, [episode]), _people(connection, [row.session_id]))


def page(connection: Connection, query: Query) -> tuple[int, list[Episode]]:
    """A page of the table of episodes.

    Returns:
      The number of episodes on all pages, and the episodes of the page.
    """
    wanted = _wanted(query)
    counted = select(func.count()).select_from(_joined()).where(*wanted)
    total = int(connection.execute(counted).scalar_one())
    order = SORTS[query.sort].desc() if query.is_descending else SORTS[query.sort].asc()
    cut = _select().where(*wanted).order_by(order, _ROWS.id).offset(query.page * query.size).limit(query.size)
    rows = connection.execute(cut).all()
    tags = _tags(connection, [row.id for row in rows])
    people = _people(connection, [row.session_id for row in rows])
    return total, [_episode(row, tags, people) for row in rows]


def remove(connection: Connection, episode: str) -> None:
    """Deletes the row of an episode, and stores which server still has its steps in a recording.

    Raises:
      NotFoundError: there is none.
      StaleError: it is being played.
    """
    found = get(connection, episode)
    if found.status == RECORDING:
        raise StaleError("the episode is being played; end it first")
    played = tables.sessions.c
    server = connection.execute(select(played.server).where(played.id == found.session_id)).scalar_one()
    values = {"server": server, "directory": found.directory, "deleted_ns": tables.now_ns()}
    connection.execute(insert(tables.deletions).values(episode_id=episode, **values))
    connection.execute(delete(tables.episodes).where(_ROWS.id == episode))


def deleted(connection: Connection, server: str) -> dict[str, list[str]]:
    """The deleted episodes whose steps are still in recordings of a server, by directory."""
    found: dict[str, list[str]] = {}
    for row in connection.execute(select(tables.deletions).where(tables.deletions.c.server == server)):
        found.setdefault(row.directory, []).append(row.episode_id)
    return found


def forget_deleted(connection: Connection, episodes: Iterable[str]) -> None:
    """Forgets deleted episodes, once their steps are removed."""
    rows = tables.deletions
    for each in episodes:
        connection.execute(delete(rows).where(rows.c.episode_id == each))


def drop_playing(connection: Connection, sessions: Iterable[str]) -> None:
    """Deletes the rows of those episodes of some sessions that are marked as being played."""
    playing = delete(tables.episodes).where(_ROWS.status == RECORDING)
    for each in sessions:
        connection.execute(playing.where(_ROWS.session_id == each))


def set_tags(connection: Connection, episode: str, tags: Iterable[str]) -> None:
    """Copies the tags of an episode from the layer of its recording, for the table to show and filter."""
    rows = tables.episode_tags
    connection.execute(delete(rows).where(rows.c.episode_id == episode))
    for tag in sorted(set(tags)):
        connection.execute(insert(rows).values(episode_id=episode, tag=tag))


def _wanted(query: Query) -> list[ColumnElement[bool]]:
    wanted = [or_(false(), *(_relation(each, query.viewer) for each in query.relations))]
    equal = {_ROWS.study_id: query.study, _ROWS.session_id: query.session}
    wanted += [column == value for column, value in equal.items() if value is not None]
    if query.agent is not None:
        seats = tables.session_seats.c
        played = _ROWS.session_id.in_(select(seats.session_id).where(seats.agent_id == query.agent))
        wanted.append(or_(tables.sessions.c.agent_id == query.agent, played))
    if query.statuses:
        wanted.append(_ROWS.status.in_(query.statuses))
    if query.tag is not None:
        tagged = tables.episode_tags.c
        wanted.append(_ROWS.id.in_(select(tagged.episode_id).where(tagged.tag == query.tag)))
    return wanted


def _relation(relation: Relation, viewer: str) -> ColumnElement[bool]:
    match relation:
        case Relation.OWN:
            return _ROWS.user_id == viewer
        case Relation.SHARED:
            seats = tables.session_seats.c
            return _ROWS.session_id.in_(select(seats.session_id).where(seats.user_id == viewer))
        case Relation.OF_OWN_STUDY:
            return tables.studies.c.owner_id == viewer
        case Relation.OTHER:
            return true()
        case Relation.ENABLED:
            return false()  # episodes are never public


def _joined() -> Any:
    studies, sessions, environments = tables.studies, tables.sessions, tables.study_environments
    joined = tables.episodes.join(studies, studies.c.id == _ROWS.study_id)
    joined = joined.join(sessions, sessions.c.id == _ROWS.session_id)
    return joined.join(environments, environments.c.id == _ROWS.environment_id)


def _select() -> "Select[Any]":
    more = (
        tables.studies.c.owner_id.label("study_owner_id"),
        tables.studies.c.name.label("study_name"),
        tables.sessions.c.agent_id,
        tables.study_environments.c.name.label("environment_name"),
    )
    return select(tables.episodes, *more).select_from(_joined())


def _tags(connection: Connection, episodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    rows = tables.episode_tags.c
    found: dict[str, list[str]] = {}
    query = select(rows.episode_id, rows.tag).where(rows.episode_id.in_(episodes))
    for episode, tag in connection.execute(query):
        found.setdefault(episode, []).append(tag)
    return {episode: tuple(sorted(tags)) for episode, tags in found.items()}


def _people(connection: Connection, sessions: Sequence[str]) -> dict[str, dict[str, str]]:
    rows = tables.session_seats.c
    found: dict[str, dict[str, str]] = {}
    for row in connection.execute(select(tables.session_seats).where(rows.session_id.in_(set(sessions)))):
        found.setdefault(row.session_id, {})[row.user_id] = row.agent_id
    return found


def _episode(row: Row[Any], tags: Mapping[str, tuple[str, ...]], people: Mapping[str, Mapping[str, str]]) -> Episode:
    values = dict(row._mapping)  # noqa: SLF001  its public name
    return Episode(**values, tags=tags.get(row.id, ()), people=people.get(row.session_id, {}))
