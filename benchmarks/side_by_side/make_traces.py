"""Makes the inputs: real Atari frames, a noisy camera, and vectors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from side_by_side.trace import save

GAMES: Final = ("SpaceInvaders", "Breakout", "MsPacman", "Pong")
CAMERA: Final = "camera"
VECTORS: Final = "vectors"

ATARI_ROWS: Final = 6000
CAMERA_ROWS: Final = 3000
VECTOR_ROWS: Final = 20 * 1001
EPISODE_STEPS: Final = 1000

Row = tuple[Any, Any, float, bool, bool, bool, dict[str, Any]]


def make(name: str, folder: Path) -> Path:
    """Makes the trace `name` in `folder`, unless it is there."""
    path = folder / name
    if not path.is_dir():
        if name in GAMES:
            _atari(name, path)
        else:
            save(path, list(_camera() if name == CAMERA else _vectors()), actions=None)
    return path


def _atari(game: str, path: Path) -> None:
    """A random policy in ALE; the last episode is cut where the trace ends."""
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    env = gymnasium.make(f"ALE/{game}-v5")
    env.action_space.seed(0)
    none = env.action_space.dtype.type(0)
    rows: list[Row] = []
    ended = True
    while len(rows) < ATARI_ROWS:
        if ended:
            observation, info = env.reset(seed=0 if not rows else None)
            rows.append((observation, none, 0.0, True, False, False, info))
        action = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        truncated = truncated or (not terminated and len(rows) + 1 >= ATARI_ROWS)
        rows.append((observation, action, reward, False, terminated, truncated, info))
    save(path, rows, actions=int(env.action_space.n))


def _camera() -> Iterator[Row]:
    """96 x 96 x 3 out of a smooth scene over which the camera drifts, with a sensor's noise on every pixel."""
    rng = np.random.default_rng(0)
    coarse = rng.uniform(40, 215, (20, 20, 3))
    scene = np.kron(coarse, np.ones((16, 16, 1)))
    for _ in range(3):
        scene = sum(np.roll(scene, shift, (0, 1)) for shift in ((0, 0), (7, 0), (0, 7), (7, 7))) / 4
    for row in range(CAMERA_ROWS):
        y, x = (int(100 + 90 * turn(row / 120)) for turn in (np.sin, np.cos))
        frame = scene[y : y + 96, x : x + 96] + rng.normal(0, 4, (96, 96, 3))
        action = rng.uniform(-1, 1, 6).astype(np.float32)
        yield _row(row, frame.clip(0, 255).astype(np.uint8), action, float(rng.normal()))


def _vectors() -> Iterator[Row]:
    """17 float32 that move smoothly, as the joints of a simulated robot."""
    rng = np.random.default_rng(1)
    state = np.zeros(17)
    for row in range(VECTOR_ROWS):
        state = 0.98 * state + 0.1 * rng.normal(size=17)
        yield _row(row, state.astype(np.float32), rng.uniform(-1, 1, 6).astype(np.float32), float(rng.normal()))


def _row(row: int, observation: np.ndarray, action: np.ndarray, reward: float) -> Row:
    at = row % (EPISODE_STEPS + 1)
    first = at == 0
    last = at == EPISODE_STEPS or (row == CAMERA_ROWS - 1 and observation.ndim == 3)
    return observation, action * (not first), reward * (not first), first, False, last, {}
