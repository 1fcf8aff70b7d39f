"""Every public name of `rlds.transformations`, and its modules."""

from rlds_kit.compat.rlds.transformations import (
    alignment,
    dataset_concat,
    dataset_stats,
    dataset_truncate,
    flexible_batch,
    nested_ops,
    pattern,
    shape_ops,
)
from rlds_kit.compat.rlds.transformations.alignment import *
from rlds_kit.compat.rlds.transformations.dataset_concat import *
from rlds_kit.compat.rlds.transformations.dataset_stats import *
from rlds_kit.compat.rlds.transformations.dataset_truncate import *
from rlds_kit.compat.rlds.transformations.flexible_batch import *
from rlds_kit.compat.rlds.transformations.nested_ops import *
from rlds_kit.compat.rlds.transformations.pattern import *
from rlds_kit.compat.rlds.transformations.shape_ops import *

__all__ = [
    "alignment",
    "dataset_concat",
    "dataset_stats",
    "dataset_truncate",
    "flexible_batch",
    "nested_ops",
    "pattern",
    "shape_ops",
]
__all__ += alignment.__all__
__all__ += dataset_concat.__all__
__all__ += dataset_stats.__all__
__all__ += dataset_truncate.__all__
__all__ += flexible_batch.__all__
__all__ += nested_ops.__all__
__all__ += pattern.__all__
__all__ += shape_ops.__all__
