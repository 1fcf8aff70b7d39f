"""The modules of `envlogger.backends` that programs import."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlds_kit.compat.envlogger.backends import (
        backend_type,
        riegeli_backend_writer,
        rlds_utils,
        schedulers,
        tfds_backend_writer,
    )

__all__ = ["backend_type", "riegeli_backend_writer", "rlds_utils", "schedulers", "tfds_backend_writer"]


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads a module when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
