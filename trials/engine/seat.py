"""Seats: who acts for an agent of the environment, also while its person is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol


class Driver(Enum):
    """Who chooses the actions of a seat; recorded with every step."""

    NOBODY = "nobody"
    """The default action is done."""
    HUMAN = "human"
    POLICY = "policy"
    """A program beside the environment, called by the host."""
    ACTOR = "actor"
    """A program elsewhere, which gets a request before each step."""


class Controller(Protocol):
    """Makes actions from the keys that are down; it may have a state, as a gripper that a key opens and closes does."""

    def act(self, held: Mapping[str, float]) -> Any:
        """The action for the keys that are down, by name with their analog value; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatConfig:
    """A seat, as a trial begins.

    Attributes:
      name: of the agent that acts from it.
      driver: who acts; HUMAN: a person that is to come.
      fallback: who acts in place of a person that does not come, or is lost; None: the trial waits for the person.
      is_required: whether the trial waits for the person, and is abandoned if its actor fails and has no fallback.
      default_action: done when no action is given.
      controller: makes the person's controller, a new one for each trial.
      actor_class: of the agent: rewards and messages for "class.*" are for all seats of a class; "": it has none.
    """

    name: str
    driver: Driver = Driver.HUMAN
    fallback: Driver | None = None
    is_required: bool = True
    default_action: Any = None
    controller: Callable[[], Controller] | None = None
    actor_class: str = ""

    def __post_init__(self) -> None:
        if self.fallback is Driver.HUMAN:
            raise ValueError(f"seat {self.name!r}: expected POLICY, ACTOR or NOBODY as the fallback, got a person")
        if self.driver is Driver.HUMAN and self.controller is None:
            raise ValueError(f"seat {self.name!r}: expected a controller, for a person may sit there; got none")


@dataclass(frozen=True, slots=True)
class Given:
    """An action for a step, and what a person did to give it.

    Attributes:
      action: for the environment.
      keys: that stood for it, by name with their analog value.
      shown_frame: number of the frame that the person saw.
      pressed_ns: the person's own clock.
      is_default: whether it is the default action, because what an actor gave could not be done.
    """

    action: Any
    keys: Mapping[str, float] = field(default_factory=dict)
    shown_frame: int | None = None
    pressed_ns: int | None = None
    is_default: bool = False


@dataclass(slots=True)
class Seat:
    """A seat, as it is now.

    Attributes:
      config: as the trial began.
      driver: who acts now.
      holder: the person whose seat it is, also while the connection is lost.
      connection: that the person speaks through; None while it is lost.
      lost_ns: since when it is.
      is_ready: whether the person is ready.
      controller: of the person.
      held: keys that are down, by name with their analog value, in the order in which they went down.
      tapped: keys that went down since the last step, so that short taps are not lost.
      is_released: whether all keys were up since the last step.
      shown_frame: number of the frame that the person saw when the keys last changed.
      pressed_ns: the person's own clock at that moment.
      given: actions for the next steps, the first one first.
    """

    config: SeatConfig
    driver: Driver
    holder: str | None = None
    connection: str | None = None
    lost_ns: int | None = None
    is_ready: bool = False
    controller: Controller | None = None
    held: dict[str, float] = field(default_factory=dict)
    tapped: dict[str, float] = field(default_factory=dict)
    is_released: bool = True
    shown_frame: int | None = None
    pressed_ns: int | None = None
    given: list[Given] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the agent."""
        return self.config.name

    @property
    def is_awaited(self) -> bool:
        """Whether the trial waits for a person here."""
        return self.driver is Driver.HUMAN and self.config.is_required

    @property
    def is_here(self) -> bool:
        """Whether a person sits here, and can be heard."""
        return self.driver is Driver.HUMAN and self.connection is not None


def seat(config: SeatConfig) -> Seat:
    """A seat that is free."""
    controller = None if config.controller is None else config.controller()
    return Seat(config, config.driver, controller=controller)


def clear(each: Seat) -> None:
    """Forgets what was pressed and given: for a step that is done, or a person who is gone."""
    each.held, each.tapped, each.is_released, each.given = {}, {}, True, []
