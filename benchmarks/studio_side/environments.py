"""Environments that cost next to nothing: they give back frames that were made before, as new arrays like ALE does."""

import functools
from typing import Any, Final

import ale_py
import gymnasium
import numpy as np
from gymnasium import spaces

FRAMES: Final = 120
SMALL: Final = "studio_side.environments:rlds_kit_benchmarks/Small-v0"
LARGE: Final = "studio_side.environments:rlds_kit_benchmarks/Large-v0"


class Replayed(gymnasium.Env[np.ndarray, int]):
    """Plays frames in a circle; a step is worth 1 if the action is another one than before.

    Args:
      kind: "atari", 210 x 160 of Space Invaders; or "camera", 640 x 640 of a view that drifts, with a sensor's noise.
      render_mode: "rgb_array".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012  Gymnasium's

    def __init__(self, kind: str, render_mode: str = "rgb_array") -> None:
        self._frames = frames(kind)
        self.observation_space = spaces.Box(0, 255, self._frames.shape[1:], np.uint8)
        self.action_space: Any = spaces.Discrete(3)
        self.render_mode, self._step, self._action = render_mode, 0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins with the first frame."""
        super().reset(seed=seed, options=options)
        self._step, self._action = 0, 0
        return self._frames[0].copy(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The next frame."""
        self._step += 1
        reward, self._action = float(action != self._action), action
        return self._frames[self._step % FRAMES].copy(), reward, False, False, {}

    def render(self) -> Any:
        """The frame, as another array."""
        return self._frames[self._step % FRAMES].copy()


@functools.cache
def frames(kind: str) -> np.ndarray:
    """`[FRAMES, height, width, 3]` uint8."""
    return _atari() if kind == "atari" else _camera()


def _atari() -> np.ndarray:
    gymnasium.register_envs(ale_py)
    env = gymnasium.make("ALE/SpaceInvaders-v5")
    env.action_space.seed(1)
    env.reset(seed=1)
    made = np.stack([env.step(env.action_space.sample())[0] for _ in range(FRAMES)])
    env.close()
    return made


def _camera(size: int = 640) -> np.ndarray:
    rng = np.random.default_rng(1)
    along, down = np.meshgrid(np.arange(size, dtype=np.float32), np.arange(size, dtype=np.float32))
    made = np.empty((FRAMES, size, size, 3), np.uint8)
    for number in range(FRAMES):
        for channel, (wide, high) in enumerate(((90, 140), (60, 200), (170, 75))):
            view = np.sin((along + 2 * number) / wide) + np.cos((down + number) / high)
            made[number, :, :, channel] = 127 + 55 * view
    made += rng.integers(0, 6, made.shape, np.uint8)
    return made


gymnasium.register("rlds_kit_benchmarks/Small-v0", f"{__name__}:Replayed", kwargs={"kind": "atari"})
gymnasium.register("rlds_kit_benchmarks/Large-v0", f"{__name__}:Replayed", kwargs={"kind": "camera"})
