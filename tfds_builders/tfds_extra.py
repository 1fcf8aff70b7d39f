"""Says what to install where TensorFlow Datasets is not there. The package imports this before anything else."""

try:
    import tensorflow_datasets as tfds
except ImportError as error:
    raise ImportError('rlds_kit.tfds_builders needs TensorFlow Datasets: pip install "rlds-kit[tfds]"') from error

__all__ = ["tfds"]
