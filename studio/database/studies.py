"""Studies: what people play, in which environments. Every change makes a new version."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError, StaleError
from rlds_kit.studio.database.seating import ALONE, SeatPlan, Together, seats_of, together_of

with needs("studio"):
    from sqlalchemy import Connection, Row, delete, exists, insert, or_, select, update


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEnvironment:
    """An environment of a study.

    Attributes:
      id: of the row; "" before it has one.
      name: for people.
      instructions: in addition to those of the study.
      environment: its id for the interface, as "ALE/Breakout-v5".
      interface: "gymnasium", "pettingzoo" or "dm_env".
      kwargs: for making it, of JSON values.
      turn: what triggers a step, as `trials.Turn` names it.
      fps: steps per second.
      max_steps: after this number of steps an episode is truncated.
      controls: keys, names and default of discrete actions: `actions`, each with `name` and `keys`, and `default`;
        None: the known ones of the environment.
      seats: the settings of each agent's seat; empty: there is one seat, of a person.
      together: how people are matched, where there are seats for several.
    """

    id: str = ""
    name: str
    instructions: str = ""
    environment: str
    interface: str = "gymnasium"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    turn: str = "clock"
    fps: float = 15.0
    max_steps: int | None = None
    controls: Mapping[str, Any] | None = None
    seats: tuple[SeatPlan, ...] = ()
    together: Together = field(default_factory=Together)

    @property
    def human_seats(self) -> tuple[str, ...]:
        """The seats of people."""
        return tuple(each.name for each in self.seats or ALONE if each.is_human)

    @property
    def what_is_made(self) -> tuple[str, str, Mapping[str, Any]]:
        """What identifies the environment: if this changes, it gets a new id."""
        return self.interface, self.environment, self.kwargs


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a study, written by its designer.

    Attributes:
      name: of the study.
      description: in a few words.
      instructions: for people who play.
      environments: the environments to play, in order.
    """

    name: str
    description: str = ""
    instructions: str = ""
    environments: tuple[StudyEnvironment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study.

    Attributes:
      id: of the study.
      owner_id: the account that made it.
      version: from 1; each change of the content increases it by one.
      is_enabled: whether others may play.
      created_ns: when it was made.
      changed_ns: when this version was made.
      content: what the designer wrote.
    """

    id: str
    owner_id: str
    version: int
    is_enabled: bool
    created_ns: int
    changed_ns: int
    content: Content


def add(connection: Connection, owner: str, content: Content) -> Study:
    """Makes a study, which is not enabled."""
    study, now = tables.new_id(), tables.now_ns()
    values = {"id": study, "owner_id": owner, "version": 1, "is_enabled": False, "created_ns": now, "changed_ns": now}
    connection.execute(insert(tables.studies).values(**values, **_texts(content)))
    _write_environments(connection, study, content, {})
    return _written(connection, study)


def get(connection: Connection, study: str) -> Study:
    """A study.

    Raises:
      NotFoundError: there is none.
    """
    row = connection.execute(select(tables.studies).where(tables.studies.c.id == study)).first()
    if row is None:
        raise NotFoundError(f"there is no study {study}")
    return _study(row, _environments(connection, [study])[study])


def visible(connection: Connection, user: str, *, enabled: bool, others: bool) -> list[Study]:
    """The studies that an account may see, the newest first.

    Args:
      connection: to the database.
      user: the account; its own studies are always among them.
      enabled: whether those of others that are enabled are, too.
      others: whether all are.
    """
    rows = tables.studies.c
    wanted = [rows.owner_id == user]
    if enabled:
        wanted.append(rows.is_enabled.is_(True))
    query = select(tables.studies) if others else select(tables.studies).where(or_(*wanted))
    found = connection.execute(query.order_by(rows.created_ns.desc(), rows.id)).all()
    environments = _environments(connection, [row.id for row in found])
    return [_study(row, environments[row.id]) for row in found]


def change(connection: Connection, study: str, version: int, content: Content) -> Study:
    """Makes the next version of a study.

    An environment that stays has the same id. If its settings make a different environment, it gets a new id, and the
    episodes that were played stay with the old one.

    Args:
      connection: to the database.
      study: which.
      version: the version that was changed.
      content: of the next version.

    Raises:
      NotFoundError: there is no such study, or it has no environment of an id that is given.
      StaleError: the study has a newer version already.
    """
    rows = tables.studies.c
    values = {"version": version + 1, "changed_ns": tables.now_ns(), **_texts(content)}
    done = connection.execute(update(tables.studies).where(rows.id == study, rows.version == version).values(**values))
    if done.rowcount == 0:
        found = get(connection, study)
        raise StaleError(f"the study has version {found.version} by now, you changed version {version}; load it again")
    existing = {each.id: each for each in _environments(connection, [study])[study]}
    _write_environments(connection, study, content, existing)
    return _written(connection, study)


def enable(connection: Connection, study: str, is_enabled: bool) -> Study:
    """Enables or disables a study for others."""
    connection.execute(update(tables.studies).where(tables.studies.c.id == study).values(is_enabled=is_enabled))
    return get(connection, study)


def content_of(connection: Connection, study: str, version: int) -> Mapping[str, Any]:
    """The content of a version of a study, as JSON.

    Raises:
      NotFoundError: there is no such version.
    """
    rows = tables.study_versions.c
    query = select(rows.content).where(rows.study_id == study, rows.version == version)
    found: Mapping[str, Any] | None = connection.execute(query).scalar()
    if found is None:
        raise NotFoundError(f"the study {study} has no version {version}")
    return found


def environment(connection: Connection, environment_id: str) -> StudyEnvironment:
    """An environment, also one that was removed from its study.

    Raises:
      NotFoundError: there is none.
    """
    rows = tables.study_environments
    row = connection.execute(select(rows).where(rows.c.id == environment_id)).first()
    if row is None:
        raise NotFoundError(f"there is no environment {environment_id}")
    return _environment(row)


def study_of(connection: Connection, environment_id: str) -> str:
    """The id of the study that an environment belongs to, or was removed from.

    Raises:
      NotFoundError: there is none.
    """
    rows = tables.study_environments.c
    found: str | None = connection.execute(select(rows.study_id).where(rows.id == environment_id)).scalar()
    if found is None:
        raise NotFoundError(f"there is no environment {environment_id}")
    return found


def _written(connection: Connection, study: str) -> Study:
    """Reads a study after a change, and stores the content of this version."""
    made = get(connection, study)
    values = {"version": made.version, "changed_ns": made.changed_ns, "content": asdict(made.content)}
    connection.execute(insert(tables.study_versions).values(study_id=study, **values))
    return made


def _texts(content: Content) -> dict[str, str]:
    return {"name": content.name, "description": content.description, "instructions": content.instructions}


def _write_environments(
    connection: Connection, study: str, content: Content, existing: Mapping[str, StudyEnvironment]
) -> None:
    stay = set()
    for position, given in enumerate(content.environments):
        if given.id and given.id not in existing:
            raise NotFoundError(f"environment {position}: the study has no environment {given.id}")
        old = existing.get(given.id)
        if old is not None and old.what_is_made == given.what_is_made and old.id not in stay:
            stay.add(old.id)
            _write_environment(connection, study, position, given, is_new=False)
        else:
            _write_environment(connection, study, position, replace(given, id=tables.new_id()), is_new=True)
    _remove(connection, existing.keys() - stay)


def _write_environment(
    connection: Connection, study: str, position: int, given: StudyEnvironment, *, is_new: bool
) -> None:
    values = {**asdict(given), "kwargs": dict(given.kwargs), "position": position, "study_id": study}
    values["seats"] = list(values["seats"])
    rows = tables.study_environments
    connection.execute(
        insert(rows).values(**values) if is_new else update(rows).where(rows.c.id == given.id).values(**values)
    )


def _remove(connection: Connection, environments: set[str]) -> None:
    """Removes environments from their study; those that have sessions stay in the table."""
    rows = tables.study_environments
    visited = exists().where(tables.sessions.c.environment_id == rows.c.id)
    connection.execute(delete(rows).where(rows.c.id.in_(environments), ~visited))
    connection.execute(update(rows).where(rows.c.id.in_(environments)).values(position=None))


def _environments(connection: Connection, studies: Sequence[str]) -> dict[str, tuple[StudyEnvironment, ...]]:
    rows = tables.study_environments
    found: dict[str, list[StudyEnvironment]] = {study: [] for study in studies}
    query = select(rows).where(rows.c.study_id.in_(studies), rows.c.position.is_not(None)).order_by(rows.c.position)
    for row in connection.execute(query):
        found[row.study_id].append(_environment(row))
    return {study: tuple(each) for study, each in found.items()}


def _environment(row: Row[Any]) -> StudyEnvironment:
    values = {each.name: getattr(row, each.name) for each in fields(StudyEnvironment)}
    return StudyEnvironment(**{**values, "seats": seats_of(row.seats), "together": together_of(row.together)})


def _study(row: Row[Any], environments: tuple[StudyEnvironment, ...]) -> Study:
    content = Content(
        name=row.name, description=row.description, instructions=row.instructions, environments=environments
    )
    own = {each.name: getattr(row, each.name) for each in fields(Study) if each.name != "content"}
    return Study(**own, content=content)
