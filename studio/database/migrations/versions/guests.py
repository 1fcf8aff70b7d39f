"""Which accounts were made through the link of a study, without an invitation."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import Boolean, Column, false

revision: Final = "0003"
down_revision: Final = "0002"


def upgrade() -> None:
    """Adds it; existing users count as invited."""
    op.add_column("users", Column("is_guest", Boolean, nullable=False, server_default=false()))
