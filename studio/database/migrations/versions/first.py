"""The tables of the first version."""

from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from alembic import op
    from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, String
    from sqlalchemy import Text as LongText

revision: Final = "0001"
down_revision: Final = None
ID: Final = String(32)


def upgrade() -> None:
    """Makes them."""
    op.create_table(
        "users",
        Column("id", ID, primary_key=True),
        Column("role", String(16), nullable=False),
        Column("created_ns", BigInteger, nullable=False),
    )
    op.create_table(
        "personal",
        Column("user_id", ID, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("name", LongText, nullable=False),
        Column("email", String(254), unique=True),
        Column("participant", String(200)),
    )
    op.create_table(
        "tokens",
        Column("id", ID, primary_key=True),
        Column("kind", String(16), nullable=False),
        Column("user_id", ID, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("role", String(16)),
        Column("created_ns", BigInteger, nullable=False),
        Column("expires_ns", BigInteger, nullable=False),
        Column("uses_left", Integer),
    )
    op.create_table(
        "studies",
        Column("id", ID, primary_key=True),
        Column("owner_id", ID, ForeignKey("users.id"), nullable=False, index=True),
        Column("version", Integer, nullable=False),
        Column("name", LongText, nullable=False),
        Column("description", LongText, nullable=False),
        Column("instructions", LongText, nullable=False),
        Column("is_enabled", Boolean, nullable=False),
        Column("created_ns", BigInteger, nullable=False),
        Column("changed_ns", BigInteger, nullable=False),
    )
    op.create_table(
        "study_versions",
        Column("study_id", ID, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        Column("version", Integer, primary_key=True),
        Column("changed_ns", BigInteger, nullable=False),
        Column("content", JSON, nullable=False),
    )
    op.create_table(
        "study_environments",
        Column("id", ID, primary_key=True),
        Column("study_id", ID, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("position", Integer),
        Column("name", LongText, nullable=False),
        Column("instructions", LongText, nullable=False),
        Column("environment", LongText, nullable=False),
        Column("interface", String(16), nullable=False),
        Column("kwargs", JSON, nullable=False),
        Column("turn", String(16), nullable=False),
        Column("fps", Float, nullable=False),
        Column("max_steps", Integer),
    )
    op.create_table(
        "sessions",
        Column("id", ID, primary_key=True),
        Column("study_id", ID, ForeignKey("studies.id"), nullable=False, index=True),
        Column("environment_id", ID, ForeignKey("study_environments.id"), nullable=False),
        Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
        Column("server", LongText, nullable=False),
        Column("agent_id", ID, nullable=False),
        Column("started_ns", BigInteger, nullable=False),
        Column("ended_ns", BigInteger),
        Column("is_valid", Boolean, nullable=False),
    )
    op.create_table(
        "episodes",
        Column("id", ID, primary_key=True),
        Column("public_id", ID, nullable=False, unique=True),
        Column("session_id", ID, ForeignKey("sessions.id"), nullable=False, index=True),
        Column("number", Integer, nullable=False),
        Column("study_id", ID, ForeignKey("studies.id"), nullable=False),
        Column("study_version", Integer, nullable=False),
        Column("environment_id", ID, ForeignKey("study_environments.id"), nullable=False),
        Column("user_id", ID, ForeignKey("users.id"), nullable=False),
        Column("directory", LongText, nullable=False),
        Column("status", String(16), nullable=False),
        Column("reason", LongText, nullable=False),
        Column("started_ns", BigInteger, nullable=False),
        Column("ended_ns", BigInteger),
        Column("steps", Integer, nullable=False),
        Column("total_reward", Float),
        Index(None, "study_id", "started_ns"),
        Index(None, "user_id", "started_ns"),
        Index(None, "started_ns"),
    )
    op.create_table(
        "episode_tags",
        Column("episode_id", ID, ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True),
        Column("tag", String(200), primary_key=True, index=True),
    )
    op.create_table(
        "deletions",
        Column("episode_id", ID, primary_key=True),
        Column("server", LongText, nullable=False),
        Column("directory", LongText, nullable=False),
        Column("deleted_ns", BigInteger, nullable=False),
    )
