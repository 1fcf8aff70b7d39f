"""The names of `rlds.tfds`, and its modules."""

from rlds_kit.compat.rlds.tfds import config_generator, episode_writer
from rlds_kit.tfds_builders import EpisodeWriter, extract_feature_from_data, generate_config_from_spec

__all__ = [
    "EpisodeWriter",
    "config_generator",
    "episode_writer",
    "extract_feature_from_data",
    "generate_config_from_spec",
]
