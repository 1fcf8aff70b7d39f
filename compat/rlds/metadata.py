"""The names of `rlds.metadata`."""

from rlds_kit.base.rlds_types import AGENT_ID, ENVIRONMENT_CONFIG, EPISODE_ID, EXPERIMENT_ID, INVALID

__all__ = ["AGENT_ID", "ENVIRONMENT_CONFIG", "EPISODE_ID", "EXPERIMENT_ID", "INVALID"]
