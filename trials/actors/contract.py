"""What an actor is given, and what it gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from rlds_kit.trials.environments.actor_class import ActorClass


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorInfo:
    """What an actor gets when a trial begins.

    Attributes:
      trial: id of the trial.
      seat: from which it acts.
      actor_class: what it observes and may do.
      seed: for its random numbers; another one for each seat of each trial.
      config: of the actor in this trial.
      properties: of the trial.
    """

    trial: str
    seat: str
    actor_class: ActorClass
    seed: int
    config: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)


class Text(NamedTuple):
    """A message from another seat.

    Attributes:
      sender: name of the seat.
      content: text.
    """

    sender: str
    content: str


class Experience(NamedTuple):
    """A step of a seat, to learn from.

    Attributes:
      observation: before the action.
      action: that the seat did.
      reward: of the seat; None: it got none.
      next_observation: after the action; None: the agent got none.
      terminated: whether the episode is over by the environment's rules.
      truncated: whether it is over by a limit.
      is_default: whether the action was the default one, and not the actor's.
    """

    observation: Any
    action: Any
    reward: float | None
    next_observation: Any
    terminated: bool
    truncated: bool
    is_default: bool


class Judgement(NamedTuple):
    """A reward that an actor gives.

    Attributes:
      to: name of a seat, "*", or "class.*".
      value: the reward.
      confidence: 0 to 1.
      step: that is judged, from 1; None: the latest.
      details: anything to record with it.
    """

    to: str
    value: float
    confidence: float = 1.0
    step: int | None = None
    details: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Reply:
    """An action, and what else an actor sends with it; `act` may return it in place of an action.

    Attributes:
      action: to do.
      messages: receivers (names of seats, "*" or "class.*") and texts.
      rewards: for any seat and step.
    """

    action: Any
    messages: tuple[tuple[str, str], ...] = ()
    rewards: tuple[Judgement, ...] = ()


class Actor(Protocol):
    """A program that acts from one seat of one trial at a time. Each method may be a coroutine function.

    Four more methods are used if the class has them. `end()` is called when the trial is over. `learn(experience)` is
    called after each step, before the next `act`. `amended(step, value)` is called when a step of the seat has a new
    aggregate of rewards. The class method `act_batch(actors, observations, rewards, messages)` is called in place of
    `act`, with the actors of all trials that wait for an action, and returns their actions in order; such actors share
    one process.
    """

    def reset(self, info: ActorInfo) -> Any:
        """A trial begins. Everything random must follow from `info.seed`."""

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        """The action for an observation, or a `Reply`.

        Args:
          observation: of the seat.
          reward: of the seat's latest step; None: there is none.
          messages: that came since the latest step.
        """
