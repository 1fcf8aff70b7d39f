"""The public names of `rlds.transformations.nested_ops`."""

from rlds_kit.transformations import (
    apply_nested_steps,
    episode_length,
    final_step,
    map_nested_steps,
    map_steps,
    sum_dataset,
    sum_nested_steps,
)

__all__ = [
    "apply_nested_steps",
    "episode_length",
    "final_step",
    "map_nested_steps",
    "map_steps",
    "sum_dataset",
    "sum_nested_steps",
]
