"""The names of `rlds.tfds.episode_writer`."""

from rlds_kit.tfds_builders import EpisodeWriter
from rlds_kit.tfds_builders.tfds_extra import tfds

__all__ = ["DatasetConfig", "EpisodeWriter"]

DatasetConfig = tfds.rlds.rlds_base.DatasetConfig
