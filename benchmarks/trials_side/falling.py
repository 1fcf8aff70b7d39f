"""An environment that costs next to nothing, and falls down if it is to."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Falling(gymnasium.Env[np.ndarray, int]):
    """Four numbers and two actions.

    Args:
      falls: at this step it raises an error; 0: it never does.
    """

    def __init__(self, falls: int = 0) -> None:
        self.observation_space = spaces.Box(-1, 1, (4,), np.float32)
        self.action_space: Any = spaces.Discrete(2)
        self._falls, self._step = falls, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:  # noqa: ARG002  the interface's
        """Begins."""
        super().reset(seed=seed)
        self._step = 0
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ARG002  the interface's
        """One step, or the error."""
        self._step += 1
        if self._step == self._falls:
            raise RuntimeError("it fell")
        return np.full(4, self._step % 7 / 7, np.float32), 1.0, False, False, {}


gymnasium.register("rlds_kit_benchmarks/Falling-v0", "trials_side.falling:Falling")
