"""The public names of `rlds.transformations.dataset_truncate`."""

from rlds_kit.transformations import truncate_after_condition

__all__ = ["truncate_after_condition"]
