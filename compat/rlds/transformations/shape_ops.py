"""The public names of `rlds.transformations.shape_ops`."""

from rlds_kit.transformations import uniform_from_spec, zero_dataset_like, zeros_from_spec

__all__ = ["uniform_from_spec", "zero_dataset_like", "zeros_from_spec"]
