"""Versions of the declarations of crowds."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String
    from sqlalchemy import Text as LongText

revision: Final = "0008"
down_revision: Final = "0007"
_ID: Final = String(32)


def upgrade() -> None:
    """Adds them; the file with which the studio is started next is the first."""
    op.create_table(
        "crowd_declarations",
        Column("crowd_id", _ID, ForeignKey("crowds.id", ondelete="CASCADE"), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("text", LongText, nullable=False),
        Column("user_id", _ID, ForeignKey("users.id")),
        Column("saved_ns", BigInteger, nullable=False),
    )
