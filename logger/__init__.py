"""Records episodes: wrappers for environments that write every step to disk.

`EnvLogger` wraps dm_env environments, `GymnasiumLogger` and `VectorLogger` those of Gymnasium, `PettingZooLogger` those
of PettingZoo, with several agents. `EpisodeWriter`, `write_arrays`, and `BatchWriter` for environments that step
together, need no environment. `rlds_kit.open` reads the datasets.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rlds_kit.base.extras import needs
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.logger.batch_writer import BatchWriter
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
from rlds_kit.logger.write_arrays import write_arrays
from rlds_kit.storage.policy import FlushPolicy

if TYPE_CHECKING:
    from rlds_kit.logger.pettingzoo_logger import PettingZooLogger as PettingZooLogger

__all__ = [
    "BatchWriter",
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
    "write_arrays",
]
if find_spec("pettingzoo") is not None:  # PettingZoo is optional, and `import *` must not raise
    __all__ += ["PettingZooLogger"]


def __getattr__(name: str) -> Any:  # attributes of a module have any type
    """Imports `PettingZooLogger` at the first access, because PettingZoo is optional."""
    if name != "PettingZooLogger":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs("pettingzoo"):
        from rlds_kit.logger.pettingzoo_logger import PettingZooLogger
    return PettingZooLogger
