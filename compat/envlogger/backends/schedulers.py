"""The names of `envlogger.backends.schedulers`."""

from rlds_kit.logger.schedulers import (
    BernoulliEpisodeScheduler,
    BernoulliStepScheduler,
    ListEpisodeScheduler,
    ListStepScheduler,
    NEpisodeScheduler,
    NStepScheduler,
    Scheduler,
)

__all__ = [
    "BernoulliEpisodeScheduler",
    "BernoulliStepScheduler",
    "ListEpisodeScheduler",
    "ListStepScheduler",
    "NEpisodeScheduler",
    "NStepScheduler",
    "Scheduler",
]
