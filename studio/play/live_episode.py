"""One episode while it is played."""

from dataclasses import dataclass

from rlds_kit.trials import Status, Trial, TrialConfig
from rlds_kit.trials.engine.messages import Finish
from rlds_kit.trials.workers.requests import Begun


@dataclass(slots=True)
class LiveEpisode:
    """One episode while it is played.

    Attributes:
      number: in the session, from 0.
      config: of the trial.
      trial: the engine.
      begun: the answer of the environment to the reset; None: there is none yet.
      started_ns: time of that answer, nanoseconds since 1970.
      finish: how the episode ended; None: it has not ended.
    """

    number: int
    config: TrialConfig
    trial: Trial
    begun: Begun | None = None
    started_ns: int = 0
    finish: Finish | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether it ended because people are missing, or the environment failed."""
        return self.finish is not None and self.finish.status is Status.ABANDONED
