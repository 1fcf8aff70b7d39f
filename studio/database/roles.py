"""Roles of accounts, and their relations to rows."""

from enum import Enum, StrEnum


class Role(StrEnum):
    """The role of an account."""

    DESIGNER = "designer"
    """Makes studies, and sees all that is recorded in them."""
    PARTICIPANT = "participant"
    """Plays in studies of others, and sees its own episodes."""
    REVIEWER = "reviewer"
    """Sees and tags the episodes of all studies."""


class Relation(Enum):
    """The relation of an account to a row."""

    OWN = "own"
    """Made the study; recorded the episode."""
    SHARED = "shared"
    """Played in it, with others."""
    OF_OWN_STUDY = "of own study"
    """A session or episode of another account, in the account's own study."""
    ENABLED = "enabled"
    """An enabled study of another account."""
    OTHER = "other"
    """None of these."""
