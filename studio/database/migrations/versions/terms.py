"""By which rules each assignment of a crowd is paid."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, Column

revision: Final = "0006"
down_revision: Final = "0005"


def upgrade() -> None:
    """Adds them; assignments that are there get those of the file with which the studio is started next."""
    op.add_column("crowd_people", Column("terms", JSON(none_as_null=True)))
