"""The names of `rlds.tfds.episode_writer`."""

import tensorflow_datasets as tfds

from rlds_kit.tfds_builders import EpisodeWriter

__all__ = ["DatasetConfig", "EpisodeWriter"]

DatasetConfig = tfds.rlds.rlds_base.DatasetConfig
