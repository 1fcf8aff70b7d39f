"""All credit to one step."""

from dataclasses import dataclass
from typing import ClassVar

from rlds_kit.shaping.credit.assigner import Credit
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import StepClock


@dataclass(frozen=True, slots=True)
class NextStep:
    """All credit to the step that is shown when an event comes, or to an earlier one: for steps of about a second.

    Algorithm 1 of the TAMER paper: what came until the next step begins is about this step. In Tetris a person judges
    the previous piece while the next one falls; that is a lag of 1.

    Attributes:
      lag: 0: the step that is shown; 1: the one before it.

    Raises:
      ValueError: the lag is negative.
    """

    name: ClassVar[str] = "next_step"
    version: ClassVar[int] = 1

    lag: int = 0

    def __post_init__(self) -> None:
        if self.lag < 0:
            raise ValueError(f"lag: expected 0 or more steps before the one that is shown, got {self.lag}")

    def credit(self, event: FeedbackEvent, clock: StepClock) -> Credit:
        """See `Assigner.credit`. After the episode its last step is the one before, and is taken as shown, too."""
        bounds, is_over = clock.bounds(event.marks)
        step = min(len(bounds) - 1 - self.lag, len(bounds) - 1 - is_over)
        return Credit(step, (1.0,)) if step >= 0 else Credit(0, ())
