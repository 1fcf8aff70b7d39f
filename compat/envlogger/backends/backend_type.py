"""The names of `envlogger.backends.backend_type`."""

import enum


class BackendType(enum.Enum):
    """Where steps go."""

    RIEGELI = "riegeli"
    """A dataset of rlds_kit, in files of the Riegeli format."""
    IN_MEMORY = "in_memory"
    """Not supported."""
