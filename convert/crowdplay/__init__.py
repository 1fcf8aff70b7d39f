"""Reads CrowdPlay's files, with an unpickler that imports and calls nothing."""

from rlds_kit.convert.crowdplay.trajectories import read_episodes

__all__ = ["read_episodes"]
