"""People: accounts, and separately what identifies a person."""

from dataclasses import dataclass
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError, TakenError
from rlds_kit.studio.database.roles import Role

with needs("studio"):
    from sqlalchemy import Connection, Row, Select, delete, insert, select, update


@dataclass(frozen=True, slots=True)
class User:
    """A person with an account.

    Attributes:
      id: of the account.
      role: what the person may do.
      name: for others to see.
      email: in lower case; None: not known.
      participant: the id of the person at another service; None: there is none.
      is_guest: whether the person came by the link of a study, uninvited.
    """

    id: str
    role: Role
    name: str
    email: str | None
    participant: str | None
    is_guest: bool = False

    @property
    def person(self) -> str:
        """Identifies the person as far as possible: two accounts of one participant are the same person."""
        return self.id if self.participant is None else f"participant {self.participant}"


def add(
    connection: Connection,
    role: Role,
    name: str,
    email: str | None = None,
    participant: str | None = None,
    *,
    is_guest: bool = False,
) -> User:
    """Makes an account.

    Args:
      connection: to the database.
      role: of the person.
      name: of the person.
      email: of the person; upper case is ignored.
      participant: the id of the person at another service.
      is_guest: whether the person came by the link of a study, uninvited.

    Raises:
      TakenError: there is an account with this e-mail address.
    """
    email = None if email is None else email.casefold()
    if email is not None and by_email(connection, email) is not None:
        raise TakenError(f"there is an account for {email} already; log in with its own link")
    made = User(tables.new_id(), role, name, email, participant, is_guest)
    connection.execute(
        insert(tables.users).values(id=made.id, role=role.value, created_ns=tables.now_ns(), is_guest=is_guest),
    )
    connection.execute(insert(tables.personal).values(user_id=made.id, name=name, email=email, participant=participant))
    return made


def get(connection: Connection, user: str) -> User:
    """An account.

    Raises:
      NotFoundError: there is none.
    """
    row = connection.execute(_select().where(tables.users.c.id == user)).first()
    if row is None:
        raise NotFoundError(f"there is no account {user}")
    return _user(row)


def by_email(connection: Connection, email: str) -> User | None:
    """The account of an e-mail address, if there is one."""
    row = connection.execute(_select().where(tables.personal.c.email == email.casefold())).first()
    return None if row is None else _user(row)


def first(connection: Connection, role: Role) -> User | None:
    """The oldest account of a role, if there is one."""
    rows = tables.users.c
    row = connection.execute(_select().where(rows.role == role.value).order_by(rows.created_ns, rows.id)).first()
    return None if row is None else _user(row)


def everybody(connection: Connection) -> list[User]:
    """All accounts, the oldest first."""
    rows = tables.users.c
    return [_user(row) for row in connection.execute(_select().order_by(rows.created_ns, rows.id))]


def forget(connection: Connection, user: str) -> None:
    """Deletes what identifies a person, and their logins; what they played stays, without an owner.

    Raises:
      NotFoundError: there is no such account.
    """
    get(connection, user)
    gone = {"name": "", "email": None, "participant": None, "crowd": None}
    connection.execute(update(tables.personal).where(tables.personal.c.user_id == user).values(**gone))
    connection.execute(delete(tables.tokens).where(tables.tokens.c.user_id == user))


def _select() -> "Select[Any]":
    users, personal = tables.users.c, tables.personal.c
    columns = users.id, users.role, users.is_guest, personal.name, personal.email, personal.participant
    return select(*columns).join(tables.personal)


def _user(row: "Row[Any]") -> User:
    return User(row.id, Role(row.role), row.name, row.email, row.participant, row.is_guest)
