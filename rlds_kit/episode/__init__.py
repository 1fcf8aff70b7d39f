"""One recorded episode: its fields, steps and metadata, and the transitions of its agents."""

from typing import TYPE_CHECKING, Final

from rlds_kit.episode.episode import Episode, Steps
from rlds_kit.episode.episodes import DatasetSteps, Episodes
from rlds_kit.lazy import lazy_names

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
    {*__all__} - {"DatasetSteps", "Episode", "Episodes", "Steps"}, "rlds_kit.episode.multi_agent"
)
"""Names that `import rlds_kit` does not need, and their module."""

__getattr__ = lazy_names(__name__, _LAZY)
