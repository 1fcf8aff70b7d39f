"""Replaces `import envlogger`: `from rlds_kit.compat import envlogger`.

It records datasets of rlds_kit, and `Reader` reads these and the directories of EnvLogger.
"""

from typing import Any

from rlds_kit.compat.envlogger.backends.backend_type import BackendType
from rlds_kit.compat.envlogger.backends.riegeli_backend_writer import RiegeliBackendWriter
from rlds_kit.compat.envlogger.environment_logger import EnvLogger
from rlds_kit.compat.envlogger.reader import Reader
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.logger.schedulers import Scheduler, StepData

__all__ = ["BackendType", "Data", "Datum", "EnvLogger", "Reader", "RiegeliBackendWriter", "Scheduler", "StepData"]


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Raises an error that names the replacement of a missing name."""
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; there are {', '.join(__all__)}, and the modules of "
        "`backends`: docs/migrating_from_rlds.md names what to use for others"
    )
