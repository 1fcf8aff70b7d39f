"""Replaces the part of `import reverb` for patterns: `structured_writer` and `PatternDataset`."""

from types import SimpleNamespace
from typing import Any, Final

from rlds_kit.transformations import (
    Condition,
    PatternDataset,
    create_config,
    create_reference_step,
    infer_signature,
    pattern_from_transform,
)

__all__ = ["PatternDataset", "structured_writer"]

structured_writer: Final = SimpleNamespace(
    Condition=Condition,
    create_config=create_config,
    create_reference_step=create_reference_step,
    infer_signature=infer_signature,
    pattern_from_transform=pattern_from_transform,
)


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Raises an error that names the replacement of a name of replay buffers."""
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}: there is no replay buffer here. Patterns are applied to a "
        "dataset with `rlds_kit.transformations.pattern_map`; `rlds_kit.open(...).windows(...).batches(...)` samples "
        "from disk"
    )
