"""Record episodes: wrap an environment and keep every step.

`EnvLogger` wraps dm_env environments, `GymnasiumLogger` and `VectorLogger` those of Gymnasium; `EpisodeWriter` needs no
environment. `rlds_kit.open` reads what they wrote.
"""

from rlds_kit.logger.env_logger import EnvLogger
from rlds_kit.logger.episode_writer import EpisodeWriter, OpenEpisode
from rlds_kit.logger.gymnasium_logger import GymnasiumLogger
from rlds_kit.logger.schedulers import (
    BernoulliEpisodeScheduler,
    BernoulliStepScheduler,
    EpisodeScheduler,
    ListEpisodeScheduler,
    ListStepScheduler,
    NEpisodeScheduler,
    NStepScheduler,
    StepData,
    TimeScheduler,
)
from rlds_kit.logger.time_step import GymnasiumTimeStep
from rlds_kit.logger.vector_logger import VectorLogger
from rlds_kit.step import EpisodeEnd
from rlds_kit.storage.policy import FlushPolicy

__all__ = [
    "BernoulliEpisodeScheduler",
    "BernoulliStepScheduler",
    "EnvLogger",
    "EpisodeEnd",
    "EpisodeScheduler",
    "EpisodeWriter",
    "FlushPolicy",
    "GymnasiumLogger",
    "GymnasiumTimeStep",
    "ListEpisodeScheduler",
    "ListStepScheduler",
    "NEpisodeScheduler",
    "NStepScheduler",
    "OpenEpisode",
    "StepData",
    "TimeScheduler",
    "VectorLogger",
]
