"""The time step that callbacks and schedulers get from Gymnasium environments."""

from collections.abc import Mapping
from typing import Any

import dm_env


class GymnasiumTimeStep(dm_env.TimeStep):
    """A `dm_env.TimeStep` with Gymnasium's additional data, so that a callback works with every logger.

    Unpacks to step_type, reward, discount and observation as every time step does.

    Attributes:
      info: from the environment.
      terminated: Gymnasium's flag; False on the first step.
      truncated: likewise.
      env_index: of the sub-environment of a vector environment; 0 if there is only one.

    >>> first = GymnasiumTimeStep.restart([0.0], {"lives": 3})
    >>> first.first(), first.reward, first.info
    (True, None, {'lives': 3})
    """

    info: Mapping[str, Any]
    terminated: bool
    truncated: bool
    env_index: int

    @classmethod
    def restart(cls, observation: object, info: Mapping[str, Any], env_index: int = 0) -> "GymnasiumTimeStep":
        """The first step of an episode."""
        step = cls(dm_env.StepType.FIRST, None, None, observation)
        step.info, step.terminated, step.truncated, step.env_index = info, False, False, env_index
        return step

    @classmethod
    def transition(
        cls, observation: object, reward: object, flags: tuple[bool, bool], info: Mapping[str, Any], env_index: int = 0
    ) -> "GymnasiumTimeStep":
        """A later step; it is the last one if one of `flags`, terminated and truncated, is set."""
        terminated, truncated = flags
        kind = dm_env.StepType.LAST if terminated or truncated else dm_env.StepType.MID
        step = cls(kind, reward, 0.0 if terminated else 1.0, observation)
        step.info, step.terminated, step.truncated, step.env_index = info, terminated, truncated, env_index
        return step
