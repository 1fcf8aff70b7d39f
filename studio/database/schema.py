"""Brings the tables of a database to this version of the library."""

from pathlib import Path
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.database.errors import DatabaseTooNewError
from rlds_kit.studio.database.tables import VERSION_TABLE

with needs("studio"):
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection, text

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_LOCK: Final = 0x726C6473
"""A lock of PostgreSQL: only one server migrates at a time."""


def upgrade(connection: Connection, to: str = "head") -> None:
    """Makes missing tables and changes old ones, atomically, inside the connection's transaction.

    Args:
      connection: to the database.
      to: the version to stop at, for tests of the migrations after it.

    Raises:
      DatabaseTooNewError: a newer version of the library made the tables.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    found = version(connection)
    known = {each.revision for each in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise DatabaseTooNewError(
            f"the tables of the database have version {found}; this rlds_kit knows versions up to {max(known)}: "
            "upgrade it, or use another database"
        )
    command.upgrade(config, to)


def version(connection: Connection) -> str | None:
    """The version of the tables; None: there are none."""
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()
