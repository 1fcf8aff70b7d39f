"""Robosuite's task "Lift" as an environment of Gymnasium: the code that a person writes to use an arm in the studio."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

CAMERA = "agentview"


class Lift(gymnasium.Env[dict[str, np.ndarray], np.ndarray]):
    """An arm of seven numbers: six move the hand, the last one the gripper.

    Args:
      size: of the camera's picture.
      render_mode: "rgb_array".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012  Gymnasium's

    def __init__(self, size: int = 128, render_mode: str = "rgb_array") -> None:
        import robosuite

        self._env = robosuite.make(
            "Lift",
            robots="Panda",
            has_renderer=False,
            camera_names=CAMERA,
            camera_heights=size,
            camera_widths=size,
            control_freq=20,
        )
        low, high = self._env.action_spec
        self.render_mode = render_mode
        self.action_space = spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.observation_space: Any = spaces.Dict(
            {
                "hand": spaces.Box(-np.inf, np.inf, (3,), np.float64),
                "picture": spaces.Box(0, 255, (size, size, 3), np.uint8),
            }
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Puts the cube at a new place."""
        super().reset(seed=seed)
        return self._seen(self._env.reset()), {}

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Moves the arm for a twentieth of a second."""
        observed, reward, is_over, _ = self._env.step(action)
        return self._seen(observed), float(reward), False, bool(is_over), {}

    def _seen(self, observed: Any) -> dict[str, np.ndarray]:
        self._picture = observed[f"{CAMERA}_image"][::-1].copy()
        return {"hand": observed["robot0_eef_pos"].copy(), "picture": self._picture}

    def render(self) -> np.ndarray:
        """The picture of the camera."""
        return self._picture


gymnasium.register("rlds_kit_tests/Lift-v0", "tests.studio.robosuite_lift:Lift")
