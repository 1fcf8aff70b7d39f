"""Memory of Atari games that are played at random: the same in every run."""

import gymnasium
import numpy as np
from numpy.typing import NDArray


def played(game: str, frames: int, seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Frames of random play with frameskip 4, one for each emulated frame.

    Returns:
      `[frames, 128]` memory, and `[frames]` whether an episode begins there.
    """
    gymnasium.register_envs(__import__("ale_py"))
    env = gymnasium.make(f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0, obs_type="ram")
    rng = np.random.default_rng(seed)
    rams, first = np.zeros((frames, 128), np.uint8), np.zeros(frames, np.bool_)
    is_over = True
    for frame in range(frames):
        if is_over:
            ram, _ = env.reset(seed=seed + frame)
            first[frame], is_over = True, False
        else:
            if frame % 4 == 0 or first[frame - 1]:
                action = rng.integers(env.action_space.n)  # type: ignore[attr-defined]
            ram, _, terminated, truncated, _ = env.step(action)
            is_over = terminated or truncated
        rams[frame] = ram
    env.close()
    return rams, first
