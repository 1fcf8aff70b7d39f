"""The names of `envlogger.backends.riegeli_backend_writer`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlds_kit.logger.schedulers import Scheduler


@dataclass(frozen=True)
class RiegeliBackendWriter:
    """Tells an `EnvLogger` where and how to record: a dataset that `Reader` and `rlds_kit.open` read.

    Attributes:
      data_directory: of the dataset; made if it is not there.
      max_episodes_per_shard: a shard that has so many takes no new one; None has no limit.
      writer_options: of EnvLogger's file writer; without a meaning here, where blocks are compressed column by column.
      flush_scheduler: without a meaning here: all that is older than a second is on disk.
      metadata: of the run.
      scheduler: which steps or episodes to keep; None keeps all.
    """

    data_directory: str | os.PathLike[str]
    max_episodes_per_shard: int | None = None
    writer_options: str = ""
    flush_scheduler: Scheduler | None = None
    metadata: Mapping[str, Any] | None = None
    scheduler: Scheduler | None = None
