"""The script that Alembic runs; `schema.py` passes it the connection, inside a transaction of its own."""

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import context

from rlds_kit.studio.database.tables import METADATA, VERSION_TABLE


def migrate() -> None:
    """Runs the missing migrations."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=METADATA, version_table=VERSION_TABLE)
    context.run_migrations()


if hasattr(context, "config"):  # Alembic runs this file; an import of it does nothing
    migrate()
