"""Descriptions of trainings: an environment, a protocol, and an agent."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.shaping.environments.pictures import mountain_car_picture, tetris_picture
from rlds_kit.shaping.environments.placement_tetris import PlacementTetris
from rlds_kit.shaping.learners.general import general_tamer
from rlds_kit.shaping.learners.presets import mountain_car_tamer, tetris_tamer
from rlds_kit.shaping.learners.tamer import Tamer
from rlds_kit.shaping.trainings.protocol import FREE, MOUNTAIN_CAR, TETRIS, Protocol

CAR_STEPS: Final = 1000
"""Maximum steps of a game of Mountain Car."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The description of a training.

    Attributes:
      name: in links and of the directory: letters, digits, "_", "-" and ".".
      title: for people.
      protocol: the course of the training.
      environment: makes the environment.
      learner: makes an untrained agent for an environment.
      draw: draws a step, from the environment before the step, its observation, and the action, which is None when the
        game is over.
      falling: draws a moving picture during the step, from observation, action, and the elapsed part of the step, from
        0 to 1. None: the picture does not change.
      unit: of rewards, such as "lines".
    """

    name: str
    title: str
    protocol: Protocol
    environment: Callable[[], gymnasium.Env[Any, Any]]
    learner: Callable[[gymnasium.Env[Any, Any]], Tamer]
    draw: Callable[[gymnasium.Env[Any, Any], Any, Any], np.ndarray]
    falling: Callable[[Any, Any, float], np.ndarray] | None = None
    unit: str = "reward"


def _car() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("MountainCar-v0", max_episode_steps=CAR_STEPS)


MOUNTAIN_CAR_TRAINING: Final = Training(
    name="mountain_car",
    title="Mountain Car",
    protocol=MOUNTAIN_CAR,
    environment=_car,
    learner=lambda _: mountain_car_tamer(),
    draw=lambda _, observation, action: mountain_car_picture(observation, action),
)
TETRIS_TRAINING: Final = Training(
    name="tetris",
    title="Tetris",
    protocol=TETRIS,
    environment=PlacementTetris,
    learner=lambda _: tetris_tamer(),
    draw=lambda _, observation, action: tetris_picture(observation, action),
    falling=tetris_picture,
    unit="lines",
)
PRESETS: Final = (MOUNTAIN_CAR_TRAINING, TETRIS_TRAINING)


def training_of(name: str) -> Training:
    """The training of a name: a preset, a `Training` of a module as "module:name", or an environment of Gymnasium.

    Raises:
      ValueError: the module has no such `Training`.
      gymnasium.error.Error: there is no such environment.
      ImportError: there is no such module.

    >>> training_of("CartPole-v1").title
    'CartPole-v1'
    """
    for each in PRESETS:
        if each.name == name:
            return each
    module, _, attribute = name.partition(":")
    if attribute and "/" not in name and not attribute[-1].isdigit():
        found = getattr(importlib.import_module(module), attribute, None)
        if not isinstance(found, Training):
            raise ValueError(f"{name}: expected a Training of rlds_kit.shaping.trainings, got {found!r}")
        return found
    return of_environment(name)


def of_environment(environment: str) -> Training:
    """The training of an agent in an environment of Gymnasium, without an end.

    Raises:
      gymnasium.error.Error: there is no such environment.
      MissingExtraError: it is a game of Atari, and ale-py is not installed.
    """
    if environment.startswith("ALE/"):
        with needs("atari"):
            import ale_py  # the import registers its games
        gymnasium.register_envs(ale_py)
    gymnasium.spec(environment)
    return Training(
        name="".join(each if each.isalnum() or each in "-." else "_" for each in environment),
        title=environment,
        protocol=FREE,
        environment=lambda: gymnasium.make(environment, render_mode="rgb_array"),
        learner=general_tamer,
        draw=lambda env, *_: np.asarray(env.render()),
    )
