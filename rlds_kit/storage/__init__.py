"""Episodes in shards: the messages, the blocks, the writer and the reader of `docs/format.md`."""

from typing import TYPE_CHECKING, Final

from rlds_kit.lazy import lazy_names

if TYPE_CHECKING:
    from rlds_kit.storage.policy import FlushPolicy

__all__ = ["FlushPolicy"]

_LAZY: Final = {"FlushPolicy": "rlds_kit.storage.policy"}
"""Names that readers do not need, and their modules."""

__getattr__ = lazy_names(__name__, _LAZY)
