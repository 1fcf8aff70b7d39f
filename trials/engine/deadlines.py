"""What happens because time passes."""

from collections.abc import Callable, Iterator
from typing import Final

from rlds_kit.trials.engine import actors, ending, people, stepping
from rlds_kit.trials.engine.config import SECOND, Turn
from rlds_kit.trials.engine.events import Tick
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.state import Messages, State

Due = Callable[[State], Messages]


def deadlines(state: State) -> Iterator[tuple[int, Due]]:
    """The times at which something is due, and what."""
    config = state.config
    match state.phase:
        case Phase.WAITING:
            yield state.since_ns + _ns(config.seats_seconds), people.nobody_came
        case Phase.COUNTDOWN:
            yield state.since_ns + _ns(config.countdown_seconds), stepping.run
        case Phase.RUNNING:
            yield from _running(state)
        case Phase.PAUSED | Phase.CONFIRMING:
            yield state.since_ns + _ns(config.pause_seconds), _left_alone
    if state.phase not in {Phase.INITIALIZING, Phase.ENDING, Phase.ENDED}:
        for each in state.seats.values():
            if each.lost_ns is not None:
                yield each.lost_ns + _ns(config.grace_seconds), _lost(each.name)


def _running(state: State) -> Iterator[tuple[int, Due]]:
    config = state.config
    if state.requested_ns is not None:
        yield state.requested_ns + _ns(config.answer_seconds), actors.unanswered
    elif not state.is_stepping and (config.pace.turn is Turn.CLOCK or stepping.is_handed_over(state)):
        yield state.next_step_ns, stepping.advance
    elif not state.is_stepping and config.pace.turn is Turn.HOLD and state.checked_ns < state.next_step_ns:
        yield state.next_step_ns, _check_held
    if config.max_seconds is not None and state.begun_ns is not None and not state.wants_last:
        yield state.begun_ns + _ns(config.max_seconds), _time_is_up
    has_people = any(each.is_here for each in state.seats.values())
    if config.idle_seconds is not None and has_people and config.pace.turn is Turn.CLOCK:
        is_held = any(each.held for each in state.seats.values())
        seconds = max(config.held_seconds, config.idle_seconds) if is_held else config.idle_seconds
        yield state.last_input_ns + _ns(seconds), people.idle


def tick(state: State, event: Tick) -> Messages:
    """Does what is due, in the order in which it fell due."""
    del event
    for _ in range(_MOST_AT_ONCE):
        due = [each for each in deadlines(state) if each[0] <= state.now_ns]
        if not due:
            return
        yield from min(due, key=lambda each: each[0])[1](state)


_MOST_AT_ONCE: Final = 64
"""More than can fall due together: no seat, no phase has two."""


def _check_held(state: State) -> Messages:
    """Checks whether keys are still down; if not, the next press is an event of its own."""
    state.checked_ns = state.now_ns
    yield from stepping.advance(state)


def _time_is_up(state: State) -> Messages:
    """The next step is the last one."""
    state.wants_last = True
    yield from stepping.advance(state)


def _lost(name: str) -> Due:
    return lambda state: people.lost_for_good(state, state.seats[name])


def _left_alone(state: State) -> Messages:
    yield from ending.end(state, Status.ABANDONED, "nobody went on")


def _ns(seconds: float) -> int:
    return int(seconds * SECOND)
