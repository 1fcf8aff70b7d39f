"""The public names of `rlds.transformations.flexible_batch`."""

from rlds_kit.transformations import BATCH_AUTO_TUNE, batch

__all__ = ["BATCH_AUTO_TUNE", "batch"]
