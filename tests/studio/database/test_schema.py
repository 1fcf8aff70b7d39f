"""The tables are made, migrated and refused."""

import asyncio
import contextlib
import re
import sqlite3
import sys
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from rlds_kit.base.extras import MissingExtraError
from rlds_kit.install import how_to_install
from rlds_kit.studio.database import schema, sessions, studies, tables, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.engine import make_engine, sqlite_url
from rlds_kit.studio.database.errors import DatabaseError, DatabaseTooNewError
from rlds_kit.studio.database.roles import Role
from tests.studio.database.rows import run


def test_migrations_make_the_tables_that_the_code_has(database_url: str) -> None:
    """Alembic finds no difference between what the migrations made and `tables.py`."""

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"version_table": tables.VERSION_TABLE})
        return compare_metadata(context, tables.METADATA)

    async def test(database: Database) -> None:
        assert await database.run(differences) == []
        assert set(await database.run(lambda connection: inspect(connection).get_table_names())) == {
            *tables.METADATA.tables,
            tables.VERSION_TABLE,
        }

    run(database_url, test)


def test_opening_again_keeps_what_is_there(database_url: str) -> None:
    """Data that is written before the database is closed can be read afterwards."""

    async def write(database: Database) -> str:
        return (await database.run(users.add, Role.DESIGNER, "ann")).id

    user = run(database_url, write)

    async def read(database: Database) -> str:
        return (await database.run(users.get, user)).name

    assert run(database_url, read) == "ann"


def test_tables_of_a_newer_version_are_refused(database_url: str) -> None:
    """An older library does not change them, and its error says what to do."""

    async def make_newer(database: Database) -> None:
        newer = text(f"UPDATE {tables.VERSION_TABLE} SET version_num = '9999'")  # noqa: S608  a constant
        await database.run(lambda connection: connection.execute(newer))

    run(database_url, make_newer)
    with pytest.raises(DatabaseTooNewError, match=r"version 9999.*upgrade"):
        run(database_url, make_newer)


def test_studies_of_the_first_version_have_the_keys_that_are_known(database_url: str) -> None:
    """The data of an older library is there after the migration."""
    engine = make_engine(database_url)
    with engine.begin() as connection:
        schema.upgrade(connection, "0001")
        for table, values in (
            ("users", "'u', 'designer', 1"),
            ("studies", "'s', 'u', 1, 'Old', '', '', true, 1, 1"),
            ("study_environments", "'e', 's', 0, 'Cart', '', 'CartPole-v1', 'gymnasium', '{}', 'hold', 15.0, NULL"),
        ):
            connection.execute(text(f"INSERT INTO {table} VALUES ({values})"))  # noqa: S608  constants
    engine.dispose()

    async def read(database: Database) -> studies.Study:
        return await database.run(studies.get, "s")

    (environment,) = run(database_url, read).content.environments
    assert (environment.name, environment.controls) == ("Cart", None)


def test_sessions_of_an_older_version_have_one_seat_of_their_person(database_url: str) -> None:
    """And their players may still see them."""
    engine = make_engine(database_url)
    with engine.begin() as connection:
        schema.upgrade(connection, "0003")
        for table, values in (
            ("users", "'u', 'designer', 1, false"),
            ("studies", "'s', 'u', 1, 'Old', '', '', true, 1, 1"),
            ("study_environments", "'e', 's', 0, 'C', '', 'CartPole-v1', 'gymnasium', '{}', 'hold', 15.0, NULL, NULL"),
            ("sessions", "'v', 's', 'e', 'u', 'one', 'a', 1, NULL, true"),
        ):
            connection.execute(text(f"INSERT INTO {table} VALUES ({values})"))  # noqa: S608  constants
    engine.dispose()

    async def read(database: Database) -> sessions.Session:
        return await database.run(sessions.get, "v")

    assert run(database_url, read).people == {"player": sessions.Seated("u", "a")}


def test_a_migration_that_fails_leaves_nothing(database_url: str) -> None:
    """The tables before the one that cannot be made are not made, either."""
    engine = make_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE sessions (other INTEGER)"))
    with pytest.raises(DatabaseError, match="sessions"):
        run(database_url, lambda database: database.close())
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["sessions"]
        assert schema.version(connection) is None
    engine.dispose()


def test_two_servers_may_open_a_new_database_at_once(database_url: str) -> None:
    """One makes the tables; the other waits and uses them."""

    async def both() -> None:
        for database in await asyncio.gather(*(Database.open(database_url) for _ in range(3))):
            await database.run(users.add, Role.DESIGNER, "ann")
            await database.close()

    asyncio.run(both())


def test_a_connection_waits_while_another_one_makes_the_file(tmp_path: Path) -> None:
    """Setting the journal mode fails at once while another connection writes: it is tried again."""
    path = tmp_path / "studio.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE other (id)")
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.1, other.execute, ["COMMIT"]).start()
        engine = make_engine(sqlite_url(path))
        with engine.begin() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        engine.dispose()


def test_sqlite_keeps_what_was_committed_through_a_power_cut(tmp_path: Path) -> None:
    """The journal is a WAL, every commit is synchronised, and foreign keys hold."""

    async def test(database: Database) -> None:
        def pragmas(connection: Connection) -> list[object]:
            names = ("journal_mode", "synchronous", "foreign_keys")
            return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

        assert await database.run(pragmas) == ["wal", 2, 1]

    run(f"sqlite:///{tmp_path / 'studio.db'}", test)


@pytest.mark.parametrize("url", ["mysql://localhost/studio", "sqlite://", "nonsense", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    """The error names the expected databases."""
    with pytest.raises(DatabaseError, match="expected sqlite:///PATH or postgresql://HOST/NAME"):
        make_engine(url)


def test_passwords_are_not_shown() -> None:
    """An error does not repeat the password of a URL."""
    with pytest.raises(DatabaseError) as caught:
        run("postgresql://ann:hunter2@127.0.0.1:1/studio", lambda database: database.close())
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """The file is not changed."""
    path = tmp_path / "studio.db"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(DatabaseError, match="not a database"):
        run(f"sqlite:///{path}", lambda database: database.close())
    assert path.read_bytes() == b"no database" * 100


def test_any_path_is_a_path(tmp_path: Path) -> None:
    """Special characters of URLs have no special meaning in the path of the file."""
    folder = tmp_path / "a?b#c%20d é"
    folder.mkdir()

    async def open_and_close() -> None:
        await (await Database.open(sqlite_url(folder / "studio.db"))).close()

    asyncio.run(open_and_close())
    with sqlite3.connect(folder / "studio.db") as connection:
        assert connection.execute(f"SELECT count(*) FROM {tables.VERSION_TABLE}").fetchone() == (1,)  # noqa: S608
    connection.close()


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra for PostgreSQL, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("postgres"))):
        make_engine("postgresql://localhost/studio")
