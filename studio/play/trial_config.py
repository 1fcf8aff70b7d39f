"""From what a session plays to what the engine and the recording want to know."""

import numpy as np

from rlds_kit.studio.play.host import Scene
from rlds_kit.trials import Driver, Pace, SeatConfig, TrialConfig
from rlds_kit.trials.engine.config import MAX_FPS, MIN_FPS
from rlds_kit.trials.environments.controls import Controls
from rlds_kit.trials.workers.requests import Opened

DEFAULT_FPS = 15.0


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
        seats=tuple(_seat(scene, name, opened.controls[name]) for name in opened.seats),
        pace=Pace(scene.turn, rate),
        seed=scene.seed(number),
        options=scene.options,
        max_steps=scene.max_steps,
        **scene.limits,
    )


def _seat(scene: Scene, name: str, controls: Controls) -> SeatConfig:
    default = np.array(controls.default, controls.dtype) if controls.axes else controls.default
    return SeatConfig(
        name=name,
        driver=scene.drivers.get(name, Driver.HUMAN),
        fallback=scene.fallbacks.get(name),
        default_action=default,
        controller=controls.controller,
    )
