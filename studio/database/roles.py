"""Roles of accounts, and their relations to rows."""

from enum import Enum, StrEnum


class Role(StrEnum):
    """The role of an account."""

    DESIGNER = "designer"
    """Makes studies, and sees all that is recorded in them."""
    PARTICIPANT = "participant"
    """Plays in studies of others, and sees what it played itself."""
    REVIEWER = "reviewer"
    """Sees and tags the episodes of all studies."""


class Relation(Enum):
    """The relation of an account to a row."""

    OWN = "own"
    """Made the study; recorded the episode."""
    SHARED = "shared"
    """Played in it, with others."""
    OF_OWN_STUDY = "of own study"
    """Somebody else's session or episode, in a study of one's own."""
    ENABLED = "enabled"
    """Somebody else's study that is enabled."""
    OTHER = "other"
    """Neither."""
