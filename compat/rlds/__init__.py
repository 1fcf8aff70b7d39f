"""Replaces `import rlds`, version 0.1.8: `from rlds_kit.compat import rlds`.

The constants and types need no other library; `rlds.transformations` and `rlds.tfds` load TensorFlow when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from rlds_kit.compat.rlds import metadata, rlds_types
from rlds_kit.compat.rlds.rlds_types import *

if TYPE_CHECKING:
    from rlds_kit.compat.rlds import tfds as tfds
    from rlds_kit.compat.rlds import transformations as transformations

__all__ = [
    "ACTION",
    "ALIGNMENT",
    "CORE_STEP_FIELDS",
    "DISCOUNT",
    "IS_FIRST",
    "IS_LAST",
    "IS_TERMINAL",
    "OBSERVATION",
    "REWARD",
    "STEPS",
    "BatchedEpisode",
    "BatchedStep",
    "Episode",
    "Step",
    "build_episode",
    "build_step",
    "metadata",
    "rlds_types",
]

_LAZY: Final = ("tfds", "transformations")
"""Modules that need TensorFlow. They are not in the list above: `import *` would load it."""


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads a module when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
