"""Atari games played by people: recordings in our own format, and the CrowdPlay Atari dataset."""

from rlds_kit.tfds_builders.atari_human.atari_human_dataset_builder import crowdplay_config
from rlds_kit.tfds_builders.atari_human.sources import CrowdPlay

__all__ = ["CrowdPlay", "crowdplay_config"]
