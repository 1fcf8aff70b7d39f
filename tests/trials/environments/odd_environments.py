"""Environments that crash, hang, show text, or need nothing that must be installed."""

import os
import resource
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Corridor(gymnasium.Env[np.ndarray, Any]):
    """Left and right; a picture of 12 x 16; the end is three steps to the right.

    Args:
      trouble: what happens at step 2: "crash", "hang", "exit", "full" (disk), or "" for nothing.
      render_mode: "rgb_array" or "ansi".
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 20}  # noqa: RUF012  Gymnasium's

    def __init__(self, trouble: str = "", render_mode: str = "rgb_array") -> None:
        self.observation_space = spaces.Box(-10, 10, (1,), np.int64)
        self.action_space: Any = spaces.Discrete(2)
        self.render_mode, self._trouble, self._place, self._step = render_mode, trouble, 0, 0

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Arrows, as `gymnasium.utils.play` reads them; nothing pressed is a step to the left."""
        return {("left",): 0, ("right",): 1}

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
            case "full":
                resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def _observation(self) -> np.ndarray:
        return np.array([self._place], np.int64)

    def render(self) -> Any:
        """A picture or a text."""
        if self.render_mode == "ansi":
            return "".join("@" if place == self._place else "." for place in range(-3, 4))
        picture = np.zeros((12, 16, 3), np.uint8)
        picture[:, 8 + 2 * min(max(self._place, -4), 3)] = 255
        return picture


class Noise(gymnasium.Env[np.ndarray, Any]):
    """Pictures that cannot be compressed: a disk is soon full of them."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012  Gymnasium's

    def __init__(self, render_mode: str = "rgb_array") -> None:
        self.observation_space = spaces.Box(0, 255, (256, 256, 3), np.uint8)
        self.action_space: Any = spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins anywhere."""
        super().reset(seed=seed)
        return self._picture(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Another picture."""
        return self._picture(), 0.0, False, False, {}

    def _picture(self) -> np.ndarray:
        return self.np_random.integers(0, 256, (256, 256, 3), np.uint8)

    def render(self) -> np.ndarray:
        """Nothing to look at."""
        return np.zeros((16, 16, 3), np.uint8)


class Arm(gymnasium.Env[np.ndarray, Any]):
    """Six numbers that move it, and it says where they were."""

    metadata = {"render_modes": ["ansi"], "render_fps": 20}  # noqa: RUF012  Gymnasium's

    def __init__(self, render_mode: str = "ansi") -> None:
        self.observation_space = self.action_space = spaces.Box(-1, 1, (6,), np.float64)
        self.render_mode, self._place = render_mode, np.zeros(6)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins in the middle."""
        super().reset(seed=seed)
        self._place = np.zeros(6)
        return self._place.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Goes where it is told."""
        self._place = np.array(action)
        return self._place.copy(), 0.0, False, False, {}

    def render(self) -> str:
        """The numbers."""
        return " ".join(f"{number:+.2f}" for number in self._place)


class Eyes(Corridor):
    """A corridor that is also seen by two eyes; each image has one grey value, which says eye and place."""

    def __init__(self, render_mode: str = "rgb_array") -> None:
        super().__init__(render_mode=render_mode)
        image = spaces.Box(0, 255, (24, 32, 3), np.uint8)
        self.observation_space: Any = spaces.Dict(
            {"place": spaces.Box(-10, 10, (1,), np.int64), "eyes": spaces.Dict({"left": image, "right": image})}
        )

    def _observation(self) -> Any:
        eyes = {"left": 100, "right": 200}
        seen = {eye: np.full((24, 32, 3), value + self._place, np.uint8) for eye, value in eyes.items()}
        return {"place": super()._observation(), "eyes": seen}


# Gymnasium imports this module where an id begins with its name.
gymnasium.register("rlds_kit_tests/Corridor-v0", "tests.trials.environments.odd_environments:Corridor")
gymnasium.register("rlds_kit_tests/Noise-v0", "tests.trials.environments.odd_environments:Noise")
gymnasium.register("rlds_kit_tests/Arm-v0", "tests.trials.environments.odd_environments:Arm")
gymnasium.register("rlds_kit_tests/Eyes-v0", "tests.trials.environments.odd_environments:Eyes")
