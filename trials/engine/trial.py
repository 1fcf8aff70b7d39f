"""One episode that people and programs play together."""

from rlds_kit.trials.engine.config import TrialConfig
from rlds_kit.trials.engine.deadlines import deadlines
from rlds_kit.trials.engine.events import Event
from rlds_kit.trials.engine.messages import Message, Refused, WakeAt
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.engine.seat import Driver
from rlds_kit.trials.engine.state import Refusal, new_state
from rlds_kit.trials.engine.transitions import EVENTS


class Trial:
    """Takes events, gives messages. It does nothing itself: no input or output, no clock, no threads.

    Args:
      config: of the episode.

    >>> from rlds_kit.trials import Driver, SeatConfig, TrialConfig, events
    >>> trial = Trial(TrialConfig(seats=(SeatConfig(name="player", driver=Driver.POLICY),), max_steps=1))
    >>> [type(message).__name__ for message in trial.handle(events.Begin(0))]
    ['ResetEnvironment']
    >>> [type(message).__name__ for message in trial.handle(events.EnvironmentReady(1))]
    ['ShowState', 'ShowState', 'StepEnvironment']
    >>> trial.phase
    <Phase.RUNNING: 'running'>
    """

    def __init__(self, config: TrialConfig) -> None:
        self._state = new_state(config)
        self._wake: int | None = None

    @property
    def phase(self) -> Phase:
        """Where it stands."""
        return self._state.phase

    @property
    def step(self) -> int:
        """How many steps were done."""
        return self._state.step

    def driver(self, seat: str) -> Driver:
        """Who acts from a seat now.

        Raises:
          KeyError: there is no such seat.
        """
        return self._state.seats[seat].driver

    def handle(self, event: Event) -> list[Message]:
        """Takes an event.

        Args:
          event: its time may not be earlier than the latest one's; if it is, the latest one's counts.

        Returns:
          What is to be done, in order. An event that means nothing now, or that is wrong, gives `Refused` and changes
          nothing.
        """
        state = self._state
        handler, phases = EVENTS[type(event)]
        if state.phase not in phases:
            return [Refused(event, f"{type(event).__name__} means nothing while the trial is {state.phase.value}")]
        before, state.now_ns = state.now_ns, max(state.now_ns, event.time_ns)
        try:
            messages = list(handler(state, event))
        except Refusal as refusal:
            state.now_ns = before
            return [Refused(event, str(refusal))]
        wake = min((time for time, _ in deadlines(state)), default=None)
        if wake != self._wake:
            self._wake = wake
            messages.append(WakeAt(wake))
        return messages
