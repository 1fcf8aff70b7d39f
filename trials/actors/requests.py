"""Requests to a process of actors, and its answers."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rlds_kit.trials.actors.contract import ActorInfo, Experience, Judgement, Text


class Load(NamedTuple):
    """Import an implementation.

    Attributes:
      target: see `Implementation`.
    """

    target: str | Callable[..., Any]


class Loaded(NamedTuple):
    """An implementation can be used.

    Attributes:
      version: of it.
      is_batched: whether its actors act together, and share a process.
      learns: whether its actors want each step.
      is_amended: whether they want new aggregates of rewards.
    """

    version: str
    is_batched: bool
    learns: bool
    is_amended: bool


class Reset(NamedTuple):
    """Make an actor for a trial.

    Attributes:
      info: of the trial.
    """

    info: ActorInfo


class News(NamedTuple):
    """What an actor has to know before it acts, or when its trial is over.

    Attributes:
      experience: its latest step; None: there is none, or it does not learn.
      amended: steps with new aggregates of rewards.
    """

    experience: Experience | None = None
    amended: tuple[tuple[int, float], ...] = ()


class Act(NamedTuple):
    """Choose an action.

    Attributes:
      observation: of the seat.
      reward: of its latest step.
      messages: since the latest step.
      news: to learn from first.
    """

    observation: Any
    reward: float | None
    messages: tuple[Text, ...]
    news: News


class Acted(NamedTuple):
    """An action was chosen.

    Attributes:
      action: within the actor's space.
      messages: receivers and texts.
      rewards: of other steps and seats.
    """

    action: Any
    messages: tuple[tuple[str, str], ...] = ()
    rewards: tuple[Judgement, ...] = ()


class End(NamedTuple):
    """The trial is over; forget the actor.

    Attributes:
      news: to learn from first.
    """

    news: News


class Failed(NamedTuple):
    """A request could not be done.

    Attributes:
      reason: for people to read.
      is_lost: whether the actor can act no more.
    """

    reason: str
    is_lost: bool = True


Request = Load | Reset | Act | End
Answer = Loaded | Acted | Failed | None
"""None: it is done."""
