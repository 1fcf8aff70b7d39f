"""A dm_env environment that plays a trace."""

import dm_env
import numpy as np
from dm_env import specs

from side_by_side.trace import Trace


class NullDmEnv(dm_env.Environment):
    """Returns the next row of a trace, whatever the action; observations are new arrays, as ALE's are.

    Attributes:
      info: of the last row.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace, self._next = trace, 0
        self.info: dict = {}

    def reset(self) -> dm_env.TimeStep:
        """The first row of an episode."""
        return dm_env.restart(self._look()[0])

    def step(self, action: object) -> dm_env.TimeStep:  # noqa: ARG002  a trace goes on as it went
        """Another row."""
        observation, at = self._look()
        reward = float(self._trace.reward[at])
        if self._trace.terminated[at]:
            return dm_env.termination(reward, observation)
        if self._trace.truncated[at]:
            return dm_env.truncation(reward, observation)
        return dm_env.transition(reward, observation)

    def observation_spec(self) -> specs.Array:
        """Of the trace's observations."""
        row = self._trace.observation[0]
        return specs.Array(row.shape, row.dtype, "observation")

    def action_spec(self) -> specs.Array:
        """Of the trace's actions."""
        if self._trace.actions is not None:
            return specs.DiscreteArray(self._trace.actions, np.int64, "action")
        return specs.BoundedArray(self._trace.action[0].shape, np.float32, -1, 1, "action")

    def _look(self) -> tuple[np.ndarray, int]:
        at = self._next % len(self._trace)
        self._next += 1
        self.info = dict(self._trace.infos[at])
        return self._trace.observation[at].copy(), at
