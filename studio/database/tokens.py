"""What logs people in. A token is worth something only with the signature that `accounts.signing` puts to its id."""

from dataclasses import dataclass
from enum import StrEnum

from rlds_kit.feed.extras import needs
from rlds_kit.studio.accounts.roles import Role
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import NotFoundError

with needs("studio"):
    from sqlalchemy import Connection, delete, insert, select, update


class Kind(StrEnum):
    """What a token is for."""

    ACCESS = "access"
    """Logs one person in."""
    INVITATION = "invitation"
    """Makes accounts."""
    PLAY = "play"
    """Plays in one session: it is the id of the session that is signed, there is no row."""
    LOOK = "look"
    """Looks on in one session, likewise."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
      id: of the token.
      kind: what it is for.
      user_id: who is logged in, or who invites.
      role: of those who are invited; None for ACCESS.
      expires_ns: when it ends.
      uses_left: how often it can be used; None: any number.
    """

    id: str
    kind: Kind
    user_id: str
    role: Role | None
    expires_ns: int
    uses_left: int | None


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
    made = Token(tables.new_id(), kind, user, role, now + int(seconds * 1e9), uses)
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
      NotFoundError: it is used up, has expired, was revoked, or never was.
    """
    rows = tables.tokens.c
    row = connection.execute(select(tables.tokens).where(rows.id == token, rows.kind == kind.value)).first()
    if row is None or row.expires_ns <= tables.now_ns() or row.uses_left == 0:
        raise NotFoundError(f"this {kind.value} link has expired, was used, or was withdrawn; ask for a new one")
    role = None if row.role is None else Role(row.role)
    return Token(row.id, Kind(row.kind), row.user_id, role, row.expires_ns, row.uses_left)


def use(connection: Connection, token: Token) -> None:
    """Counts a use."""
    if token.uses_left is not None:
        rows = tables.tokens.c
        left = update(tables.tokens).where(rows.id == token.id, rows.uses_left > 0)
        if connection.execute(left.values(uses_left=rows.uses_left - 1)).rowcount == 0:
            raise NotFoundError("this link was used up just now; ask for a new one")


def forget_expired(connection: Connection) -> None:
    """Deletes the rows of tokens whose time is over."""
    connection.execute(delete(tables.tokens).where(tables.tokens.c.expires_ns <= tables.now_ns()))


def revoke(connection: Connection, token: str) -> None:
    """Makes a token worth nothing."""
    connection.execute(delete(tables.tokens).where(tables.tokens.c.id == token))
