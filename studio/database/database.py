"""The database as the server uses it: asynchronous, with one thread that does all the work."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from rlds_kit.base.extras import needs
from rlds_kit.closing import AsyncClosing
from rlds_kit.studio.database.engine import make_engine, sqlite_file
from rlds_kit.studio.database.errors import DatabaseError, DatabaseGoneError
from rlds_kit.studio.database.schema import upgrade

with needs("studio"):
    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

P = ParamSpec("P")
T = TypeVar("T")


class Database(AsyncClosing):
    """A database whose tables are of this version. Made by `open`."""

    def __init__(self, engine: Engine, thread: ThreadPoolExecutor) -> None:
        self._engine, self._thread = engine, thread
        self._file = sqlite_file(engine.url)
        self._identity = _identity(self._file)

    @classmethod
    async def open(cls, url: str | URL) -> Self:
        """Opens a database, and makes or migrates its tables.

        Args:
          url: "sqlite:////absolute/path/studio.db", or "postgresql://user@host/name".

        Raises:
          DatabaseError: it cannot be opened; the message gives the reason.
          MissingExtraError: a package that it needs is not installed.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="rlds_kit-database")
        try:
            engine = await asyncio.get_running_loop().run_in_executor(thread, _opened, url)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(engine, thread)

    async def run(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Does `work(connection, ...)` in one transaction: all of it, or, if it raises, nothing.

        It runs to its end even if the caller is cancelled.

        Raises:
          DatabaseGoneError: the database could not be reached, or failed.
          Any error that `work` raises.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._transaction(work, *args, **kwargs))

    def _transaction(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if _identity(self._file) != self._identity:
            raise DatabaseGoneError(f"{self._file} was removed or replaced while the studio was open; start it again")
        try:
            with self._engine.begin() as connection:
                return work(connection, *args, **kwargs)
        except IntegrityError:
            raise
        except DBAPIError as error:
            if isinstance(error, OperationalError) or error.connection_invalidated:
                raise DatabaseGoneError(
                    f"the database did not answer, and nothing was changed: {error.orig}"
                ) from error
            raise

    async def close(self) -> None:
        """Waits for running work, and closes the database."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        self._thread.shutdown()


def _opened(url: str | URL) -> Engine:
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            upgrade(connection)
    except DBAPIError as error:
        engine.dispose()
        raise DatabaseError(f"cannot open {engine.url}: {error.orig}") from error
    except BaseException:
        engine.dispose()
        raise
    return engine


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Identifies a file, also if it was replaced by one of the same name; (0, 0): it does not exist."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino
