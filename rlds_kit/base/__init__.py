"""Code that all higher floors share: errors, the field names of a step, atomic file writes, progress."""

import importlib
from typing import TYPE_CHECKING, Any, Final

from rlds_kit.base import rlds_types
from rlds_kit.base.errors import (
    DamagedError,
    DamageWarning,
    DatasetExistsError,
    FormatError,
    LossWarning,
    NotADatasetError,
    RecordingError,
    RldsKitError,
    SpecError,
    UnsupportedTypeError,
)
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.base.step import EpisodeEnd

if TYPE_CHECKING:
    from rlds_kit.base.cache import CacheError
    from rlds_kit.base.environment import NotRebuiltError

__all__ = [
    "CacheError",
    "DamageWarning",
    "DamagedError",
    "DatasetExistsError",
    "EpisodeEnd",
    "FormatError",
    "LossWarning",
    "MissingExtraError",
    "NotADatasetError",
    "NotRebuiltError",
    "RecordingError",
    "RldsKitError",
    "SpecError",
    "UnsupportedTypeError",
    "rlds_types",
]

_LAZY: Final = {"CacheError": "rlds_kit.base.cache", "NotRebuiltError": "rlds_kit.base.environment"}
"""Names whose modules load what `import rlds_kit` does not need, Gymnasium for instance."""


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads the module of a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
