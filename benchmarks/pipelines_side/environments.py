"""What is recorded: Atari games, a noisy camera, and vectors."""

from typing import Any, Final

import gymnasium
import numpy as np

GAMES: Final = ("SpaceInvaders", "Breakout", "MsPacman", "Pong")
CAMERA_STEPS: Final = 200
VECTOR_STEPS: Final = 1000

_SIZE: Final = 128


def ale(game: str) -> gymnasium.Env[Any, Any]:
    """210 x 160 x 3, as the emulator draws them, one step in four frames. All 18 actions."""
    import ale_py

    gymnasium.register_envs(ale_py)
    return gymnasium.make(f"ALE/{game}-v5", full_action_space=True)


def atari(game: str) -> gymnasium.Env[Any, Any]:
    """84 x 84 gray, one step in four frames. All 18 actions, so that all games fit into one dataset."""
    import ale_py
    from gymnasium.wrappers import AtariPreprocessing

    gymnasium.register_envs(ale_py)
    return AtariPreprocessing(gymnasium.make(f"ALE/{game}-v5", frameskip=1, full_action_space=True))


class _Env(gymnasium.Env[np.ndarray, np.ndarray]):
    action_space = gymnasium.spaces.Box(-1, 1, (6,), np.float32)

    def _reward(self) -> float:
        """A number that float32 can hold: TFDS keeps no other, whatever dtype its feature says."""
        return float(np.float32(self.np_random.normal()))


class Camera(_Env):
    """128 x 128 x 3 out of a smooth scene over which the camera drifts, with a sensor's noise on every pixel."""

    observation_space = gymnasium.spaces.Box(0, 255, (_SIZE, _SIZE, 3), np.uint8)

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        scene = np.kron(rng.uniform(40, 215, (20, 20, 3)), np.ones((16, 16, 1)))
        for _ in range(3):
            scene = np.mean([np.roll(scene, shift, (0, 1)) for shift in ((0, 0), (7, 0), (0, 7), (7, 7))], axis=0)
        self._scene = scene.astype(np.float32)
        self._at = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Somewhere in the scene."""
        super().reset(seed=seed, options=options)
        self._at, self._turn = 0, float(self.np_random.uniform(0, 2 * np.pi))
        return self._frame(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        """A little further; an episode ends after so many steps."""
        self._at += 1
        return self._frame(), self._reward(), False, self._at == CAMERA_STEPS, {}

    def _frame(self) -> np.ndarray:
        y, x = (int(95 + 90 * wave(self._turn + self._at / 120)) for wave in (np.sin, np.cos))
        noise = self.np_random.standard_normal((_SIZE, _SIZE, 3), np.float32)
        return (self._scene[y : y + _SIZE, x : x + _SIZE] + 4 * noise).clip(0, 255).astype(np.uint8)


class Vectors(_Env):
    """17 float32 that move smoothly, as the joints of a simulated robot."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (17,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """At rest, almost."""
        super().reset(seed=seed, options=options)
        self._at, self._state = 0, self.np_random.normal(size=17)
        return self._state.astype(np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        """A random walk that is pulled back; an episode ends after so many steps."""
        self._at += 1
        self._state = 0.98 * self._state + 0.1 * self.np_random.normal(size=17)
        return self._state.astype(np.float32), self._reward(), False, self._at == VECTOR_STEPS, {}
