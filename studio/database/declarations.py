"""Versions of the declaration of a crowd: its text, who saved it, and when."""

from collections.abc import Sequence
from dataclasses import dataclass

from rlds_kit.base.extras import needs
from rlds_kit.studio.database import tables
from rlds_kit.studio.database.errors import StaleError

with needs("studio"):
    from sqlalchemy import Connection, insert, select


@dataclass(frozen=True, slots=True)
class Declaration:
    """A version.

    Attributes:
      number: from 1 on.
      text: TOML.
      user_id: who saved it on the page; None: it is from the file.
      saved_ns: when.
    """

    number: int
    text: str
    user_id: str | None
    saved_ns: int


def declarations(connection: Connection, crowd: str) -> list[Declaration]:
    """The versions of a crowd, in order."""
    rows = tables.crowd_declarations
    columns = rows.c.number, rows.c.text, rows.c.user_id, rows.c.saved_ns
    wanted = select(*columns).where(rows.c.crowd_id == crowd).order_by(rows.c.number)
    return [Declaration(*row) for row in connection.execute(wanted)]


def add(connection: Connection, crowd: str, text: str, user: str | None, number: int) -> Declaration:
    """Stores a version.

    Args:
      connection: to the database.
      crowd: whose.
      text: TOML.
      user: who saved it on the page; None: it is from the file.
      number: that it gets, one more than that of the version that it was made from.

    Raises:
      StaleError: another person has saved a version.
    """
    known = declarations(connection, crowd)
    if number != len(known) + 1:
        raise StaleError(f"the crowd has version {len(known)} by now, you changed version {number - 1}; load it again")
    made = Declaration(number, text, user, tables.now_ns())
    values = {"number": number, "text": text, "user_id": user, "saved_ns": made.saved_ns}
    connection.execute(insert(tables.crowd_declarations).values(crowd_id=crowd, **values))
    return made


def next_of_file(known: Sequence[Declaration], text: str, *, is_taken: bool) -> int | None:
    """The number that a file gets as a version when the studio starts; None: the latest version runs.

    A file that has changed is the next version, unless the crowd was edited on the page. Later it is so only
    where that is required explicitly: what was saved on the page is not lost to a file that is older, or another.

    Args:
      known: the versions, in order.
      text: of the file.
      is_taken: whether the file is required.

    >>> page = [Declaration(1, "old", None, 0), Declaration(2, "edited", "ann", 0)]
    >>> next_of_file(page, "changed", is_taken=False), next_of_file(page, "changed", is_taken=True)
    (None, 3)
    >>> next_of_file(page[:1], "changed", is_taken=False), next_of_file([], "first", is_taken=False)
    (2, 1)
    """
    if known and known[-1].text == text:
        return None
    is_edited = bool(known) and known[-1].user_id is not None
    return None if is_edited and not is_taken else len(known) + 1
