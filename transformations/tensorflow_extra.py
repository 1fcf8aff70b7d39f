"""Raises an error that explains how to install TensorFlow, if it is missing. The package imports this module first."""

from rlds_kit.install import how_to_install

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(f"rlds_kit.transformations needs TensorFlow: {how_to_install('tf')}") from error

__all__ = ["tf"]
