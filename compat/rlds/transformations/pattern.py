"""The public names of `rlds.transformations.pattern`."""

from rlds_kit.transformations import pattern_map, pattern_map_from_transform, step_spec

__all__ = ["pattern_map", "pattern_map_from_transform", "step_spec"]
