"""Gymnasium wrappers for rewards from manuals: memory of every frame, the reward itself, mixed and delayed rewards."""

from collections.abc import Mapping
from typing import Any, Final, SupportsFloat, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlds_kit.shaping.manuals.contact_rewards import ContactRewards

RAM_FRAMES: Final = "ram_frames"
"""Field of infos: `[n, 128]` uint8, the memory after each emulated frame that led to the observation."""
MANUAL_REWARD: Final = "manual_reward"
"""Field of infos: float32, the reward by the manual for the action before."""
MANUAL_CONFIDENCE: Final = "manual_confidence"
"""Field of infos: 0 or 1."""
Observation = TypeVar("Observation")
Action = TypeVar("Action")
Stepped = tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]


class EveryFrame(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """Repeats each action for some emulated frames, and adds the memory after each of them to infos as `ram_frames`.

    The game behaves as with `frameskip` of the environment: rewards are summed, and an episode may end at any of the
    frames.

    Args:
      env: an Atari environment that was made with `frameskip=1`.
      frames: for each action.

    Raises:
      ValueError: it is no Atari environment, or skips frames itself.

    >>> env = gymnasium.make("ALE/Breakout-v5", frameskip=1)  # doctest: +SKIP
    >>> env = EveryFrame(env, frames=4)  # doctest: +SKIP
    """

    def __init__(self, env: gymnasium.Env[Observation, Action], frames: int = 4) -> None:
        super().__init__(env)
        inner: Any = env.unwrapped
        if not hasattr(inner, "ale"):
            raise ValueError(f"expected an Atari environment, which has memory, got {inner}")
        skipped = getattr(inner, "_frameskip", None)
        if skipped != 1:
            raise ValueError(
                f"expected an environment made with frameskip=1, got {skipped}: EveryFrame repeats actions"
            )
        if frames < 1:
            raise ValueError(f"expected at least 1 frame for each action, got {frames}")
        self._frames, self._inner = frames, inner

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Resets; the memory of the first observation is one frame."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, RAM_FRAMES: self._ram()[None]}

    def step(self, action: Action) -> Stepped[Observation]:
        """Acts for some frames, or until the episode ends."""
        rams, total = [], 0.0
        for _ in range(self._frames):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            rams.append(self._ram())
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, {**info, RAM_FRAMES: np.stack(rams)}

    def _ram(self) -> NDArray[np.uint8]:
        ram: NDArray[np.uint8] = self._inner.ale.getRAM()
        return np.array(ram)


class ManualReward(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """Adds the reward of the manual to infos as `manual_reward`. The environment's reward is not changed.

    Args:
      env: with `EveryFrame` inside.
      rewards: of the game.
    """

    def __init__(self, env: gymnasium.Env[Observation, Action], rewards: ContactRewards) -> None:
        super().__init__(env)
        self._rewards = rewards

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Resets; the reward is 0, because there was no action yet.

        Raises:
          ValueError: infos have no `ram_frames`.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        if RAM_FRAMES not in info:
            raise ValueError(
                f"expected {RAM_FRAMES!r} in infos, got {sorted(info)}: wrap the environment in EveryFrame"
            )
        self._rewards.reset(info[RAM_FRAMES][-1])
        return observation, {**info, MANUAL_REWARD: np.float32(0), MANUAL_CONFIDENCE: 1.0}

    def step(self, action: Action) -> Stepped[Observation]:
        """Acts, and rewards contacts."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        found = self._rewards.step(info[RAM_FRAMES])
        info = {**info, MANUAL_REWARD: found.value, MANUAL_CONFIDENCE: found.confidence}
        return observation, reward, terminated, truncated, info


class MixedReward(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """Returns as reward a clipped, weighted sum of the environment's reward and of fields of infos.

    Use it outside of the logger, so that the recorded reward is that of the environment.

    Args:
      env: with `ManualReward` inside.
      weights: by field; "reward" is the environment's.
      clip: the smallest and the largest sum; None: not clipped.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, Action],
        weights: Mapping[str, float],
        clip: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(env)
        self._weights, self._clip = dict(weights), clip

    def step(self, action: Action) -> Stepped[Observation]:
        """Acts, and mixes rewards."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        sources = {**info, "reward": float(reward)}
        mixed = sum(weight * float(sources[name]) for name, weight in self._weights.items())
        if self._clip is not None:
            mixed = min(max(mixed, self._clip[0]), self._clip[1])
        return observation, mixed, terminated, truncated, info


class DelayedReward(gymnasium.Wrapper[Observation, Action, Observation, Action]):
    """Delays all rewards of an episode to its last action, whether it is terminated or truncated (section 4.2)."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Resets."""
        self._sum = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Action) -> Stepped[Observation]:
        """Acts; the reward is 0 until the episode ends."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._sum += float(reward)
        return observation, self._sum if terminated or truncated else 0.0, terminated, truncated, info


def delayed(rewards: NDArray[Any]) -> NDArray[np.float64]:
    """The same for recorded rewards.

    Args:
      rewards: `[n]`, of the n actions of an episode.

    Returns:
      `[n]` float64: 0, and for the last action their sum, added in order.

    >>> delayed(np.array([1.0, 0.0, 2.0]))
    array([0., 0., 3.])
    """
    paid = np.zeros(len(rewards))
    total = 0.0
    for reward in rewards:
        total += float(reward)
    if len(paid):
        paid[-1] = total
    return paid
