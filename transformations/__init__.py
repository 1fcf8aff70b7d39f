"""Pipelines of tf.data over episodes and steps: every name of `rlds.transformations`, and more."""

from rlds_kit.transformations import tensorflow_extra as _tensorflow_extra
from rlds_kit.transformations.dense import from_dense, to_dense

__all__ = [
    "from_dense",
    "to_dense",
]
