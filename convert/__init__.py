"""Reads and writes datasets of other formats, without changing a value: one module for each format."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.base.executor.run import WorkerDiedError
    from rlds_kit.convert.conversion import Report, convert
    from rlds_kit.convert.formats import FORMATS, WRITABLE
    from rlds_kit.convert.protocol import ConversionError, Loss

__all__ = ["FORMATS", "WRITABLE", "ConversionError", "Loss", "Report", "WorkerDiedError", "convert"]

_LAZY: Final = {
    "FORMATS": "rlds_kit.convert.formats",
    "WRITABLE": "rlds_kit.convert.formats",
    "ConversionError": "rlds_kit.convert.protocol",
    "Loss": "rlds_kit.convert.protocol",
    "Report": "rlds_kit.convert.conversion",
    "WorkerDiedError": "rlds_kit.base.executor.run",
    "convert": "rlds_kit.convert.conversion",
}
"""Names and their modules: one format is used without loading the others."""

__getattr__ = lazy_names(__name__, _LAZY)
