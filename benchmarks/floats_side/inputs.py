"""Columns of numbers as users record them, as an archive of NumPy; runs where Gymnasium and MuJoCo are installed."""

import sys
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

EPISODE: Final = 1_000
"""Steps of an episode, and rows of a block: light rows are cut into blocks no earlier."""
EPISODES: Final = 16
STEPS: Final = EPISODE * EPISODES
FREQUENCY: Final = 50
"""Steps of a robot in a second."""


def make() -> dict[str, np.ndarray]:
    """All columns by name, `[STEPS, ...]`."""
    rng = np.random.default_rng(0)
    cheetah = _played("HalfCheetah-v5", smooth=True)
    return {
        "HalfCheetah observations": cheetah["observation"],
        "HalfCheetah observations as float32": cheetah["observation"].astype(np.float32),
        "HalfCheetah rewards": cheetah["reward"],
        "HalfCheetah actions": cheetah["action"],
        "Pendulum observations": _played("Pendulum-v1", smooth=True)["observation"],
        "CartPole observations": _played("CartPole-v1", smooth=False)["observation"],
        **_robot(rng),
        "random walk, as in write_arrays": _walk(rng, 17, 0.02).astype(np.float32),
        **{f"decimals, {digits} digits": rng.normal(0, 3, STEPS).round(digits) for digits in (1, 2, 3)},
        "decimals, 2 digits, float32": rng.normal(0, 3, STEPS).round(2).astype(np.float32),
        **_times(rng),
        "rewards, 97 % zero": rng.choice([0, 1, 5], STEPS, p=[0.97, 0.02, 0.01]).astype(np.float64),
        "rewards, 97 % zero, float32": rng.choice([0, 1, 5], STEPS, p=[0.97, 0.02, 0.01]).astype(np.float32),
        "noise, normal": rng.normal(size=(STEPS, 6)),
        "noise, uniform, float32": rng.uniform(-1, 1, (STEPS, 6)).astype(np.float32),
        "float32 in float64": _walk(rng, 6, 0.02).astype(np.float32).astype(np.float64),
        "whole numbers in float32": np.cumsum(rng.integers(-1, 2, (STEPS, 8)), axis=0).astype(np.float32),
        "actions of 18, int64": rng.integers(0, 18, STEPS),
    }


def _played(name: str, *, smooth: bool) -> dict[str, np.ndarray]:
    """Steps of an environment: smooth actions are those of a gait, with a little noise, others are drawn."""
    env = gymnasium.make(name)
    env.action_space.seed(0)
    rng, columns = np.random.default_rng(0), _Columns()
    while len(columns.reward) < STEPS:
        observation, _ = env.reset(seed=len(columns.reward))
        phases, done, at = rng.uniform(0, 2 * np.pi, env.action_space.shape), False, 0
        while not done and len(columns.reward) < STEPS:
            swing = 0.7 * np.sin(at / 4 + phases) + rng.normal(0, 0.1, phases.shape)
            action = swing.astype(np.float32) if smooth else env.action_space.sample()
            columns.observation.append(observation)
            observation, reward, terminated, truncated, _ = env.step(action)
            columns.action.append(action)
            columns.reward.append(reward)
            done, at = terminated or truncated, at + 1
    env.close()
    return {name: np.array(values) for name, values in vars(columns).items()}


class _Columns:
    def __init__(self) -> None:
        self.observation: list[Any] = []
        self.action: list[Any] = []
        self.reward: list[Any] = []


def _robot(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Joints of an arm that move smoothly; the same as an encoder of 16 bits gives them, and with noise of a sensor."""
    seconds = np.arange(STEPS)[:, None] / FREQUENCY
    waves = [rng.uniform(0.2, 1, 7) * np.sin(seconds * rng.uniform(0.2, 2, 7) + rng.uniform(0, 6, 7)) for _ in range(3)]
    angles = np.sum(waves, axis=0)
    tick = 2 * np.pi / (1 << 16)
    return {
        "robot, smooth angles": angles,
        "robot, smooth angles, float32": angles.astype(np.float32),
        "robot, angles of an encoder, float32": (np.round(angles / tick) * tick).astype(np.float32),
        "robot, noisy angles, float32": (angles + rng.normal(0, 1e-3, angles.shape)).astype(np.float32),
    }


def _walk(rng: np.random.Generator, size: int, pull: float) -> np.ndarray:
    state, rows = rng.normal(size=size), np.empty((STEPS, size))
    for step in range(STEPS):
        rows[step] = state
        state = (1 - pull) * state + 0.1 * rng.normal(size=size)
    return rows


def _times(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Seconds of a clock and of a simulation, and since 1970."""
    since = np.arange(STEPS) / FREQUENCY + rng.normal(0, 2e-4, STEPS)
    return {
        "seconds since the start, 6 digits": since.round(6),
        "seconds of a simulation": np.cumsum(np.full(STEPS, 1 / FREQUENCY)),
        "seconds since 1970": 1.7e9 + since,
    }


if __name__ == "__main__":
    np.savez(Path(sys.argv[1]), **make())
