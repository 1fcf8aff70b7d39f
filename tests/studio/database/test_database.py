"""The facade: transactions, one thread, and a database that disappears."""

import asyncio
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from rlds_kit.studio.database import tables, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.errors import DatabaseGoneError
from rlds_kit.studio.database.roles import Role
from tests.studio import postgres
from tests.studio.database.rows import add_session, add_study, run


def count(connection: Connection) -> int:
    """How many accounts there are."""
    return connection.execute(select(func.count()).select_from(tables.users)).scalar_one()


def test_work_that_raises_changes_nothing(database_url: str) -> None:
    """Its writes before the error are undone."""

    def half(connection: Connection) -> None:
        users.add(connection, Role.DESIGNER, "ann")
        raise ValueError("in the middle")

    async def test(database: Database) -> None:
        with pytest.raises(ValueError, match="in the middle"):
            await database.run(half)
        assert await database.run(count) == 0

    run(database_url, test)


def test_all_work_is_done_by_one_thread(database_url: str) -> None:
    """For any number of concurrent calls; and never by the thread of the event loop."""

    async def test(database: Database) -> None:
        found = await asyncio.gather(*(database.run(lambda _: threading.current_thread().name) for _ in range(20)))
        assert len(set(found)) == 1
        assert threading.current_thread().name not in found

    run(database_url, test)


def test_work_of_a_caller_who_is_gone_is_done_whole(database_url: str) -> None:
    """A browser that closes its connection does not leave a partial change."""
    began, goes_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        users.add(connection, Role.DESIGNER, "ann")
        began.set()
        goes_on.wait(10)
        users.add(connection, Role.DESIGNER, "bob")

    async def test(database: Database) -> None:
        task = asyncio.create_task(database.run(slow))
        await asyncio.to_thread(began.wait, 10)
        task.cancel()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await database.run(count) == 2

    run(database_url, test)


def test_rows_that_belong_to_nothing_are_refused(database_url: str) -> None:
    """Foreign keys hold in both databases."""

    async def test(database: Database) -> None:
        study = await database.run(add_study)
        with pytest.raises(IntegrityError):
            await database.run(add_session, study, "nobody")

    run(database_url, test)


def test_a_file_that_was_removed_is_an_error(tmp_path: Path) -> None:
    """SQLite would continue to write to the deleted file; a new file of the same name is not used, either."""
    path = tmp_path / "studio.db"

    async def test(database: Database) -> None:
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(DatabaseGoneError, match="removed or replaced"):
            await database.run(users.add, Role.DESIGNER, "ann")
        path.write_bytes(b"")
        with pytest.raises(DatabaseGoneError, match="removed or replaced"):
            await database.run(users.add, Role.DESIGNER, "ann")
        path.unlink()
        (tmp_path / "elsewhere.db").rename(path)
        assert await database.run(count) == 0

    run(f"sqlite:///{path}", test)


def test_a_full_disk_is_an_error_and_nothing_is_half_written(tmp_path: Path) -> None:
    """SQLite reports that the disk is full; the transaction is undone, and older data is unchanged."""

    def fill(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count=1")  # SQLite does not go below the present size
        for _ in range(1000):
            users.add(connection, Role.DESIGNER, "ann" * 100)

    async def test(database: Database) -> None:
        await database.run(users.add, Role.DESIGNER, "bob")
        with pytest.raises(DatabaseGoneError, match="full"):
            await database.run(fill)
        assert await database.run(count) == 1

    run(f"sqlite:///{tmp_path / 'studio.db'}", test)


def test_a_server_that_stops_and_comes_back(cluster: postgres.Cluster) -> None:
    """Without PostgreSQL, calls raise an error; once it is back, they succeed again without a restart of the studio."""

    async def test(database: Database) -> None:
        await database.run(users.add, Role.DESIGNER, "ann")
        cluster.stop()
        try:
            with pytest.raises(DatabaseGoneError, match="nothing was changed"):
                await database.run(users.add, Role.DESIGNER, "bob")
        finally:
            cluster.start()
        await database.run(users.add, Role.DESIGNER, "cy")
        assert await database.run(count) == 2

    run(cluster.new_database(), test)


def test_a_server_that_stops_in_the_middle(cluster: postgres.Cluster) -> None:
    """The whole transaction is undone."""

    def work(connection: Connection) -> None:
        users.add(connection, Role.DESIGNER, "ann")
        cluster.stop()
        users.add(connection, Role.DESIGNER, "bob")

    async def test(database: Database) -> None:
        try:
            with pytest.raises(DatabaseGoneError, match="nothing was changed"):
                await database.run(work)
        finally:
            cluster.start()
        assert await database.run(count) == 0

    run(cluster.new_database(), test)
