"""Code that all higher floors share: errors, the field names of a step, atomic file writes, progress."""

from typing import TYPE_CHECKING, Final

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
from rlds_kit.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _LAZY)
