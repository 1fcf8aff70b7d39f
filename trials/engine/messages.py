"""What a trial requests from its host, which executes the messages in order and answers with events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.engine.events import Event
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Driver


@dataclass(frozen=True, slots=True)
class Message:
    """Something to do."""


@dataclass(frozen=True, slots=True)
class ResetEnvironment(Message):
    """Reset it, and answer with `EnvironmentReady` or `EnvironmentFailed`.

    Attributes:
      seed: None: any.
      options: of the reset.
    """

    seed: int | None
    options: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class DeliverText(Message):
    """Deliver text from one seat to others; the next step records it too.

    Attributes:
      sender: name of the seat.
      to: names of the seats that it is for.
      content: text.
    """

    sender: str
    to: tuple[str, ...]
    content: str


@dataclass(frozen=True, slots=True)
class SeatFacts:
    """What is recorded of a seat with a step.

    Attributes:
      driver: who acted.
      keys: that were down or tapped, with their analog values.
      shown_frame: that the person saw when they last changed.
      pressed_ns: the person's own clock then.
      is_default: whether the default action was done, because no action was given.
    """

    driver: Driver
    keys: Mapping[str, float] = field(default_factory=dict)
    shown_frame: int | None = None
    pressed_ns: int | None = None
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class StepEnvironment(Message):
    """Do a step, record it, and answer with `EnvironmentStepped` or `EnvironmentFailed`.

    Attributes:
      step: its number; the first is 1.
      actions: by seat, of all but those that a policy beside the environment drives.
      facts: by seat, to record.
      texts: between seats since the step before, to record.
      is_last: whether the limit of steps is reached, so that the step is truncated.
      fps: steps a second, to record.
      is_late: whether a clock does it more than a period late, to record.
    """

    step: int
    actions: Mapping[str, Any]
    facts: Mapping[str, SeatFacts]
    texts: tuple[DeliverText, ...] = ()
    is_last: bool = False
    fps: float = 0.0
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class RequestAction(Message):
    """Request an action from the actor of a seat, and answer with `ActionGiven`.

    Attributes:
      seat: its name.
      step: how many steps were done before; for the answer.
    """

    seat: str
    step: int


@dataclass(frozen=True, slots=True)
class WakeAt(Message):
    """Send a `Tick` at this time; a later WakeAt takes the place of this one.

    Attributes:
      time_ns: None: no more.
    """

    time_ns: int | None


@dataclass(frozen=True, slots=True)
class ShowState(Message):
    """Show people where the trial stands.

    Attributes:
      phase: of it.
      step: how many were done.
      totals: sum of the environment's rewards by seat.
      fps: steps a second.
      reason: why it paused, or waits.
      until_ns: when the countdown, or the wait, ends.
    """

    phase: Phase
    step: int
    totals: Mapping[str, float]
    fps: float
    reason: str = ""
    until_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ShowDriver(Message):
    """Show people that another person acts from a seat now.

    Attributes:
      seat: its name.
      driver: who.
    """

    seat: str
    driver: Driver


@dataclass(frozen=True, slots=True)
class RequestConfirmation(Message):
    """Ask people whether to save the episode; the answer is `Confirm`, or `Ready` to play on if it is not over.

    Attributes:
      is_completed: what to suggest.
      is_over: whether the environment ended it.
    """

    is_completed: bool
    is_over: bool


@dataclass(frozen=True, slots=True)
class Amended(Message):
    """Record a judgement, and show it.

    Attributes:
      judgement: as it was given.
      step: that it is of.
      aggregate: of all judgements of that step and seat by now.
    """

    judgement: Event
    step: int
    aggregate: float


@dataclass(frozen=True, slots=True)
class Displaced(Message):
    """Close a window, for its person has opened another.

    Attributes:
      seat: its name.
      connection: identifies the window.
    """

    seat: str
    connection: str


@dataclass(frozen=True, slots=True)
class Refused(Message):
    """An event changed nothing.

    Attributes:
      event: which.
      reason: why, and what to do.
    """

    event: Event
    reason: str


@dataclass(frozen=True, slots=True)
class Finish(Message):
    """The episode is over: finish its recording and let the environment go. Nothing but judgements comes after.

    Attributes:
      status: what became of it.
      reason: why, if it was not a person who ended it.
      steps: how many were done.
      totals: sum of the environment's rewards by seat.
      is_kept: False for one that was abandoned before the first step.
      facts: to record with the episode.
    """

    status: Status
    reason: str
    steps: int
    totals: Mapping[str, float]
    is_kept: bool
    facts: Mapping[str, Any]
