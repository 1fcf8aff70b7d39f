"""The public names of `rlds.transformations.alignment`."""

from rlds_kit.transformations import AlignmentType, add_alignment_to_step, shift_keys

__all__ = ["AlignmentType", "add_alignment_to_step", "shift_keys"]
