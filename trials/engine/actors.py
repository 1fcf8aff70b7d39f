"""Actors: programs elsewhere that fail, or are silent."""

from rlds_kit.trials.engine import ending, people, stepping
from rlds_kit.trials.engine.events import ActorFailed
from rlds_kit.trials.engine.phase import Status
from rlds_kit.trials.engine.seat import Driver, Given, Seat
from rlds_kit.trials.engine.state import Messages, Refusal, State


def actor_failed(state: State, event: ActorFailed) -> Messages:
    """An actor is lost, or gave what cannot be done: what is optional does its default action."""
    each = state.seat(event.seat)
    if each.driver is not Driver.ACTOR:
        raise Refusal(f"seat {each.name!r} is driven by {each.driver.value}, not by an actor")
    is_requested = state.requested_ns is not None and event.step == state.step and not each.given
    if not event.is_lost and not is_requested:
        raise Refusal(f"seat {each.name!r} has no request for an action after step {event.step}")
    if each.config.is_required and _fallback(each) is None:
        yield from ending.end(state, Status.ABANDONED, f"{each.name}: {event.reason}")
        return
    if event.is_lost:
        yield people.drive(each, _fallback(each) or Driver.NOBODY)
    else:
        each.given = [Given(each.config.default_action, is_default=True)]
    yield from stepping.advance(state)


def unanswered(state: State) -> Messages:
    """An actor takes too long: what is optional does its default action, what is required ends the trial."""
    silent = [each for each in state.seats.values() if each.driver is Driver.ACTOR and not each.given]
    required = [each.name for each in silent if each.config.is_required and _fallback(each) is None]
    if required:
        yield from ending.end(state, Status.ABANDONED, f"{', '.join(required)} gave no action in time")
        return
    for each in silent:
        yield people.drive(each, _fallback(each) or Driver.NOBODY)
    state.requested_ns = None
    yield from stepping.advance(state)


def _fallback(each: Seat) -> Driver | None:
    """Who acts in place of an actor that failed: never an actor again."""
    return None if each.config.fallback is Driver.ACTOR else each.config.fallback
