"""Other people's recordings, read exactly: one module per format."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rlds_kit.convert.conversion import Report, convert
    from rlds_kit.convert.formats import FORMATS, WRITABLE
    from rlds_kit.convert.protocol import ConversionError, Loss
    from rlds_kit.convert.workers import WorkerDiedError

__all__ = ["FORMATS", "WRITABLE", "ConversionError", "Loss", "Report", "WorkerDiedError", "convert"]

_LAZY: Final = {
    "FORMATS": "rlds_kit.convert.formats",
    "WRITABLE": "rlds_kit.convert.formats",
    "ConversionError": "rlds_kit.convert.protocol",
    "Loss": "rlds_kit.convert.protocol",
    "Report": "rlds_kit.convert.conversion",
    "WorkerDiedError": "rlds_kit.convert.workers",
    "convert": "rlds_kit.convert.conversion",
}
"""Names and their modules: whoever needs one format does not load them all."""


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads the module of a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
