"""What holds for all trials, whatever happens in whatever order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.trials import Driver, Pace, SeatConfig, Trial, TrialConfig, Turn, events, messages
from rlds_kit.trials.engine.phase import Phase
from rlds_kit.trials.engine.transitions import EVENTS
from tests.trials.engine.table import SECOND, player

SEATS = st.sampled_from(["a", "b", "c", "nobody"])
CONNECTIONS = st.sampled_from(["1", "2", "3"])
KEYS = st.dictionaries(
    st.sampled_from(["ArrowLeft", "ArrowRight", "Space", "Axis0"]), st.floats(-1, 1) | st.just(float("nan")), max_size=3
)
HAPPENINGS: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just(events.SeatTaken), SEATS, st.sampled_from(["ann", "bob"]), CONNECTIONS),
    st.tuples(st.just(events.SeatLeft), SEATS, CONNECTIONS, st.booleans()),
    st.tuples(st.just(events.DriverChanged), SEATS, st.sampled_from(Driver)),
    st.tuples(st.just(events.KeysChanged), SEATS, KEYS),
    st.tuples(st.just(events.ActionGiven), SEATS, st.integers(0, 3), st.integers(0, 5)),
    st.tuples(st.sampled_from([events.Ready, events.Pause, events.Cancel]), SEATS),
    st.tuples(st.just(events.Confirm), SEATS, st.booleans(), st.booleans()),
    st.tuples(st.just(events.RateChanged), st.floats(0, 70)),
    st.tuples(st.just(events.RewardGiven), st.just("ann"), SEATS, st.floats(-1, 1), st.floats(0, 1.1)),
    st.tuples(st.just(events.MessageSent), SEATS, st.just("hello"), st.just(())),
    st.tuples(st.sampled_from([events.Tick, events.Tick, events.Begin, events.EnvironmentReady])),
    st.just((events.EnvironmentStepped, None, {"a": 1.0}, False, False)),
    st.just((events.EnvironmentStepped, None, {"a": 1.0}, True, False)),
    st.tuples(st.sampled_from([events.EnvironmentFailed, events.Stop]), st.just("reason")),
)
STORIES = st.lists(st.tuples(st.sampled_from([0, 1, SECOND // 50, SECOND, 30 * SECOND]), HAPPENINGS), max_size=60)
CONFIGS = st.builds(
    lambda turn, confirmed, fallback, actor, limit: TrialConfig(
        seats=(
            player("a"),
            player("b", fallback=fallback),
            SeatConfig(name="c", driver=actor, is_required=False),
        ),
        pace=Pace(turn, 10.0),
        is_confirmed=confirmed,
        max_steps=limit,
        countdown_seconds=1.0,
    ),
    st.sampled_from(Turn),
    st.booleans(),
    st.sampled_from([None, Driver.POLICY, Driver.NOBODY]),
    st.sampled_from([Driver.POLICY, Driver.ACTOR, Driver.NOBODY]),
    st.sampled_from([None, 3]),
)


def tell(trial: Trial, now: int, happening: Any) -> tuple[events.Event, list[messages.Message]]:
    """Makes an event of a happening, with the right number where it is a step's."""
    kind, *arguments = happening
    if kind is events.EnvironmentStepped:
        arguments[0] = trial.step + 1
    event = kind(now, *arguments)
    return event, trial.handle(event)


@settings(max_examples=300)
@given(CONFIGS, STORIES)
def test_whatever_happens_the_record_is_well_formed(config: TrialConfig, story: list[Any]) -> None:
    """One step at a time, numbered without gaps; one end, with the number of steps done; no step after it."""
    trial, now, asked, finished = Trial(config), 0, 0, 0
    happenings = [(0, (events.Begin,)), (0, (events.EnvironmentReady,)), *story]
    for wait, happening in happenings:
        now += wait
        event, found = tell(trial, now, happening)
        for message in found:
            if isinstance(message, messages.StepEnvironment):
                assert (message.step, finished) == (trial.step + 1, 0)
                assert message.step == asked + 1
                asked = message.step
            if isinstance(message, messages.Finish):
                finished += 1
                assert message.steps == trial.step
                lost = isinstance(event, events.EnvironmentFailed)
                assert asked - trial.step in ({0, 1} if lost else {0})
    assert finished == (trial.phase is Phase.ENDED)


@given(CONFIGS, STORIES)
def test_a_refused_event_changes_nothing(config: TrialConfig, story: list[Any]) -> None:
    """Not the state, and not when to wake up."""
    trial, now = Trial(config), 0
    for wait, happening in [(0, (events.Begin,)), (0, (events.EnvironmentReady,)), *story]:
        now += wait
        before = repr(trial._state)  # a deep copy takes twenty times as long
        _, found = tell(trial, now, happening)
        if any(isinstance(message, messages.Refused) for message in found):
            assert len(found) == 1
            assert repr(trial._state) == before


@given(CONFIGS, STORIES)
def test_a_trial_that_is_left_alone_ends(config: TrialConfig, story: list[Any]) -> None:
    """If no person or program does anything any more, and the environment answers, its own ticks lead to the end."""
    trial, now, wake, step = Trial(config), 0, None, 0
    for wait, happening in [(0, (events.Begin,)), (0, (events.EnvironmentReady,)), *story]:
        now += wait
        for message in tell(trial, now, happening)[1]:
            wake = message.time_ns if isinstance(message, messages.WakeAt) else wake
            step = message.step if isinstance(message, messages.StepEnvironment) else step
    people = [seat for seat in ("a", "b") if trial._state.seats[seat].connection is not None]
    for seat in people:
        connection = trial._state.seats[seat].connection
        found = trial.handle(events.SeatLeft(now, seat, str(connection), is_lost=False))
        wake = next((each.time_ns for each in found if isinstance(each, messages.WakeAt)), wake)
        step = next((each.step for each in found if isinstance(each, messages.StepEnvironment)), step)
    for _ in range(2000):
        if trial.phase is Phase.ENDED:
            return
        event: events.Event
        if trial._state.is_stepping:
            event = events.EnvironmentStepped(now, trial.step + 1, {})
        else:
            assert wake is not None, trial._state
            now = max(now, wake)
            event = events.Tick(now)
        for message in trial.handle(event):
            wake = message.time_ns if isinstance(message, messages.WakeAt) else wake
    pytest.fail(f"it goes on and on: {trial._state}")


def test_every_event_is_in_the_table() -> None:
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)}
    assert EVENTS.keys() == kinds - {events.Event, events.SeatEvent}


def test_an_event_out_of_place_says_so() -> None:
    """What it was, and where the trial stands."""
    (refused,) = Trial(TrialConfig(seats=(player(),))).handle(events.Pause(0, "player"))
    assert isinstance(refused, messages.Refused)
    assert refused.reason == "Pause means nothing while the trial is initializing"
