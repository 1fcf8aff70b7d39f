"""One recorded episode: its fields, steps and metadata, and the transitions of its agents."""

import importlib
from typing import TYPE_CHECKING, Any, Final

from rlds_kit.episode.episode import Episode, Steps
from rlds_kit.episode.episodes import DatasetSteps, Episodes

if TYPE_CHECKING:
    from rlds_kit.episode.multi_agent import (
        AgentEpisode,
        AgentTransitions,
        JointTransitions,
        agent_episode,
        agent_transitions,
        agents_of,
        joint_transitions,
    )

__all__ = [
    "AgentEpisode",
    "AgentTransitions",
    "DatasetSteps",
    "Episode",
    "Episodes",
    "JointTransitions",
    "Steps",
    "agent_episode",
    "agent_transitions",
    "agents_of",
    "joint_transitions",
]

_LAZY: Final = dict.fromkeys(
    (
        "AgentEpisode",
        "AgentTransitions",
        "JointTransitions",
        "agent_episode",
        "agent_transitions",
        "agents_of",
        "joint_transitions",
    ),
    "rlds_kit.episode.multi_agent",
)
"""Names that `import rlds_kit` does not need, and their module."""


def __getattr__(name: str) -> Any:  # a module's attributes are of any type
    """Loads the module of a name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
