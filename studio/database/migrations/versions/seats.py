"""Several seats: the designer's settings, who may sit there, and who did."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, BigInteger, Column, ForeignKey, String, text
    from sqlalchemy import Text as LongText

revision: Final = "0004"
down_revision: Final = "0003"
_ID: Final = String(32)


def upgrade() -> None:
    """Adds them; existing sessions had one seat, of the person who opened them."""
    op.add_column("study_environments", Column("seats", JSON(none_as_null=True)))
    op.add_column("study_environments", Column("together", JSON(none_as_null=True)))
    op.add_column("sessions", Column("reason", LongText, nullable=False, server_default=""))
    op.create_table(
        "session_seats",
        Column("session_id", _ID, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        Column("seat", String(200), primary_key=True),
        Column("user_id", _ID, ForeignKey("users.id"), nullable=False, index=True),
        Column("agent_id", _ID, nullable=False),
    )
    op.execute(
        text("INSERT INTO session_seats SELECT id, 'player', user_id, agent_id FROM sessions")  # all that there was
    )
    op.create_table(
        "participations",
        Column("id", _ID, primary_key=True),
        Column("session_id", _ID, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("seat", String(200), nullable=False),
        Column("user_id", _ID, ForeignKey("users.id"), index=True),
        Column("agent_id", LongText, nullable=False),
        Column("kind", String(16), nullable=False),
        Column("version", LongText, nullable=False),
        Column("joined_ns", BigInteger, nullable=False),
        Column("left_ns", BigInteger),
    )
