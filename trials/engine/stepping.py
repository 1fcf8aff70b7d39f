"""Steps: when the next one is due, what is done in it, and what comes back."""

from dataclasses import replace

from rlds_kit.trials.engine import ending
from rlds_kit.trials.engine.config import Turn, require_fps
from rlds_kit.trials.engine.events import ActionGiven, EnvironmentStepped, RateChanged
from rlds_kit.trials.engine.messages import RequestAction, SeatFacts, StepEnvironment
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.engine.seat import Driver, Given, Seat
from rlds_kit.trials.engine.state import Messages, Refusal, State, move, show


def run(state: State) -> Messages:
    """Begins, or resumes. Keys that were pressed in a pause are forgotten; those that are down count."""
    yield from move(state, Phase.RUNNING)
    state.last_input_ns = state.next_step_ns = state.now_ns
    state.begun_ns = state.now_ns if state.begun_ns is None else state.begun_ns
    for each in state.seats.values():
        each.given, each.tapped = [], {}
    state.requested_ns = None
    yield from advance(state)


def advance(state: State) -> Messages:
    """Does the next step if it is due and all actions are given; requests those of actors."""
    if state.phase is not Phase.RUNNING or state.is_stepping or not _is_due(state):
        return
    missing = [each for each in state.seats.values() if each.driver is Driver.ACTOR and not each.given]
    if missing and state.requested_ns is None:
        state.requested_ns = state.now_ns
        for each in missing:
            yield RequestAction(each.name, state.step)
    elif not missing:
        yield _step(state)


def _is_due(state: State) -> bool:
    """Whether the time has come, or all people who are waited for have given an action."""
    turn = state.config.pace.turn
    if (turn in {Turn.CLOCK, Turn.HOLD} or is_handed_over(state)) and state.now_ns < state.next_step_ns:
        return False
    people = [each for each in state.seats.values() if each.is_here]
    if turn is Turn.CLOCK:
        return True
    if turn is Turn.HOLD:
        for each in people:
            held = _held(each)
            each.given = [held] if held is not None else each.given
    awaited = [each for each in people if each.config.is_required] or people
    return all(each.given for each in awaited)


def is_handed_over(state: State) -> bool:
    """Whether programs act for all people who sit here: at the rate, so that these can follow, and take over again."""
    held = [each for each in state.seats.values() if each.holder is not None]
    return bool(held) and not any(each.driver is Driver.HUMAN for each in state.seats.values())


def _held(each: Seat) -> Given | None:
    """What a person's keys stand for now, with those that were tapped since the last step; None if for nothing."""
    keys = {**each.tapped, **each.held}
    action = None if each.controller is None or not keys else each.controller.act(keys)
    return None if action is None else Given(action, keys, each.shown_frame, each.pressed_ns)


def pressed(state: State, each: Seat) -> None:
    """Has keys that went down make an action, where that is how actions are given. Each counts, however fast."""
    turn = state.config.pace.turn
    if turn not in {Turn.PRESS, Turn.RELEASE} or (turn is Turn.RELEASE and not each.is_released):
        return
    given = _held(replace(each, tapped={}))
    if given is not None:
        each.given.append(given)
        each.is_released = False


def _step(state: State) -> StepEnvironment:
    actions, facts = {}, {}
    for each in state.seats.values():
        given = _next_given(state, each)
        facts[each.name] = _facts(each, given)
        if each.driver is not Driver.POLICY:
            actions[each.name] = each.config.default_action if given is None else given.action
        each.tapped = {}
    texts, state.texts = tuple(state.texts), []
    state.is_stepping, state.requested_ns = True, None
    is_late = _schedule(state)
    number = state.step + 1
    is_last = state.wants_last or number == state.config.max_steps
    state.last_step = number if is_last else None
    return StepEnvironment(number, actions, facts, texts, is_last=is_last, fps=state.fps, is_late=is_late)


def _next_given(state: State, each: Seat) -> Given | None:
    if each.given:
        return each.given.pop(0)
    return _held(each) if each.is_here and state.config.pace.turn is Turn.CLOCK else None


def _facts(each: Seat, given: Given | None) -> SeatFacts:
    if given is not None:
        return SeatFacts(each.driver, given.keys, given.shown_frame, given.pressed_ns, given.is_default)
    is_default = each.driver is not Driver.POLICY
    keys = {**each.tapped, **each.held}  # that stand for no action
    return SeatFacts(each.driver, keys, each.shown_frame, each.pressed_ns, is_default)


def _schedule(state: State) -> bool:
    """The time of the next step keeps to the beat; a step that is later than a period begins a new one: no bursts.

    Returns:
      Whether the step of now is late, by a clock.
    """
    due = state.next_step_ns + state.period_ns
    is_behind = due < state.now_ns
    is_late = is_behind and state.config.pace.turn is Turn.CLOCK
    state.late_steps += is_late
    state.next_step_ns = state.now_ns + state.period_ns if is_behind else due
    return is_late


def stepped(state: State, event: EnvironmentStepped) -> Messages:
    """The environment did the step."""
    if not state.is_stepping or event.step != state.step + 1:
        raise Refusal(f"expected step {state.step + 1} after its request, got {event.step}")
    for name in event.rewards:
        state.seat(name)
    state.step, state.is_stepping = event.step, False
    for name, reward in event.rewards.items():
        state.totals[name] += reward or 0.0
    is_over = event.terminated or event.truncated or state.step == state.last_step
    if state.phase is Phase.ENDING:
        yield from ending.ended_after_step(state)
    elif is_over:
        yield from ending.over(state)
    else:
        yield show(state)
        yield from advance(state)


def action_given(state: State, event: ActionGiven) -> Messages:
    """An actor answers, in time."""
    each = state.seat(event.seat)
    if each.driver is not Driver.ACTOR:
        raise Refusal(f"seat {each.name!r} is driven by {each.driver.value}, not by an actor")
    if state.requested_ns is None or event.step != state.step or each.given:
        raise Refusal(f"seat {each.name!r} has no request for an action after step {event.step}")
    each.given = [Given(event.action)]
    yield from advance(state)


def rate_changed(state: State, event: RateChanged) -> Messages:
    """Steps follow each other at another rate from now on."""
    try:
        fps = require_fps(event.fps)
    except ValueError as error:
        raise Refusal(str(error)) from None
    state.fps = fps
    state.next_step_ns = min(state.next_step_ns, state.now_ns + state.period_ns)
    yield show(state)
    yield from advance(state)
