"""Training from the recording of a trial."""

from typing import Any

from rlds_kit.episode.episode import Episode
from rlds_kit.shaping.feedback.text import received
from rlds_kit.shaping.learners.tamer import Tamer


def learn_from_trial(tamer: Tamer, episode: Episode, *, seat: str = "player") -> None:
    """Trains an agent from a recorded trial: its weights equal those of the `TamerActor` in the trial, bit for bit.

    Args:
      tamer: a new agent, or one with the state from which the actor began.
      episode: of the trial.
      seat: of the actor.
    """
    tamer.begin()
    steps = list(episode.steps)[: episode.length - 1]
    for number, step in enumerate(steps):
        tamer.show(_of_seat(step["observation"], seat), _of_seat(step.get("proposal", step["action"]), seat))
        if number < len(steps) - 1:  # texts of the last step arrived after the last action
            for text in step["play"].get("said", ()):
                if seat in text["to"]:
                    for item in received(text["content"]):
                        tamer.take(item)
    tamer.finish()


def _of_seat(value: Any, seat: str) -> Any:
    """The part of a seat, where values are by seat."""
    return value[seat] if isinstance(value, dict) and seat in value else value
