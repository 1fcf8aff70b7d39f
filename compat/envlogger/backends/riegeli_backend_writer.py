"""The names of `envlogger.backends.riegeli_backend_writer`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlds_kit.logger.schedulers import Scheduler


@dataclass(frozen=True)
class RiegeliBackendWriter:
    """The backend of an `EnvLogger` that records a dataset, which `Reader` and `rlds_kit.open` read.

    Attributes:
      data_directory: of the dataset; created if it does not exist.
      max_episodes_per_shard: a shard with this many episodes gets no new ones; None: no limit.
      writer_options: of EnvLogger's file writer; ignored, because blocks are compressed column by column here.
      flush_scheduler: ignored, because all data older than a second are on disk.
      metadata: of the run.
      scheduler: selects the steps or episodes to record; None: all.
    """

    data_directory: str | os.PathLike[str]
    max_episodes_per_shard: int | None = None
    writer_options: str = ""
    flush_scheduler: Scheduler | None = None
    metadata: Mapping[str, Any] | None = None
    scheduler: Scheduler | None = None
