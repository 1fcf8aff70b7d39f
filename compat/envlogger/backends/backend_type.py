"""The names of `envlogger.backends.backend_type`."""

import enum


class BackendType(enum.Enum):
    """The kind of storage that an `EnvLogger` writes to."""

    RIEGELI = "riegeli"
    """A dataset of rlds_kit, in files of the Riegeli format."""
    IN_MEMORY = "in_memory"
    """Not supported."""
