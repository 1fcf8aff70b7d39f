"""Opens SQLite and PostgreSQL so that transactions are atomic in both."""

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.database.errors import DatabaseError

with needs("studio"):
    from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
    from sqlalchemy.exc import ArgumentError

FILE: Final = "studio.db"
"""The database in the directory of a studio, unless another one is configured."""
_BUSY_SECONDS: Final = 10.0
"""Maximum wait for another process to end its transaction."""
_RETRY_SECONDS: Final = 0.01


def make_engine(url: str | URL) -> Engine:
    """An engine, which has not connected yet.

    Args:
      url: "sqlite:////absolute/path/studio.db", or "postgresql://user@host/name".

    Raises:
      DatabaseError: the URL is for neither of these.
      MissingExtraError: the driver for PostgreSQL is not installed.

    >>> make_engine("mysql://localhost/studio")
    Traceback (most recent call last):
    rlds_kit.studio.database.errors.DatabaseError: expected sqlite:///PATH or postgresql://HOST/NAME, got mysql://localhost/studio
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise DatabaseError(f"expected sqlite:///PATH or postgresql://HOST/NAME, got {url!r}") from error
    match parsed.get_backend_name():
        case "sqlite" if sqlite_file(parsed) is not None:
            return _sqlite(parsed)
        case "postgresql":
            with needs("postgres"):
                import psycopg  # noqa: F401  the message of SQLAlchemy would be less clear
            return create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=1)
    raise DatabaseError(f"expected sqlite:///PATH or postgresql://HOST/NAME, got {parsed}")


def sqlite_url(path: Path) -> URL:
    """The URL of a SQLite file, whatever characters its path has."""
    return URL.create("sqlite", database=str(path.absolute()))


def sqlite_file(url: URL) -> Path | None:
    """The file of a SQLite database; None: there is none."""
    is_file = url.get_backend_name() == "sqlite" and url.database not in {None, "", ":memory:"}
    return Path(str(url.database)) if is_file else None


def _make_private(path: Path) -> None:
    """Makes an empty file that only its user can read; of an existing file, removes the permissions of others.

    It identifies people. SQLite gives the files beside it the same permissions.
    """
    with contextlib.suppress(OSError):  # owned by another user, or a disk without permissions; SQLite reports errors
        with contextlib.suppress(FileExistsError):  # not opened if it exists: closing it would release SQLite's locks
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            with contextlib.suppress(FileNotFoundError):
                each.chmod(each.stat().st_mode & 0o700)


def _sqlite(url: URL) -> Engine:
    _make_private(Path(str(url.database)))
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(raw: Any, record: object) -> None:
    """Leaves transactions to `_begin`: Python's own do not include changes of the schema."""
    del record
    raw.isolation_level = None
    cursor = raw.cursor()
    _set_wal(cursor)
    # What the page has shown as saved must survive a power failure: with WAL, that needs FULL.
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _set_wal(cursor: sqlite3.Cursor) -> None:
    """Sets the journal mode. SQLite itself does not wait here while another connection writes."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
