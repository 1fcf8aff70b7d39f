"""Tokens that log people in. A token is valid only with the signature that `accounts.signing` adds to its id."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.studio.database.roles import Role

with needs("studio"):
    from sqlalchemy import Connection, Row, delete, insert, or_, select, update


class Kind(StrEnum):
    """What a token is for."""

    ACCESS = "access"
    """A login of one person, stored by a browser."""
    LINK = "link"
    """Makes logins of one person."""
    INVITATION = "invitation"
    """Makes accounts."""
    PLAY = "play"
    """Plays in one session: the id of the session is signed, there is no row."""
    OBSERVE = "look"
    """Observes one session, likewise."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that has a row.

    Attributes:
      id: of the token.
      kind: what it is for.
      user_id: the account that it logs in, or that invites.
      role: of the accounts that are made with it; None for ACCESS.
      expires_ns: when it ends.
      uses_left: how often it can be used; None: any number.
      created_ns: when it was made.
    """

    id: str
    kind: Kind
    user_id: str
    role: Role | None
    expires_ns: int
    uses_left: int | None
    created_ns: int = 0


def add(
    connection: Connection,
    kind: Kind,
    user: str,
    seconds: float,
    *,
    role: Role | None = None,
    uses: int | None = None,
) -> Token:
    """Makes a token that is valid for some seconds."""
    now = tables.now_ns()
    made = Token(tables.new_id(), kind, user, role, now + int(seconds * 1e9), uses, now)
    connection.execute(
        insert(tables.tokens).values(
            id=made.id,
            kind=kind.value,
            user_id=user,
            role=None if role is None else role.value,
            created_ns=now,
            expires_ns=made.expires_ns,
            uses_left=uses,
        )
    )
    return made


def get(connection: Connection, kind: Kind, token: str) -> Token:
    """A token that is valid now.

    Raises:
      NotFoundError: it is used up, has expired, was revoked, or never existed.
    """
    rows = tables.tokens.c
    row = connection.execute(select(tables.tokens).where(rows.id == token, rows.kind == kind.value)).first()
    if row is None or row.expires_ns <= tables.now_ns() or row.uses_left == 0:
        raise NotFoundError(f"this {kind.value} link has expired, was used, or was withdrawn; ask for a new one")
    return _token(row)


def valid(connection: Connection, user: str | None = None) -> list[Token]:
    """The links, logins and invitations that are valid now, the newest first.

    Args:
      connection: to the database.
      user: their owner; None: of all accounts.
    """
    rows = tables.tokens.c
    wanted = select(tables.tokens).where(
        rows.expires_ns > tables.now_ns(), or_(rows.uses_left.is_(None), rows.uses_left > 0)
    )
    found = wanted if user is None else wanted.where(rows.user_id == user)
    return [_token(row) for row in connection.execute(found.order_by(rows.created_ns.desc(), rows.id))]


def use(connection: Connection, token: Token) -> None:
    """Counts a use."""
    if token.uses_left is not None:
        rows = tables.tokens.c
        left = update(tables.tokens).where(rows.id == token.id, rows.uses_left > 0)
        if connection.execute(left.values(uses_left=rows.uses_left - 1)).rowcount == 0:
            raise NotFoundError("this link was used up just now; ask for a new one")


def forget_expired(connection: Connection) -> None:
    """Deletes the rows of expired tokens."""
    connection.execute(delete(tables.tokens).where(tables.tokens.c.expires_ns <= tables.now_ns()))


def revoke(connection: Connection, token: str, user: str | None = None) -> None:
    """Revokes a token.

    Args:
      connection: to the database.
      token: its id.
      user: the owner that it must have; None: any.

    Raises:
      NotFoundError: there is none, or it has another owner.
    """
    rows = tables.tokens.c
    wanted = delete(tables.tokens).where(rows.id == token)
    if connection.execute(wanted if user is None else wanted.where(rows.user_id == user)).rowcount == 0:
        raise NotFoundError(f"there is no link, login or invitation {token}; it may have been revoked")


def _token(row: "Row[Any]") -> Token:
    role = None if row.role is None else Role(row.role)
    return Token(row.id, Kind(row.kind), row.user_id, role, row.expires_ns, row.uses_left, row.created_ns)
