"""Recorded datasets as TensorFlow Datasets (TFDS): read directly, or written in the formats of TFDS."""

from rlds_kit.tfds_builders import tfds_extra as _tfds_extra  # noqa: F401  raises if TFDS is not installed
from rlds_kit.tfds_builders.atari_agents import atari_agents_dataset_builder as _atari_agents  # noqa: F401  registers it
from rlds_kit.tfds_builders.atari_human import atari_human_dataset_builder as _atari_human  # noqa: F401  registers it
from rlds_kit.tfds_builders.config_generator import extract_feature_from_data, generate_config_from_spec
from rlds_kit.tfds_builders.directory import DirectoryBuilder, DirectoryConfig, builder_from_directory
from rlds_kit.tfds_builders.envlogger_source import EnvLoggerSource
from rlds_kit.tfds_builders.episode_source import DatasetSource, EpisodeSource, SourceEpisode
from rlds_kit.tfds_builders.episode_writer import EpisodeWriter
from rlds_kit.tfds_builders.example import spec_of
from rlds_kit.tfds_builders.features import episode_features
from rlds_kit.tfds_builders.proof import ProofError
from rlds_kit.tfds_builders.publish_builder import EpisodesBuilder, EpisodesConfig

__all__ = [
    "DatasetSource",
    "DirectoryBuilder",
    "DirectoryConfig",
    "EnvLoggerSource",
    "EpisodeSource",
    "EpisodeWriter",
    "EpisodesBuilder",
    "EpisodesConfig",
    "ProofError",
    "SourceEpisode",
    "builder_from_directory",
    "episode_features",
    "extract_feature_from_data",
    "generate_config_from_spec",
    "spec_of",
]
