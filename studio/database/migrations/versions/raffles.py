"""Raffles of crowds that were drawn."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Integer, String
    from sqlalchemy import Text as LongText

revision: Final = "0007"
down_revision: Final = "0006"
_ID: Final = String(32)


def upgrade() -> None:
    """Adds them."""
    op.add_column("crowd_people", Column("prize_paid_ns", BigInteger))
    op.create_table(
        "crowd_raffles",
        Column("crowd_id", _ID, ForeignKey("crowds.id", ondelete="CASCADE"), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("tickets", JSON, nullable=False),
        Column("phrase", LongText, nullable=False),
        Column("prizes", Integer, nullable=False),
        Column("prize_cents", Integer, nullable=False),
        Column("winners", JSON, nullable=False),
        Column("user_id", _ID, ForeignKey("users.id"), nullable=False),
        Column("drawn_ns", BigInteger, nullable=False),
    )
