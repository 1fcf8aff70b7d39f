"""The row of a person: where they are, and what they did. It is all that is stored of their place."""

import enum
from dataclasses import dataclass
from typing import Final


class Stage(enum.Enum):
    """Where a person is. The order is that of the way.

    >>> Stage.CONSENT.is_over, Stage.DONE.is_over
    (False, True)
    """

    CONSENT = "consent"
    QUESTIONS = "questions"
    SCREENING = "screening"
    INSTRUCTIONS = "instructions"
    CHECK = "check"
    LOBBY = "lobby"
    PLAY = "play"
    AFTER = "after"
    DONE = "done"
    DROPPED = "dropped"
    """They left. Within a grace time they may come back."""
    SENT_AWAY = "sent away"

    @property
    def is_over(self) -> bool:
        """Whether nothing follows, unless they come back."""
        return self in {Stage.DONE, Stage.DROPPED, Stage.SENT_AWAY}


WAY: Final = tuple(each for each in Stage if each not in {Stage.DROPPED, Stage.SENT_AWAY})


SLOW_LINK: Final = "Your connection became too slow for this game, so it ended here. What you played is paid."
"""Why a game was ended that its person would have gone on with."""


@dataclass(frozen=True, slots=True)
class Place:
    """A seat in a game.

    Attributes:
      task: name.
      game: id; people who play together have the same.
      seat: number, from 0.
    """

    task: str
    game: str
    seat: int


@dataclass(frozen=True, slots=True)
class Person:
    """A person's row.

    Attributes:
      id: random, also of their assignment.
      group: of the link.
      kind: way of recruitment.
      key: keyed hash of the platform's id; empty where there is none.
      stage: where they are.
      arrived, changed: seconds since 1970.
      place: their seat; None before the lobby.
      completion: from 0 to 1.
      quality: weight of what they did, from 0 to 1.
      wrong_checks: attempts at the comprehension check that were not correct.
      consent: hash of the text that they accepted; empty: not yet.
      consented: seconds since 1970.
      left: the stage from which they dropped out.
      reason: why they were sent away, or their game was ended.
      is_ready: whether they wait at the end of the lobby's countdown.

    >>> Person("7f3a", "main", "test", "", Stage.CONSENT, 0.0, 0.0).is_test
    True
    """

    id: str
    group: str
    kind: str
    key: str
    stage: Stage
    arrived: float
    changed: float
    place: Place | None = None
    completion: float = 0.0
    quality: float = 1.0
    wrong_checks: int = 0
    consent: str = ""
    consented: float = 0.0
    left: Stage | None = None
    reason: str = ""
    is_ready: bool = False

    @property
    def is_test(self) -> bool:
        """Whether they are a test user, who counts for nothing."""
        return self.kind == "test"

    @property
    def is_cut_short(self) -> bool:
        """Whether their game was ended before they wanted: they are paid in proportion to what they did."""
        return self.reason == SLOW_LINK

    @property
    def is_active(self) -> bool:
        """Whether they have an assignment under way."""
        return self.place is not None and not self.stage.is_over
