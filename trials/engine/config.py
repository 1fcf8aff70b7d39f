"""What a trial is, before it begins."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from rlds_kit.trials.engine.aggregates import AGGREGATES, DEFAULT
from rlds_kit.trials.engine.seat import SeatConfig

MIN_FPS: Final = 1.0
MAX_FPS: Final = 60.0
SECOND: Final = 1_000_000_000
"""In nanoseconds."""


class Turn(Enum):
    """When a step is done."""

    CLOCK = "clock"
    """At a fixed rate, with the keys that are down then (asynchronous)."""
    PRESS = "press"
    """Whenever a key goes down that makes an action with those that are down (synchronous)."""
    HOLD = "hold"
    """While keys are down that make an action, at a fixed rate at most (turn-based)."""
    RELEASE = "release"
    """Once, and again when all keys were up (turn-based)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast steps follow each other.

    Attributes:
      turn: when a step is done.
      fps: steps a second, 1 to 60; of CLOCK exactly, of HOLD at most, of the others unused.

    >>> Pace(Turn.CLOCK, 30).period_ns
    33333333
    """

    turn: Turn = Turn.CLOCK
    fps: float = 15.0

    def __post_init__(self) -> None:
        require_fps(self.fps)

    @property
    def period_ns(self) -> int:
        """Between two steps, in nanoseconds."""
        return int(SECOND / self.fps)


def require_fps(fps: object) -> float:
    """A rate.

    Raises:
      ValueError: it is none.
    """
    is_number = isinstance(fps, int | float) and not isinstance(fps, bool) and math.isfinite(fps)
    if not is_number or not MIN_FPS <= fps <= MAX_FPS:  # type: ignore[operator]
        raise ValueError(f"expected {MIN_FPS:g} to {MAX_FPS:g} frames a second, got {fps!r}")
    return float(fps)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialConfig:
    """One episode that is to be played.

    Attributes:
      seats: of all agents.
      pace: how fast.
      seed: of the environment; None: the recorder draws one.
      options: of its reset.
      max_steps: after so many the episode is truncated.
      max_seconds: from when the first step is due; then one more is done, and the episode is truncated; None: no limit.
      is_confirmed: whether a person decides at the end if the episode is saved.
      countdown_seconds: from when everybody is ready to the first step.
      idle_seconds: without a key going up or down, after which a running trial pauses itself; None: never.
      held_seconds: the same where a key or a stick is down all the time, as in a race; not less than idle_seconds.
      pause_seconds: after which a paused trial, or one that waits for an answer of its person, is abandoned.
      seats_seconds: for people to come, after which fallbacks act in place of those who are missing.
      grace_seconds: for a person whose connection was lost to come back.
      answer_seconds: for an actor; then its default action is done, or, if it is required, the trial is abandoned.
      most_rewards: that people and programs may give in the episode; further ones are refused.
      most_said: messages between seats that may wait for the next step; further ones are refused.
      aggregate: how several rewards of a step and seat become one: "mean" weighted by confidence, as in Cogment,
        "latest", "sum" or "surest".
    """

    seats: tuple[SeatConfig, ...]
    pace: Pace = Pace()
    seed: int | None = None
    options: Mapping[str, Any] | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    is_confirmed: bool = True
    countdown_seconds: float = 0.0
    idle_seconds: float | None = 6.0
    held_seconds: float = 60.0
    pause_seconds: float = 1800.0
    seats_seconds: float = 900.0
    grace_seconds: float = 60.0
    answer_seconds: float = 10.0
    most_rewards: int = 10_000
    most_said: int = 100
    aggregate: str = DEFAULT

    def __post_init__(self) -> None:
        names = [each.name for each in self.seats]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"expected seats with names of their own, at least one, got {names}")
        if self.max_steps is not None and self.max_steps < 1:
            raise ValueError(f"expected max_steps of at least 1, or None, got {self.max_steps}")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise ValueError(f"expected max_seconds above 0, or None, got {self.max_seconds}")
        if self.aggregate not in AGGREGATES:
            raise ValueError(f"expected aggregate to be one of {', '.join(AGGREGATES)}, got {self.aggregate!r}")
