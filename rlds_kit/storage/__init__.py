"""Episodes in shards: the messages, the blocks, the writer and the reader of `docs/format.md`."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rlds_kit.storage.policy import FlushPolicy

__all__ = ["FlushPolicy"]

_LAZY: Final = {"FlushPolicy": "rlds_kit.storage.policy"}
"""Names that readers do not need, and their modules."""


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads the module of a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
