"""From what a session plays to what the engine and the recording want to know."""

import secrets
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rlds_kit.studio.play.host import Scene
from rlds_kit.studio.play.rules import Consent
from rlds_kit.trials import Driver, Pace, SeatConfig, TrialConfig
from rlds_kit.trials.engine.config import MAX_FPS, MIN_FPS
from rlds_kit.trials.workers.requests import Opened

DEFAULT_FPS = 15.0
_SEED_BITS: Final = 31


def trial_config(scene: Scene, opened: Opened, number: int, fps: float | None = None) -> TrialConfig:
    """The engine's settings of an episode.

    Args:
      scene: what is played.
      opened: the environment.
      number: of the episode, from 0.
      fps: that people chose before; None: they did not.
    """
    rate = fps or scene.fps or min(max(opened.rate or DEFAULT_FPS, MIN_FPS), MAX_FPS)
    return TrialConfig(
        seats=tuple(_seat(scene, name, opened) for name in opened.seats),
        pace=Pace(scene.turn, rate),
        seed=seed_of(scene, number),
        options=scene.options,
        max_steps=scene.max_steps,
        is_confirmed=scene.rules.confirm is not Consent.NOBODY,
        **scene.limits,
    )


def without_failed(config: TrialConfig, failed: Collection[str]) -> TrialConfig:
    """The settings without fallbacks whose actors cannot begin: the episode waits for these people."""
    seats = tuple(
        replace(each, fallback=None) if each.name in failed and each.fallback is Driver.ACTOR else each
        for each in config.seats
    )
    return replace(config, seats=seats)


def seed_of(scene: Scene, number: int) -> int | None:
    """The seed of an episode; with actors there is always one, from which theirs follow."""
    seed = scene.seed(number)
    return secrets.randbits(_SEED_BITS) if seed is None and scene.actors else seed


def default_action(space: Any, value: Any) -> Any:
    """An action, as JSON has it, for a space.

    >>> import gymnasium
    >>> default_action(gymnasium.spaces.Discrete(3), 2)
    2
    """
    return value if isinstance(value, int | None) else np.array(value, getattr(space, "dtype", None))


def _seat(scene: Scene, name: str, opened: Opened) -> SeatConfig:
    controls, kind = opened.controls.get(name), opened.classes.get(name)
    default = scene.defaults.get(name)
    if default is not None and kind is not None:
        default = default_action(kind.action_space, default)
    elif controls is not None:
        default = np.array(controls.default, controls.dtype) if controls.axes else controls.default
    return SeatConfig(
        name=name,
        driver=scene.drivers.get(name, Driver.HUMAN),
        fallback=scene.fallbacks.get(name),
        is_required=name not in scene.optional,
        default_action=default,
        controller=None if controls is None else controls.controller,
        actor_class="" if kind is None else kind.name,
    )
