"""Atari games played by programs, recorded locally with the Arcade Learning Environment."""

from rlds_kit.tfds_builders.atari_agents.atari_agents_dataset_builder import AtariAgentsConfig
from rlds_kit.tfds_builders.atari_agents.cross_entropy import Generation, Search
from rlds_kit.tfds_builders.atari_agents.games import make_env
from rlds_kit.tfds_builders.atari_agents.linear_policy import LinearPolicy
from rlds_kit.tfds_builders.atari_agents.recording import Season, record
from rlds_kit.tfds_builders.atari_agents.training import Training, train_policy

__all__ = [
    "AtariAgentsConfig",
    "Generation",
    "LinearPolicy",
    "Search",
    "Season",
    "Training",
    "make_env",
    "record",
    "train_policy",
]
