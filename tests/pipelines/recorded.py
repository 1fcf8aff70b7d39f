"""Datasets recorded from simulators, and what happened in them, as the simulators returned it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter, GymnasiumLogger

Array: TypeAlias = np.ndarray[Any, Any]
Agent: TypeAlias = Callable[[Any], Any]
"""From an observation to an action."""

ARM_STEPS = 40
"""The fixed length of an episode of the arm, as 400 is that of the dataset in the RLDS paper."""
PROPRIOCEPTION, OBJECT, CAMERA = "robot0_proprio-state", "object-state", "agentview_image"


@dataclass(frozen=True)
class Played:
    """One episode of n actions, written down while it was played.

    Attributes:
      observations: n + 1 of them, stacked; of a nest each part is.
      actions: `[n, ...]`.
      rewards: `[n]`.
      terminated: whether the last observation is of a terminal state.
      placed: `[n + 1]` bool, the tag of each step of the arm.
    """

    observations: Any
    actions: Array
    rewards: Array
    terminated: bool
    placed: Array

    def __len__(self) -> int:
        """Steps, one more than actions."""
        return len(self.actions) + 1


@dataclass(frozen=True)
class Recorded:
    """A dataset and its expected content.

    Attributes:
      path: of its directory.
      played: its episodes.
    """

    path: Path
    played: list[Played]


def play_arm(directory: Path, placed_at: Iterable[int | None], seed: int = 0) -> list[Played]:
    """Records an arm that carries a can to a bin; after that every episode continues to its full length.

    Args:
      directory: of the dataset.
      placed_at: for each episode the step at which the can is in the bin; None: it never is.
      seed: of everything random.
    """
    rng = np.random.default_rng(seed)
    with EpisodeWriter(directory, _spec_of_arm(), record_time=False) as writer:
        return [_play_arm_once(writer, rng, number, at) for number, at in enumerate(placed_at)]


def _spec_of_arm() -> specs.Dict:
    parts = {PROPRIOCEPTION: specs.Array((32,), "float32"), OBJECT: specs.Array((14,), "float32")}
    return specs.Dict(
        {
            "observation": specs.Dict({**parts, CAMERA: specs.Array((64, 64, 3), "uint8")}),
            "action": specs.Array((7,), "float32", minimum=-1.0, maximum=1.0),
            "reward": specs.Array((), "float32"),
            "tag:placed": specs.Array((), "bool"),
        }
    )


def _play_arm_once(writer: EpisodeWriter, rng: np.random.Generator, number: int, placed_at: int | None) -> Played:
    placed = np.arange(ARM_STEPS) == (-1 if placed_at is None else placed_at)
    joints, can = rng.normal(size=32).astype(np.float32), rng.normal(size=14).astype(np.float32)
    observations, actions, rewards = [_seen(joints, can)], [], []
    with writer.episode(metadata={"agent_id": f"person-{number % 2}"}) as episode:
        episode.start(observations[0], **{"tag:placed": placed[0]})
        for step in range(1, ARM_STEPS):
            action = rng.uniform(-1, 1, 7).astype(np.float32)
            joints = joints + np.pad(action, (0, 25)) * np.float32(0.1)
            can = can * np.float32(0.9) + joints[:14] * np.float32(0.1)
            reward = np.float32(-np.abs(can).mean() + 5 * placed[step])
            observations.append(_seen(joints, can))
            actions.append(action)
            rewards.append(reward)
            is_last = step == ARM_STEPS - 1
            episode.step(action, reward, observations[-1], truncated=is_last, **{"tag:placed": placed[step]})
    stacked = {part: np.stack([each[part] for each in observations]) for part in observations[0]}
    return Played(stacked, np.stack(actions), np.stack(rewards), terminated=False, placed=placed)


def _seen(joints: Array, can: Array) -> dict[str, Array]:
    """Both states, and a picture with a bright line for each joint."""
    image = np.zeros((64, 64, 3), np.uint8)
    image[np.arange(32), (np.clip(joints, -3, 3) * 10 + 31).astype(int)] = 255
    return {PROPRIOCEPTION: joints, OBJECT: can, CAMERA: image}


def play(
    directory: Path,
    env: gymnasium.Env[Any, Any],
    agents: Iterable[Agent | None],
    metadata: dict[str, Any] | None = None,
    seed: int = 0,
) -> list[Played]:
    """Records one episode for each agent; None acts at random.

    Args:
      directory: of the dataset, to which is added.
      env: to play; it is closed.
      agents: that act in the first episode, in the second, ...
      metadata: of each episode, to which `agent_id` is added.
      seed: of the random actions, and of the episodes.
    """
    notes: dict[str, Any] = {}
    played = []
    with GymnasiumLogger(env, directory, episode_fn=lambda *_: dict(notes)) as recorded:
        recorded.action_space.seed(seed)
        for number, agent in enumerate(agents):
            notes = {"agent_id": "random" if agent is None else agent.__name__, **(metadata or {})}
            played.append(_play_once(recorded, agent, 100 * seed + number))
    return played


def _play_once(env: gymnasium.Env[Any, Any], agent: Agent | None, seed: int) -> Played:
    observation, _ = env.reset(seed=seed)
    observations, actions, rewards = [observation], [], []
    is_over = terminated = False
    while not is_over:
        actions.append(env.action_space.sample() if agent is None else agent(observation))
        observation, reward, terminated, truncated, _ = env.step(actions[-1])
        observations.append(observation)
        rewards.append(float(reward))
        is_over = terminated or truncated
    return Played(
        np.stack(observations), np.stack(actions), np.array(rewards), terminated, np.zeros(len(observations), bool)
    )


def play_breakout(directory: Path, checkpoint: int) -> list[Played]:
    """Records two episodes of one life, or of 30 steps, as agents on Atari games see them."""
    env = gymnasium.make("ALE/Breakout-v5", frameskip=1, repeat_action_probability=0.0)
    env = gymnasium.wrappers.AtariPreprocessing(env, terminal_on_life_loss=True, grayscale_newaxis=True, noop_max=0)
    env = gymnasium.wrappers.TimeLimit(env, 30)
    return play(directory, env, [None] * 2, {"checkpoint_id": checkpoint}, seed=checkpoint)


def balance(observation: Array) -> int:
    """An agent for CartPole: pushes to where the pole falls, and a little to where the cart should go."""
    position, velocity, angle, turning = observation
    return int(0.05 * position + 0.1 * velocity + angle + 0.5 * turning > 0)


def swing(observation: Array) -> Array:
    """An agent for the pendulum: adds energy until it is upright, then balances it."""
    cosine, sine, speed = observation
    push = -8 * np.arctan2(sine, cosine) - 2 * speed if cosine > 0.9 else 2 * np.sign(speed)
    return np.array([np.clip(push, -2, 2)], np.float32)


def pump(observation: Array) -> Array:
    """An agent for the mountain car: pushes in the direction it moves."""
    return np.array([np.sign(observation[1])], np.float32)
