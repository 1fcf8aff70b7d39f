"""Says what to install where TensorFlow is not there. The package imports this before anything else."""

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError('rlds_kit.transformations needs TensorFlow: pip install "rlds-kit[tf]"') from error

__all__ = ["tf"]
