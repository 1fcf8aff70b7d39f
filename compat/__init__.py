"""Replacements for `rlds`, `envlogger` and the patterns of `reverb`, for programs that use these libraries."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlds_kit.compat import envlogger, reverb, rlds

__all__ = ["envlogger", "reverb", "rlds"]


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads a module when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
