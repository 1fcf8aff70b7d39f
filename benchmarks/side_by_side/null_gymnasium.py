"""A Gymnasium environment that plays a trace."""

from typing import Any

import gymnasium
import numpy as np

from side_by_side.trace import Trace


class NullGymnasium(gymnasium.Env):
    """Returns the next row of a trace, whatever the action; observations are new arrays, as ALE's are."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._next = trace, 0
        row = trace.observation[0]
        low, high = (0, 255) if row.dtype == np.uint8 else (-np.inf, np.inf)
        self.observation_space = gymnasium.spaces.Box(low, high, row.shape, row.dtype.type)
        if trace.actions is not None:
            self.action_space: gymnasium.Space = gymnasium.spaces.Discrete(trace.actions)
        else:
            self.action_space = gymnasium.spaces.Box(-1, 1, trace.action[0].shape, np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict[str, Any]]:  # noqa: ARG002
        """The first row of an episode."""
        observation, _, info = self._look()
        return observation, info

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        """Another row."""
        observation, at, info = self._look()
        trace = self._trace
        return observation, float(trace.reward[at]), bool(trace.terminated[at]), bool(trace.truncated[at]), info

    def _look(self) -> tuple[np.ndarray, int, dict[str, Any]]:
        at = self._next % len(self._trace)
        self._next += 1
        return self._trace.observation[at].copy(), at, dict(self._trace.infos[at])
