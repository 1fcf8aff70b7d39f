"""What happens to a trial. `time_ns` is on a monotonic clock of the caller's; the engine has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.engine.seat import Driver


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a time."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class SeatEvent(Event):
    """Something that happened at a seat.

    Attributes:
      seat: its name.
    """

    seat: str


@dataclass(frozen=True, slots=True)
class Begin(Event):
    """The trial may begin."""


@dataclass(frozen=True, slots=True)
class Tick(Event):
    """Time has passed: the answer to `WakeAt`. Too early or too often does no harm."""


@dataclass(frozen=True, slots=True)
class EnvironmentReady(Event):
    """It was reset."""


@dataclass(frozen=True, slots=True)
class EnvironmentStepped(Event):
    """It did the step that was requested.

    Attributes:
      step: its number; the first is 1.
      rewards: by seat; None where there is none.
      terminated: whether the episode is over by the environment's rules.
      truncated: whether it is over by a limit.
    """

    step: int
    rewards: Mapping[str, float | None]
    terminated: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EnvironmentFailed(Event):
    """It crashed, or hangs.

    Attributes:
      reason: for people to read.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class SeatTaken(SeatEvent):
    """A person sits down, comes back after a lost connection, or opens a second window, which closes the first.

    Attributes:
      holder: identifies the person.
      connection: identifies the window.
    """

    holder: str
    connection: str


@dataclass(frozen=True, slots=True)
class SeatLeft(SeatEvent):
    """A person is gone.

    Attributes:
      connection: that is gone; if the person has another one by now, nothing happens.
      is_lost: whether the person may want to come back.
    """

    connection: str
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class DriverChanged(SeatEvent):
    """Another person is to act from a seat, from the next step on.

    Attributes:
      driver: who; HUMAN only if a person holds the seat.
    """

    driver: Driver


@dataclass(frozen=True, slots=True)
class KeysChanged(SeatEvent):
    """A person pressed or released something.

    Attributes:
      held: all keys that are down now, by name with its analog value (1.0 for a key), -1 to 1.
      shown_frame: number of the frame that was on the screen; None: none yet.
      pressed_ns: the person's own clock.
    """

    held: Mapping[str, float]
    shown_frame: int | None = None
    pressed_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ActionGiven(SeatEvent):
    """An actor answers.

    Attributes:
      action: for the environment.
      step: of the request: how many steps were done before.
    """

    action: Any
    step: int


@dataclass(frozen=True, slots=True)
class ActorFailed(SeatEvent):
    """The actor of a seat gives no action for a request, or none that can be done.

    A seat that is not required, or has a fallback, does its default action; a required one ends the trial.

    Attributes:
      reason: for people to read.
      step: of the request; None: the actor is lost outside a request.
      is_lost: whether it can act no more: its fallback drives the seat from now on, or the default action is done.
    """

    reason: str
    step: int | None = None
    is_lost: bool = True


@dataclass(frozen=True, slots=True)
class Ready(SeatEvent):
    """A person is ready to begin, or wants to go on."""


@dataclass(frozen=True, slots=True)
class Pause(SeatEvent):
    """A person wants a pause."""


@dataclass(frozen=True, slots=True)
class Cancel(SeatEvent):
    """A person wants to break off."""


@dataclass(frozen=True, slots=True)
class Confirm(SeatEvent):
    """A person decides what to do with the episode.

    Attributes:
      save: whether to save it.
      is_completed: whether the task was done.
    """

    save: bool
    is_completed: bool = False


@dataclass(frozen=True, slots=True)
class RateChanged(Event):
    """A person moved the slider.

    Attributes:
      fps: steps a second, 1 to 60.
    """

    fps: float


@dataclass(frozen=True, slots=True)
class RewardGiven(Event):
    """A person or a program judges a step, at any time after it.

    Attributes:
      source: who judges.
      seat: of the agent that is judged; "*": of all agents; "class.*": of all agents of a class.
      value: the reward.
      confidence: 0 to 1.
      step: the number of the step, from 1 to the latest; None: the latest.
      note: anything to record with it.
      details: anything to record with it: the frame that was shown, the key that was pressed.
    """

    source: str
    seat: str
    value: float
    confidence: float = 1.0
    step: int | None = None
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MessageSent(Event):
    """A seat sends text to others; the next step records it.

    Attributes:
      sender: name of the seat.
      content: text.
      to: names of seats, or "class.*" for all seats of a class; empty, or "*": all others.
    """

    sender: str
    content: str
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop(Event):
    """The trial must end, for a reason outside it.

    Attributes:
      reason: for people to read.
      is_hard: whether it is abandoned at once, after a step that is being done; if not, one more step is done, which is
        truncated, and the episode is completed. A trial that is not running ends at once.
    """

    reason: str
    is_hard: bool = True
