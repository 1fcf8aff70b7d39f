"""Environments that crash, hang, show text, or need nothing that must be installed."""

import os
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Corridor(gymnasium.Env[np.ndarray, Any]):
    """Left and right; a picture of 12 x 16; the end is three steps to the right.

    Args:
      trouble: what happens at step 2: "crash", "hang", "exit", "kill", or "" for nothing.
      render_mode: "rgb_array" or "ansi".
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 20}  # noqa: RUF012  Gymnasium's

    def __init__(self, trouble: str = "", render_mode: str = "rgb_array") -> None:
        self.observation_space = spaces.Box(-10, 10, (1,), np.int64)
        self.action_space: Any = spaces.Discrete(2)
        self.render_mode, self._trouble, self._place, self._step = render_mode, trouble, 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins in the middle, as the options say."""
        super().reset(seed=seed)
        self._place, self._step = int((options or {}).get("place", 0)), 0
        return self._observation(), {"luck": int(self.np_random.integers(100))}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One step, or trouble."""
        self._step += 1
        if self._step == 2:
            self._get_into_trouble()
        self._place += 1 if action else -1
        is_over = abs(self._place) >= 3
        return self._observation(), float(self._place), is_over, False, {"luck": int(self.np_random.integers(100))}

    def _get_into_trouble(self) -> None:
        match self._trouble:
            case "crash":
                raise RuntimeError("the corridor fell in")
            case "hang":
                time.sleep(60)
            case "exit":
                os._exit(3)

    def _observation(self) -> np.ndarray:
        return np.array([self._place], np.int64)

    def render(self) -> Any:
        """A picture or a text."""
        if self.render_mode == "ansi":
            return "".join("@" if place == self._place else "." for place in range(-3, 4))
        picture = np.zeros((12, 16, 3), np.uint8)
        picture[:, 8 + 2 * min(max(self._place, -4), 3)] = 255
        return picture


# Gymnasium imports this module where an id begins with its name.
gymnasium.register("rlds_kit_tests/Corridor-v0", "tests.studio.odd_environments:Corridor")
