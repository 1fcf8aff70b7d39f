"""What is counted while a participant plays, to show them how far they are; pay is counted from the recordings.

Counting itself is done beside the environment, by `crowd.collectors.live_counts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rlds_kit.trials.engine.messages import StepEnvironment
from rlds_kit.trials.workers.requests import Stepped


@dataclass(eq=False)
class Counting:
    """The latest values of a session; see `play.host.Watch`.

    Attributes:
      values: by seat, by name of the collector, over all sessions of the seat's assignment. What is not there is
        counted from the recording.
      is_lost: whether the environment was lost, with what was counted beside it.
    """

    values: Mapping[str, Mapping[str, float]]
    is_lost: bool = False

    def stepped(self, doing: StepEnvironment, done: Stepped) -> None:
        """A step was done."""
        del doing
        self.values = {} if self.is_lost else done.counted

    def lost(self) -> None:
        """The environment was lost; one that is made in its place does not know what was counted."""
        self.values, self.is_lost = {}, True
