"""Where a trial stands, and how it ended."""

from enum import Enum
from typing import Final


class Phase(Enum):
    """Of a trial, which is one episode."""

    INITIALIZING = "initializing"
    """The environment is being reset."""
    WAITING = "waiting"
    """For people to take their seats and be ready."""
    COUNTDOWN = "countdown"
    """Everybody is there; it begins in some seconds."""
    RUNNING = "running"
    PAUSED = "paused"
    CONFIRMING = "confirming"
    """A person decides whether to save the episode."""
    ENDING = "ending"
    """It is decided how it ends, but a step is still being done."""
    ENDED = "ended"


class Status(Enum):
    """What became of an episode; it is recorded with it."""

    COMPLETED = "completed"
    CANCELLED = "cancelled"
    """A person ended it early and saved it."""
    REJECTED = "rejected"
    """A person did not want it."""
    ABANDONED = "abandoned"
    """People did not come, or come back; or the environment failed."""


MOVES: Final = {
    Phase.INITIALIZING: {Phase.WAITING, Phase.ENDED},
    Phase.WAITING: {Phase.COUNTDOWN, Phase.RUNNING, Phase.CONFIRMING, Phase.ENDED},
    Phase.COUNTDOWN: {Phase.WAITING, Phase.RUNNING, Phase.ENDED},
    Phase.RUNNING: {Phase.PAUSED, Phase.CONFIRMING, Phase.ENDING, Phase.ENDED},
    Phase.PAUSED: {Phase.RUNNING, Phase.CONFIRMING, Phase.ENDING, Phase.ENDED},
    Phase.CONFIRMING: {Phase.RUNNING, Phase.ENDING, Phase.ENDED},
    Phase.ENDING: {Phase.ENDED},
    Phase.ENDED: set[Phase](),
}
"""Which phase may follow which."""
