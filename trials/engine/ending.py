"""How an episode ends: by itself, by a person, or because something failed."""

from rlds_kit.trials.engine.events import Cancel, Confirm, EnvironmentFailed, Stop
from rlds_kit.trials.engine.messages import Finish, RequestConfirmation
from rlds_kit.trials.engine.phase import Phase, Status
from rlds_kit.trials.engine.state import Messages, Refusal, State, facts_of, move


def over(state: State) -> Messages:
    """The environment ended the episode."""
    state.is_over = True
    if not state.config.is_confirmed:
        yield from end(state, Status.COMPLETED, "")
        return
    if state.phase is not Phase.CONFIRMING:
        yield from move(state, Phase.CONFIRMING)
    yield RequestConfirmation(is_completed=True, is_over=True)


def cancel(state: State, event: Cancel) -> Messages:
    """A person cancels, and decides what to do with the steps so far."""
    state.seat(event.seat)
    if not state.config.is_confirmed:
        yield from end(state, Status.CANCELLED, "")
        return
    yield from move(state, Phase.CONFIRMING)
    yield RequestConfirmation(is_completed=False, is_over=False)


def confirm(state: State, event: Confirm) -> Messages:
    """A person decides: saved and completed, saved but not completed, or rejected."""
    state.seat(event.seat)
    saved = Status.COMPLETED if event.is_completed else Status.CANCELLED
    yield from end(state, saved if event.save else Status.REJECTED, "")


def environment_failed(state: State, event: EnvironmentFailed) -> Messages:
    """It crashed or hangs: no step is coming any more."""
    state.is_stepping = False
    status, reason = state.verdict or (Status.ABANDONED, event.reason)
    yield from _finish(state, status, reason)


def stop(state: State, event: Stop) -> Messages:
    """A person outside ends it."""
    if event.is_hard:
        yield from end(state, Status.ABANDONED, event.reason)
    elif state.phase is Phase.RUNNING:
        state.wants_last = True
    else:
        yield from end(state, Status.CANCELLED, event.reason)


def end(state: State, status: Status, reason: str) -> Messages:
    """Ends the episode, after the step that is being done."""
    if state.is_stepping:
        state.verdict = (status, reason)
        yield from move(state, Phase.ENDING, reason)
    else:
        yield from _finish(state, status, reason)


def ended_after_step(state: State) -> Messages:
    """Ends the episode as was decided during its last step."""
    if state.verdict is None:
        raise Refusal("nothing was decided")
    yield from _finish(state, *state.verdict)


def _finish(state: State, status: Status, reason: str) -> Messages:
    yield from move(state, Phase.ENDED, reason)
    is_kept = state.step > 0 or status is not Status.ABANDONED
    yield Finish(status, reason, state.step, dict(state.totals), is_kept, facts_of(state))
