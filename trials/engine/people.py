"""People: they sit down, press keys, pause, are lost and come back; programs act for them meanwhile."""

import math

from rlds_kit.trials.engine import ending, stepping
from rlds_kit.trials.engine.config import SECOND
from rlds_kit.trials.engine.events import DriverChanged, KeysChanged, Pause, Ready, SeatLeft, SeatTaken
from rlds_kit.trials.engine.messages import Displaced, RequestConfirmation, ShowDriver
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.seat import Driver, Seat, clear
from rlds_kit.trials.engine.state import Messages, Refusal, State, move, show


def seat_taken(state: State, event: SeatTaken) -> Messages:
    """A person sits down, comes back, or opens another window."""
    each = state.seat(event.seat)
    if each.config.driver is not Driver.HUMAN:
        raise Refusal(f"seat {each.name!r} is not for people")
    if each.holder not in {None, event.holder}:
        raise Refusal(f"seat {each.name!r} is taken by another person")
    if each.connection == event.connection:
        raise Refusal(f"this window has the seat {each.name!r} already")
    if each.connection is not None:
        yield Displaced(each.name, each.connection)
    clear(each)
    each.holder, each.connection, each.lost_ns, each.shown_frame = event.holder, event.connection, None, None
    if each.driver is not Driver.HUMAN:
        yield drive(each, Driver.HUMAN)
        state.requested_ns = None  # nothing waits for the program that acted before
    state.waits_for.discard(each.name)
    if state.phase is Phase.WAITING:
        state.reason = ""  # it may have been this person who was missing
    yield show(state)
    if state.phase is Phase.CONFIRMING:
        yield RequestConfirmation(is_completed=state.is_over, is_over=state.is_over)


def seat_left(state: State, event: SeatLeft) -> Messages:
    """A person is gone, perhaps not for long: a fallback takes over with the next step, or the trial waits."""
    each = state.seat(event.seat)
    if each.connection != event.connection:
        return  # an older window
    clear(each)
    each.connection, each.is_ready, each.lost_ns = None, False, state.now_ns
    if not event.is_lost:
        each.holder, each.lost_ns = None, None
    if state.phase is Phase.COUNTDOWN:
        yield from move(state, Phase.WAITING, f"{each.name} left")
    if each.config.fallback is not None and state.phase not in {Phase.INITIALIZING, Phase.WAITING}:
        yield drive(each, each.config.fallback)
        state.requested_ns = None  # the new driver gets a request of its own
    if not any(other.connection is not None for other in state.seats.values()) and not event.is_lost:
        yield from ending.end(state, Status.ABANDONED, "everybody left")
    elif each.is_awaited and not event.is_lost and state.phase is not Phase.WAITING:
        yield from ending.end(state, Status.ABANDONED, f"{each.name} left")
    elif each.is_awaited and state.phase is Phase.RUNNING:
        state.waits_for.add(each.name)
        yield from move(state, Phase.PAUSED, f"the connection of {each.name} was lost")
    else:
        yield from stepping.advance(state)  # the trial does not wait for this person any more


def lost_for_good(state: State, each: Seat) -> Messages:
    """The time to come back is over."""
    each.lost_ns, each.holder = None, None
    is_empty = not any(other.connection is not None or other.lost_ns is not None for other in state.seats.values())
    if is_empty or (each.is_awaited and state.phase is not Phase.WAITING):
        yield from ending.end(state, Status.ABANDONED, f"{each.name} did not come back")


def driver_changed(state: State, event: DriverChanged) -> Messages:
    """Another person acts, from the next step on."""
    each = state.seat(event.seat)
    if event.driver is Driver.HUMAN and each.holder is None:
        raise Refusal(f"seat {each.name!r} has no person")
    if event.driver is each.driver:
        raise Refusal(f"seat {each.name!r} is driven by {each.driver.value} already")
    yield drive(each, event.driver)
    state.waits_for.discard(each.name)
    state.requested_ns = None  # the new driver gets a request of its own
    yield from stepping.advance(state)


def drive(each: Seat, driver: Driver) -> ShowDriver:
    """Puts another person in charge of a seat."""
    clear(each)
    each.driver = driver
    return ShowDriver(each.name, driver)


def keys_changed(state: State, event: KeysChanged) -> Messages:
    """Everything that a person holds now."""
    each = state.seat(event.seat)
    if not each.is_here:
        raise Refusal(f"seat {each.name!r} has no person")
    for name, value in event.held.items():
        if not math.isfinite(value) or not -1 <= value <= 1:
            raise Refusal(f"key {name!r}: expected a value of -1 to 1, got {value!r}")
    new = {name: value for name, value in event.held.items() if name not in each.held}
    before = {name: event.held[name] for name in each.held if name in event.held}
    each.held = {**before, **new}
    each.shown_frame, each.pressed_ns = event.shown_frame, event.pressed_ns
    each.is_released = each.is_released or not each.held
    state.last_input_ns = state.now_ns
    if state.phase is Phase.RUNNING:
        each.tapped |= new
        if new:
            stepping.pressed(state, each)
        yield from stepping.advance(state)


def ready(state: State, event: Ready) -> Messages:
    """A person is ready: when all are, the trial begins, or goes on."""
    each = state.seat(event.seat)
    if not each.is_here:
        raise Refusal(f"seat {each.name!r} has no person")
    if state.phase is Phase.CONFIRMING and state.is_over:
        raise Refusal("the episode is over; decide whether to save it")
    if state.waits_for:
        raise Refusal(f"the trial waits for {', '.join(sorted(state.waits_for))} to come back")
    each.is_ready = True
    if state.phase is Phase.WAITING:
        yield from begin_when_ready(state)
    else:
        yield from stepping.run(state)


def begin_when_ready(state: State) -> Messages:
    """Counts down, or begins at once, if everybody is there."""
    waiting = [each.name for each in state.seats.values() if each.is_awaited and not (each.is_here and each.is_ready)]
    if waiting:
        state.reason = f"waiting for {', '.join(waiting)}"
        yield show(state)
    elif state.config.countdown_seconds > 0:
        until = state.now_ns + int(state.config.countdown_seconds * SECOND)
        yield from move(state, Phase.COUNTDOWN, until_ns=until)
    else:
        yield from stepping.run(state)


def nobody_came(state: State) -> Messages:
    """The time for people to come is over: fallbacks act for those who are missing, unless no person came."""
    missing = [each for each in state.seats.values() if each.is_awaited and not (each.is_here and each.is_ready)]
    without = [each.name for each in missing if each.config.fallback is None]
    if not any(each.is_here for each in state.seats.values()):
        yield from ending.end(state, Status.ABANDONED, "nobody came")
    elif without:
        yield from ending.end(state, Status.ABANDONED, f"{', '.join(without)} did not come")
    else:
        for each in missing:
            yield drive(each, each.config.fallback or Driver.NOBODY)
        yield from begin_when_ready(state)


def pause(state: State, event: Pause) -> Messages:
    """A person wants a pause. A step that is being done is still done."""
    state.seat(event.seat)
    yield from move(state, Phase.PAUSED, f"{event.seat} paused")


def idle(state: State) -> Messages:
    """No key was pressed or released for long."""
    yield from move(state, Phase.PAUSED, "no key was pressed")
