"""What is recorded of those who act, with each step."""

from collections.abc import Mapping
from typing import Any

from rlds_kit.trials.engine.messages import SeatFacts, StepEnvironment


def play_facts(step: StepEnvironment, actors: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Any]:
    """By seat who acted and how, the pace, and the messages before the step.

    Args:
      step: that is done.
      actors: by seat that an actor drives, its implementation and version.
    """
    known = actors or {}
    seats = {name: {**_facts(each), **known.get(name, {})} for name, each in step.facts.items()}
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
