"""From what a session plays to what the engine and the recording want to know."""

from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import REWARD
from rlds_kit.studio.play.host import Scene
from rlds_kit.trials import Driver, Pace, SeatConfig, TrialConfig
from rlds_kit.trials.engine.config import MAX_FPS, MIN_FPS
from rlds_kit.trials.engine.messages import SeatFacts, StepEnvironment
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


def reward_fields(opened: Opened) -> dict[str, str]:
    """By seat, the path of its reward in a step: where each has one of its own, it is below the seat's name."""
    rewards = opened.declared.fields.get(REWARD)
    own = rewards.fields if isinstance(rewards, specs.Dict) else {}
    return {seat: f"{REWARD}/{seat}" if seat in own else REWARD for seat in opened.seats}


def play_facts(step: StepEnvironment) -> dict[str, Any]:
    """What is recorded of people with a step: by seat who acted and how, the pace, and the messages before it."""
    seats = {name: _facts(each) for name, each in step.facts.items()}
    facts: dict[str, Any] = {"seats": seats, "fps": step.fps, "is_late": step.is_late}
    if step.texts:
        facts["said"] = [{"sender": each.sender, "to": list(each.to), "content": each.content} for each in step.texts]
    return facts


def _facts(seat: SeatFacts) -> dict[str, Any]:
    return {
        "driver": seat.driver.value,
        "keys": dict(seat.keys),
        "shown_frame": seat.shown_frame,
        "pressed_ns": seat.pressed_ns,
        "is_default": seat.is_default,
    }
