"""Crowds: the state of their people, what they sent, and the experimenter's messages to them."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, ForeignKey, Integer, String
    from sqlalchemy import Text as LongText

revision: Final = "0005"
down_revision: Final = "0004"
_ID: Final = String(32)


def upgrade() -> None:
    """Adds them."""
    op.add_column("personal", Column("crowd", JSON(none_as_null=True)))
    op.create_table(
        "crowds",
        Column("id", _ID, primary_key=True),
        Column("owner_id", _ID, ForeignKey("users.id"), nullable=False),
        Column("name", String(200), nullable=False, unique=True),
        Column("is_paused", Boolean, nullable=False),
        Column("is_closed", Boolean, nullable=False),
        Column("created_ns", BigInteger, nullable=False),
    )
    op.create_table(
        "crowd_people",
        Column("id", _ID, primary_key=True),
        Column("crowd_id", _ID, ForeignKey("crowds.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("user_id", _ID, ForeignKey("users.id"), nullable=False, index=True),
        Column("session_id", _ID, ForeignKey("sessions.id"), index=True),
        Column("group", String(200), nullable=False),
        Column("kind", String(16), nullable=False),
        Column("key", String(40), nullable=False),
        Column("stage", String(16), nullable=False),
        Column("arrived", Float, nullable=False),
        Column("changed", Float, nullable=False),
        Column("task", String(200)),
        Column("game", _ID),
        Column("seat", Integer),
        Column("completion", Float, nullable=False),
        Column("quality", Float, nullable=False),
        Column("wrong_checks", Integer, nullable=False),
        Column("consent", String(64), nullable=False),
        Column("consented", Float, nullable=False),
        Column("left", String(16)),
        Column("reason", LongText, nullable=False),
        Column("code_hash", String(40), unique=True),
        Column("code_used_ns", BigInteger),
        Column("base_cents", Integer, nullable=False),
        Column("bonus_cents", Integer, nullable=False),
        Column("tickets", Integer, nullable=False),
        Column("paid_ns", BigInteger),
    )
    op.create_table(
        "crowd_messages",
        Column("id", _ID, primary_key=True),
        Column("crowd_id", _ID, ForeignKey("crowds.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("person_id", _ID, ForeignKey("crowd_people.id", ondelete="CASCADE")),
        Column("text", LongText, nullable=False),
        Column("sent_ns", BigInteger, nullable=False),
    )
