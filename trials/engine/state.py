"""What a trial knows while it goes on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rlds_kit.trials.engine.config import SECOND, TrialConfig
from rlds_kit.trials.engine.messages import DeliverText, Message, ShowState
from rlds_kit.trials.engine.phase import MOVES, Phase, Status
from rlds_kit.trials.engine.seat import Seat, seat

Messages = Iterator[Message]


class Refusal(Exception):  # noqa: N818  no error: an event that has no effect
    """An event changes nothing; the message gives the reason and what to do."""


@dataclass(slots=True)
class State:
    """Of a trial.

    Attributes:
      config: as it began.
      phase: where it stands.
      now_ns: time of the latest event.
      since_ns: when the phase began.
      fps: steps a second.
      step: how many were done.
      is_stepping: whether the environment is doing one.
      is_begun: whether the reset of the environment was requested.
      requested_ns: when actions were requested from actors; None: no request is pending.
      next_step_ns: when a step is due, at the earliest.
      checked_ns: when it was last checked whether keys are still down.
      last_input_ns: when a person last pressed or released something.
      is_over: whether the environment ended the episode.
      verdict: how it will have ended when the step that is being done is.
      seats: by name.
      totals: sums of the environment's rewards, by seat.
      texts: between seats since the latest step.
      judgements: by step and seat, values and confidences.
      judged: how many rewards were given.
      late_steps: how many came more than a period late.
      waits_for: names of those the trial waits for in a pause that no person requested.
      wants_last: whether the next step is the last one.
      last_step: number of the step that is done as the last one; None: it is not known yet.
      begun_ns: when the first step was due; None: it was not.
      reason: why it paused, or waits.
      until_ns: when the phase ends by itself, where people see that.
    """

    config: TrialConfig
    phase: Phase = Phase.INITIALIZING
    now_ns: int = 0
    since_ns: int = 0
    fps: float = 0.0
    step: int = 0
    is_stepping: bool = False
    is_begun: bool = False
    requested_ns: int | None = None
    next_step_ns: int = 0
    checked_ns: int = -1
    last_input_ns: int = 0
    is_over: bool = False
    verdict: tuple[Status, str] | None = None
    seats: dict[str, Seat] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    texts: list[DeliverText] = field(default_factory=list)
    judgements: dict[tuple[int, str], list[tuple[float, float]]] = field(default_factory=dict)
    judged: int = 0
    late_steps: int = 0
    waits_for: set[str] = field(default_factory=set)
    wants_last: bool = False
    last_step: int | None = None
    begun_ns: int | None = None
    reason: str = ""
    until_ns: int | None = None

    def seat(self, name: str) -> Seat:
        """The seat of a name.

        Raises:
          Refusal: there is none.
        """
        if name not in self.seats:
            raise Refusal(f"there is no seat {name!r}; there are {', '.join(self.seats)}")
        return self.seats[name]

    def receivers(self, name: str) -> list[str]:
        """The seats that a name stands for: "*" for all, "class.*" for those of a class, else the one of that name.

        Raises:
          Refusal: there is none.
        """
        if name in self.seats:
            return [name]
        of_class = name[:-2] if name.endswith(".*") else ""
        found = [each.name for each in self.seats.values() if name == "*" or each.config.actor_class == of_class != ""]
        if not found:
            known = sorted({f"{each.config.actor_class}.*" for each in self.seats.values() if each.config.actor_class})
            raise Refusal(f"there is no seat {name!r}; there are {', '.join([*self.seats, '*', *known])}")
        return found

    @property
    def period_ns(self) -> int:
        """Between two steps."""
        return int(SECOND / self.fps)


def new_state(config: TrialConfig) -> State:
    """A trial that has not begun."""
    seats = {each.name: seat(each) for each in config.seats}
    return State(config, fps=config.pace.fps, seats=seats, totals=dict.fromkeys(seats, 0.0))


def move(state: State, phase: Phase, reason: str = "", until_ns: int | None = None) -> Messages:
    """Goes to another phase, and shows it."""
    if phase not in MOVES[state.phase]:  # a defect of the engine; no event may cause it
        raise RuntimeError(f"a trial cannot go from {state.phase.value} to {phase.value}")
    state.phase, state.since_ns = phase, state.now_ns
    state.reason, state.until_ns = reason, until_ns
    yield show(state)


def show(state: State) -> ShowState:
    """What people see of it."""
    return ShowState(state.phase, state.step, dict(state.totals), state.fps, state.reason, state.until_ns)


def facts_of(state: State) -> dict[str, Any]:
    """What is recorded with the episode when it is over; what belongs to a step goes with the step."""
    return {
        "turn": state.config.pace.turn.value,
        "fps": state.config.pace.fps,
        "late_steps": state.late_steps,
        "holders": {name: each.holder for name, each in state.seats.items() if each.holder is not None},
    }
