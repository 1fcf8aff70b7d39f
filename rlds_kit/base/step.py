"""The terms of the data model: the fields of a step, and how an episode ends.

The names are those of RLDS (https://github.com/google-research/rlds#dataset-format).
"""

import enum
from typing import Final

OBSERVATION: Final = "observation"
ACTION: Final = "action"
REWARD: Final = "reward"
DISCOUNT: Final = "discount"
IS_FIRST: Final = "is_first"
IS_LAST: Final = "is_last"
IS_TERMINAL: Final = "is_terminal"

STEP_INDEX: Final = "step_index"
"""Number of the step among all steps of the environment; recorded where a scheduler leaves rows out."""
TIME_NS: Final = "time_ns"
"""Nanoseconds since the episode started, of a monotonic clock."""
TRIAL_CLOCK: Final = "trial_clock"
"""Measured times by seat: when an actor was requested to act, and answered, in nanoseconds since the episode began; the
round trip to a person in the studio, and when they saw what."""
INFO: Final = "info"
"""The info dict that a Gymnasium environment returned with the observation."""

TERMINATED: Final = "terminated"
"""A field of episodes with several agents: which of them terminated by the step's action."""
TRUNCATED: Final = "truncated"
"""A field of episodes with several agents: which of them were truncated after the step's action."""
STATE: Final = "state"
"""A field of episodes with several agents: the global state."""
AGENT_SELECTION: Final = "agent_selection"
"""A field of episodes whose agents act in turn: whose turn the step is."""
CUMULATIVE_REWARD: Final = "cumulative_reward"
"""A field of episodes whose agents act in turn: the reward of the step's agent since its previous turn."""

DECLARED_FIELDS: Final = (OBSERVATION, ACTION, REWARD, DISCOUNT)
"""Fields that a spec declares in advance."""
ACTED_FIELDS: Final = (ACTION, REWARD, DISCOUNT)
"""Fields that belong to the action of a step: undefined on the last step and across a gap."""
FLAGS: Final = (IS_FIRST, IS_LAST, IS_TERMINAL)
"""Derived from an episode's start and end, never stored."""
RECORDED: Final = "recorded_"
"""The prefix of a field of foreign data with values that do not follow from the position of the step: of a flag, or of
actions that were not done."""


def is_clock(path: str) -> bool:
    """Whether the values of a leaf are measured times.

    >>> is_clock("time_ns"), is_clock("trial_clock/player/requested_ns"), is_clock("info/time_ns")
    (True, True, False)
    """
    return path == TIME_NS or path.partition("/")[0] == TRIAL_CLOCK


class EpisodeEnd(enum.Enum):
    """The ways in which an episode can end.

    >>> EpisodeEnd.TERMINATED.is_terminal, EpisodeEnd.TRUNCATED.is_terminal
    (True, False)
    """

    TERMINATED = "terminated"
    """The environment reached a terminal state: the value beyond it is zero."""
    TRUNCATED = "truncated"
    """The environment's own limit; the last observation is an ordinary state."""
    INTERRUPTED = "interrupted"
    """The caller reset or closed in the middle."""
    INCOMPLETE = "incomplete"
    """No end was written and the writer no longer runs. Only readers assign this."""

    @property
    def is_terminal(self) -> bool:
        """Whether the last step's `is_terminal` is set."""
        return self is EpisodeEnd.TERMINATED
