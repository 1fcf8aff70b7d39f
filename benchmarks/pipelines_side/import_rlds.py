"""Imports rlds 0.1.8 where dm-reverb does not install: only `pattern_map`, which is not used here, needs it."""

import sys
import types
from typing import Any


class _Nothing(types.ModuleType):
    """Has every attribute, so that annotations can be evaluated."""

    def __getattr__(self, name: str) -> "_Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(name)


def transformations() -> Any:
    """The module `rlds.transformations`."""
    sys.modules.setdefault("reverb", _Nothing("reverb"))
    import rlds

    return rlds.transformations
