"""Atari games played by programs, recorded on the spot from the Arcade Learning Environment."""

from rlds_kit.tfds_builders.atari_agents.atari_agents_dataset_builder import AtariAgentsConfig
from rlds_kit.tfds_builders.atari_agents.recording import Season, record

__all__ = ["AtariAgentsConfig", "Season", "record"]
