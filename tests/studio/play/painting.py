"""An environment that looks like a photograph, and needs nothing that must be installed."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

ID = "tests.studio.play.painting:rlds_kit_tests/Painting-v0"
SIZE = 128


class Painting(gymnasium.Env[np.ndarray, Any]):
    """Waves that move; people choose the way. It never ends.

    Args:
      render_mode: "rgb_array".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012  Gymnasium's

    def __init__(self, render_mode: str = "rgb_array") -> None:
        self.observation_space = spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        self.action_space: Any = spaces.Discrete(2)
        self.render_mode, self._place = render_mode, 0

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Arrows, as `gymnasium.utils.play` reads them."""
        return {("left",): 0, ("right",): 1}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins somewhere."""
        super().reset(seed=seed, options=options)
        self._place = int(self.np_random.integers(1000))
        return self.render(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Moves."""
        self._place += 3 if action else -3
        return self.render(), 1.0, False, False, {}

    def render(self) -> Any:
        """The picture."""
        along, down = np.meshgrid(np.arange(SIZE) + self._place, np.arange(SIZE))
        waves = np.stack([np.sin(along / 7 + down / 11), np.cos(along / 5), np.sin(along * down / 300)], 2)
        return (127 + 120 * waves).astype(np.uint8)


# Gymnasium imports this module where an id begins with its name.
gymnasium.register("rlds_kit_tests/Painting-v0", "tests.studio.play.painting:Painting")
