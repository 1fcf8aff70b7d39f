"""Raises an error that explains how to install TFDS, if it is missing. The package imports this module first."""

from rlds_kit.install import how_to_install

try:
    import tensorflow_datasets as tfds
except ImportError as error:
    raise ImportError(f"rlds_kit.tfds_builders needs TensorFlow Datasets: {how_to_install('tfds')}") from error

__all__ = ["tfds"]
