"""A designer's settings for the seats of an environment, and for people who play in it together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.environments.playable import SEAT


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPlan:
    """A seat.

    Attributes:
      name: of the agent.
      is_human: whether the seat is for a person; else for a program.
      actor: the implementation of the program: in a program's seat it always acts, in a person's seat while no person
        is there. "": there is none.
      config: of the actor.
      is_required: whether the episode waits for the person, or ends if its program fails; else the default action is
        applied meanwhile.
      default_action: None: that of the keys.
      idle_seconds: without a key, after which the actor of a person's seat acts, until a key is pressed; None: never.
      controls: keys and names of discrete actions, as of the environment; None: those of the environment.
      instructions: for the person.
    """

    name: str
    is_human: bool = True
    actor: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    is_required: bool = True
    default_action: Any = None
    idle_seconds: float | None = None
    controls: Mapping[str, Any] | None = None
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """How people are matched, and what they decide together.

    Attributes:
      fill_seconds: that a person waits at most until programs take the seats that are empty; None: people only.
      wait_seconds: that a person waits at most; then the lobby sends them away.
      most_waiting: people in the lobby of the environment; further ones are refused.
      countdown_seconds: from when people have found each other until they play.
      matchmaker: that puts people together, by name; "": who came first plays first; see `lobby.matchmaking`.
      within_ms: by which round trips differ at most, of the matchmaker "latency".
      longest_seconds: after which it puts those together who are closest, however far.
      pause: whose word pauses the episode: "one", "all", "vote" or "nobody", see `play.rules.Consent`.
      cancel: whose word ends it, likewise.
      confirm: whose word saves or rejects it, likewise.
      onlookers: whether others than the designer may watch.
    """

    fill_seconds: float | None = None
    wait_seconds: float = 900.0
    most_waiting: int = 1000
    countdown_seconds: float = 3.0
    matchmaker: str = ""
    within_ms: float = 50.0
    longest_seconds: float = 30.0
    pause: str = "one"
    cancel: str = "one"
    confirm: str = "one"
    onlookers: bool = True


ALONE = (SeatPlan(name=SEAT),)
"""The seats of an environment whose designer names none."""


def seats_of(found: Sequence[Mapping[str, Any]] | None) -> tuple[SeatPlan, ...]:
    """Seats as the database has them.

    >>> seats_of([{"name": "left"}])[0].is_human
    True
    """
    return tuple(SeatPlan(**each) for each in found or ())


def together_of(found: Mapping[str, Any] | None) -> Together:
    """The rules of an environment as the database has them."""
    return Together(**(found or {}))
