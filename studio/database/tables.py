"""The tables. `migrations/` makes the same ones; a test compares them.

Ids are 32 hexadecimal digits. Times are UTC, in nanoseconds since 1970. Steps are only in recordings. What identifies a
person is only in the table `personal`.
"""

import secrets
import time
from typing import Final

from rlds_kit.base.extras import needs

with needs("studio"):
    from sqlalchemy import (
        JSON,
        BigInteger,
        Boolean,
        Column,
        Float,
        ForeignKey,
        Index,
        Integer,
        MetaData,
        String,
        Table,
        false,
    )
    from sqlalchemy import Text as LongText

VERSION_TABLE: Final = "rlds_kit_studio_version"
"""Alembic's table of the migrations that were run."""
ID: Final = String(32)
METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def new_id() -> str:
    """An id that cannot be guessed."""
    return secrets.token_hex(16)


def now_ns() -> int:
    """The time, UTC, in nanoseconds since 1970."""
    return time.time_ns()


users: Final = Table(
    "users",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created_ns", BigInteger, nullable=False),
    Column("is_guest", Boolean, nullable=False, server_default=false()),  # came by the link of a study
)
personal: Final = Table(
    "personal",
    METADATA,
    Column("user_id", ID, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("name", LongText, nullable=False),
    Column("email", String(254), unique=True),  # in lower case; None: not known
    Column("participant", String(200)),  # id of the person at another service
    Column("crowd", JSON(none_as_null=True)),  # what a person of a crowd sent: see `crowds.Personal`
)
tokens: Final = Table(
    "tokens",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("kind", String(16), nullable=False),  # "access": logs in; "link": makes logins; "invitation": makes accounts
    Column("user_id", ID, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),  # or who invites
    Column("role", String(16)),  # of accounts made with it
    Column("created_ns", BigInteger, nullable=False),
    Column("expires_ns", BigInteger, nullable=False),
    Column("uses_left", Integer),  # None: any number
)
studies: Final = Table(
    "studies",
    METADATA,
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
study_versions: Final = Table(
    "study_versions",
    METADATA,
    Column("study_id", ID, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("changed_ns", BigInteger, nullable=False),
    Column("content", JSON, nullable=False),  # what people who played this version were shown
)
study_environments: Final = Table(
    "study_environments",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("study_id", ID, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("position", Integer),  # in the study; None: removed from it, but has sessions
    Column("name", LongText, nullable=False),
    Column("instructions", LongText, nullable=False),
    Column("environment", LongText, nullable=False),
    Column("interface", String(16), nullable=False),
    Column("kwargs", JSON, nullable=False),
    Column("turn", String(16), nullable=False),
    Column("fps", Float, nullable=False),
    Column("max_steps", Integer),
    Column("controls", JSON(none_as_null=True)),  # keys and names of actions; None: the known ones
    Column("seats", JSON(none_as_null=True)),  # see `seating.SeatPlan`; None: one seat, of a person
    Column("together", JSON(none_as_null=True)),  # see `seating.Together`; None: the defaults
)
sessions: Final = Table(
    "sessions",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("study_id", ID, ForeignKey("studies.id"), nullable=False, index=True),
    Column("environment_id", ID, ForeignKey("study_environments.id"), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("server", LongText, nullable=False),  # that it is open on
    Column("agent_id", ID, nullable=False),  # of the person, in published data
    Column("started_ns", BigInteger, nullable=False),
    Column("ended_ns", BigInteger),
    Column("is_valid", Boolean, nullable=False),  # False: ended by the server's death
    Column("reason", LongText, nullable=False, server_default=""),  # why it ended
)
session_seats: Final = Table(
    "session_seats",
    METADATA,
    Column("session_id", ID, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("seat", String(200), primary_key=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),  # the only one who may sit there
    Column("agent_id", ID, nullable=False),  # of the same person, in published data
)
participations: Final = Table(
    "participations",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("session_id", ID, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("seat", String(200), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), index=True),  # None: a program
    Column("agent_id", LongText, nullable=False),  # of a person, in published data; of a program, its implementation
    Column("kind", String(16), nullable=False),  # "human" or "program"
    Column("version", LongText, nullable=False),  # of the program
    Column("joined_ns", BigInteger, nullable=False),
    Column("left_ns", BigInteger),  # None: is there
)
episodes: Final = Table(
    "episodes",
    METADATA,
    Column("id", ID, primary_key=True),  # as in the recording
    Column("public_id", ID, nullable=False, unique=True),  # in published data
    Column("session_id", ID, ForeignKey("sessions.id"), nullable=False, index=True),
    Column("number", Integer, nullable=False),  # in the session; the first is 0
    Column("study_id", ID, ForeignKey("studies.id"), nullable=False),
    Column("study_version", Integer, nullable=False),
    Column("environment_id", ID, ForeignKey("study_environments.id"), nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),
    Column("directory", LongText, nullable=False),  # of the recording, below the studio's
    Column("status", String(16), nullable=False),
    Column("reason", LongText, nullable=False),
    Column("started_ns", BigInteger, nullable=False),
    Column("ended_ns", BigInteger),
    Column("steps", Integer, nullable=False),
    Column("total_reward", Float),  # None: it is no number
    Index(None, "study_id", "started_ns"),
    Index(None, "user_id", "started_ns"),
    Index(None, "started_ns"),
)
episode_tags: Final = Table(
    "episode_tags",
    METADATA,
    Column("episode_id", ID, ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(200), primary_key=True, index=True),  # a copy; the recording's layer has the tags themselves
)
deletions: Final = Table(
    "deletions",
    METADATA,
    Column("episode_id", ID, primary_key=True),
    Column("server", LongText, nullable=False),  # that has the recording
    Column("directory", LongText, nullable=False),  # whose shards still hold it
    Column("deleted_ns", BigInteger, nullable=False),
)
crowds: Final = Table(
    "crowds",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("owner_id", ID, ForeignKey("users.id"), nullable=False),
    Column("name", String(200), nullable=False, unique=True),  # in its file
    Column("is_paused", Boolean, nullable=False),  # all wait
    Column("is_closed", Boolean, nullable=False),  # new people are refused
    Column("created_ns", BigInteger, nullable=False),
)
crowd_people: Final = Table(
    "crowd_people",
    METADATA,
    Column("id", ID, primary_key=True),  # of the person's way, and of the assignment
    Column("crowd_id", ID, ForeignKey("crowds.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False, index=True),
    Column("session_id", ID, ForeignKey("sessions.id"), index=True),  # played now, or last
    Column("group", String(200), nullable=False),
    Column("kind", String(16), nullable=False),  # way of recruitment
    Column("key", String(40), nullable=False),  # keyed hash of the platform's id
    Column("stage", String(16), nullable=False),
    Column("arrived", Float, nullable=False),  # seconds since 1970, as all times of the flow
    Column("changed", Float, nullable=False),
    Column("task", String(200)),
    Column("game", ID),
    Column("seat", Integer),
    Column("completion", Float, nullable=False),
    Column("quality", Float, nullable=False),
    Column("wrong_checks", Integer, nullable=False),
    Column("consent", String(64), nullable=False),  # hash of the text that was accepted
    Column("consented", Float, nullable=False),
    Column("left", String(16)),
    Column("reason", LongText, nullable=False),
    Column("code_hash", String(40), unique=True),  # of the completion code
    Column("code_used_ns", BigInteger),
    Column("base_cents", Integer, nullable=False),  # counted when the game was over; payments count again
    Column("bonus_cents", Integer, nullable=False),
    Column("tickets", Integer, nullable=False),
    Column("paid_ns", BigInteger),
    Column("terms", JSON(none_as_null=True)),  # by which they are paid: those of the moment when their game began
    Column("prize_paid_ns", BigInteger),  # of a raffle
)
crowd_declarations: Final = Table(
    "crowd_declarations",
    METADATA,
    Column("crowd_id", ID, ForeignKey("crowds.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("text", LongText, nullable=False),  # TOML
    Column("user_id", ID, ForeignKey("users.id")),  # who saved it on the page; None: it is from the file
    Column("saved_ns", BigInteger, nullable=False),
)
crowd_raffles: Final = Table(
    "crowd_raffles",
    METADATA,
    Column("crowd_id", ID, ForeignKey("crowds.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("tickets", JSON, nullable=False),  # by assignment; no assignment is in two raffles
    Column("phrase", LongText, nullable=False),
    Column("prizes", Integer, nullable=False),
    Column("prize_cents", Integer, nullable=False),
    Column("winners", JSON, nullable=False),
    Column("user_id", ID, ForeignKey("users.id"), nullable=False),  # who drew it
    Column("drawn_ns", BigInteger, nullable=False),
)
crowd_messages: Final = Table(
    "crowd_messages",
    METADATA,
    Column("id", ID, primary_key=True),
    Column("crowd_id", ID, ForeignKey("crowds.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("person_id", ID, ForeignKey("crowd_people.id", ondelete="CASCADE")),  # None: to all
    Column("text", LongText, nullable=False),
    Column("sent_ns", BigInteger, nullable=False),
)
