"""Says what to install where TensorFlow is not there. The package imports this before anything else."""

from rlds_kit.install import how_to_install

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError(f"rlds_kit.transformations needs TensorFlow: {how_to_install('tf')}") from error

__all__ = ["tf"]
