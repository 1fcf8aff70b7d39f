"""Assigns all credit to one step."""

from dataclasses import dataclass
from typing import ClassVar

from rlds_kit.base.arguments import integer
from rlds_kit.shaping.credit.assigner import Credit
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import StepClock


@dataclass(frozen=True, slots=True)
class NextStep:
    """Assigns all credit to the current step of an event, or to an earlier one: for steps of about a second.

    Algorithm 1 of the TAMER paper: feedback before the next step begins is about this step. In Tetris a person judges
    the previous piece while the next one falls; that is a lag of 1.

    Attributes:
      lag: 0: the current step; 1: the previous one.

    Raises:
      TypeError: the lag is no integer.
      ValueError: the lag is negative.
    """

    name: ClassVar[str] = "next_step"
    version: ClassVar[int] = 1

    lag: int = 0

    def __post_init__(self) -> None:
        if integer("lag", self.lag) < 0:
            raise ValueError(f"lag: expected 0 or more steps before the one that is shown, got {self.lag}")

    def credit(self, event: FeedbackEvent, clock: StepClock) -> Credit:
        """See `Assigner.credit`. After the episode, its last step counts as the current and as the previous one."""
        bounds, is_over = clock.bounds(event.marks)
        step = min(len(bounds) - 1 - self.lag, len(bounds) - 1 - is_over)
        return Credit(step, (1.0,)) if step >= 0 else Credit(0, ())
