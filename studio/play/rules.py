"""What people who play together decide together."""

from dataclasses import dataclass
from enum import StrEnum


class Consent(StrEnum):
    """Whose word is enough to pause, to end, or to save an episode."""

    ONE = "one"
    """Anybody's who has a seat."""
    ALL = "all"
    """That of all who are there."""
    VOTE = "vote"
    """That of more than half of those who are there."""
    NOBODY = "nobody"
    """It cannot be done; an episode that is over is saved as completed."""

    def needed(self, people: int) -> int:
        """How many of the people who are there have to agree.

        >>> Consent.VOTE.needed(4), Consent.VOTE.needed(3), Consent.ALL.needed(3), Consent.ONE.needed(3)
        (3, 2, 3, 1)
        """
        return {Consent.ONE: 1, Consent.VOTE: people // 2 + 1}.get(self, people)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Of a session.

    Attributes:
      pause: whose word pauses the episode.
      cancel: whose word ends it.
      confirm: whose word saves or rejects it.
    """

    pause: Consent = Consent.ONE
    cancel: Consent = Consent.ONE
    confirm: Consent = Consent.ONE
