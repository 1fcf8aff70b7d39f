"""The public names of `rlds.transformations.dataset_stats`."""

from rlds_kit.transformations import mean_and_std, sar_fields_mask

__all__ = ["mean_and_std", "sar_fields_mask"]
