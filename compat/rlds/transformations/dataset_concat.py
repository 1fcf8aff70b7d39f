"""The public names of `rlds.transformations.dataset_concat`."""

from rlds_kit.transformations import concat_if_terminal, concatenate

__all__ = ["concat_if_terminal", "concatenate"]
