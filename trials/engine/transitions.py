"""The table: which events mean something in which phase, and what is done then."""

from collections.abc import Callable
from typing import Any, Final

from rlds_kit.trials.engine import actors, deadlines, ending, events, judging, people, stepping
from rlds_kit.trials.engine.messages import ResetEnvironment
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.engine.state import Messages, Refusal, State, move

Handler = Callable[[State, Any], Messages]


def begin(state: State, event: events.Begin) -> Messages:
    """Has the environment reset."""
    del event
    if state.is_begun:
        raise Refusal("the trial has begun already")
    state.is_begun = True
    yield ResetEnvironment(state.config.seed, state.config.options)


def environment_ready(state: State, event: events.EnvironmentReady) -> Messages:
    """People may begin; programs do at once."""
    del event
    if not state.is_begun:
        raise Refusal("no reset of the environment was requested")
    yield from move(state, Phase.WAITING)
    yield from people.begin_when_ready(state)


_BEFORE: Final = {Phase.WAITING, Phase.COUNTDOWN}
_PLAYED: Final = {Phase.RUNNING, Phase.PAUSED, Phase.CONFIRMING}
_OPEN: Final = {Phase.INITIALIZING, *_BEFORE, *_PLAYED}

EVENTS: Final[dict[type[events.Event], tuple[Handler, set[Phase]]]] = {
    events.Begin: (begin, {Phase.INITIALIZING}),
    events.EnvironmentReady: (environment_ready, {Phase.INITIALIZING}),
    events.EnvironmentStepped: (stepping.stepped, {*_PLAYED, Phase.ENDING}),
    events.EnvironmentFailed: (ending.environment_failed, {*_OPEN, Phase.ENDING}),
    events.Tick: (deadlines.tick, set(Phase)),
    events.SeatTaken: (people.seat_taken, _OPEN),
    events.SeatLeft: (people.seat_left, _OPEN),
    events.DriverChanged: (people.driver_changed, _OPEN),
    events.KeysChanged: (people.keys_changed, _OPEN),
    events.ActionGiven: (stepping.action_given, {Phase.RUNNING}),
    events.ActorFailed: (actors.actor_failed, _OPEN),
    events.Ready: (people.ready, {Phase.WAITING, Phase.PAUSED, Phase.CONFIRMING}),
    events.Pause: (people.pause, {Phase.RUNNING}),
    events.Cancel: (ending.cancel, {Phase.WAITING, Phase.RUNNING, Phase.PAUSED}),
    events.Confirm: (ending.confirm, {Phase.CONFIRMING}),
    events.RateChanged: (stepping.rate_changed, {*_BEFORE, *_PLAYED}),
    events.RewardGiven: (judging.reward_given, {*_PLAYED, Phase.ENDING, Phase.ENDED}),
    events.MessageSent: (judging.message_sent, {*_BEFORE, *_PLAYED}),
    events.Stop: (ending.stop, _OPEN),
}
"""By event: what is done, and in which phases. In every other phase the event is refused and changes nothing."""
