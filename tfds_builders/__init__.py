"""Publish: recorded datasets as TensorFlow Datasets, read where they lie or written in its own formats."""

from rlds_kit.tfds_builders import tfds_extra as _tfds_extra  # noqa: F401  raises where there is none
