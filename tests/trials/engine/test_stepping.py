"""When steps are done, and with which actions."""

import pytest

from rlds_kit.trials import Driver, Pace, Phase, SeatConfig, TrialConfig, Turn, events, messages
from tests.trials.engine.table import SECOND, Table, clocked, player, turns


def test_c7_the_clock_gives_the_rate() -> None:
    """Ten seconds at 15 a second are 150 steps, the first one at once."""
    table = Table(clocked(15.0, idle_seconds=None))
    table.sit()
    table.wait(10 - 1e-3)
    assert len(table.steps) == 150


def test_nothing_moves_before_the_person_is_ready() -> None:
    """A trial with a clock begins paused, as it were."""
    table = Table(clocked())
    table.send(events.SeatTaken, "player", "ann", "window")
    table.wait(3)
    assert (table.steps, table.phase()) == ([], Phase.WAITING)


def test_what_is_held_is_done_and_nothing_held_is_the_default() -> None:
    """At every tick of the clock."""
    table = Table(clocked())
    table.sit()
    table.hold("ArrowLeft")
    table.wait(0.2)
    table.hold()
    table.wait(0.2)
    assert table.actions() == [0, 1, 1, 0, 0]
    assert [step.facts["player"].is_default for step in table.steps] == [True, False, False, True, True]


def test_a_short_tap_is_not_lost() -> None:
    """A key that went down and up between two steps counts in the next one, once."""
    table = Table(clocked())
    table.sit()
    table.hold("ArrowRight")
    table.hold()
    table.wait(0.2)
    assert table.actions() == [0, 2, 0]


def test_c7_a_late_step_makes_no_burst() -> None:
    """An environment that took a second is not made up for, but counted."""
    table = Table(clocked(idle_seconds=None), slow=True)
    table.sit()
    table.wait(1)
    table.answer()
    table.answer()
    table.wait(0.05)
    assert not table.is_asked()
    table.wait(0.05)
    assert table.is_asked()
    assert len(table.steps) == 3


@pytest.mark.parametrize("presses", [1, 3, 10])
def test_every_press_is_a_step(presses: int) -> None:
    """As many steps as presses; a release, or a key that means nothing, is none."""
    table = Table(turns(Turn.PRESS))
    table.sit()
    for _ in range(presses):
        table.hold("ArrowLeft")
        table.hold("ArrowLeft")  # a key that repeats itself
        table.hold()
        table.hold("KeyX")
        table.hold()
    table.wait(5)
    assert table.actions() == [1] * presses


def test_presses_during_a_slow_step_are_done_one_after_another() -> None:
    """With what was held, and seen, at each press."""
    table = Table(turns(Turn.PRESS), slow=True)
    table.sit()
    for frame, key in enumerate(("ArrowLeft", "ArrowRight", "ArrowLeft")):
        table.hold(key, frame=frame)
        table.hold()
    for _ in range(3):
        table.answer()
    assert table.actions() == [1, 2, 1]
    assert [step.facts["player"].shown_frame for step in table.steps] == [0, 1, 2]


def test_a_chord_is_a_new_press() -> None:
    """Its second key makes a step with both."""
    table = Table(turns(Turn.PRESS))
    table.sit()
    table.hold("ArrowLeft")
    table.hold("ArrowLeft", "Space")
    assert table.actions() == [1, 3]


def test_held_keys_go_on_making_steps() -> None:
    """At the rate at most, until they are released."""
    table = Table(turns(Turn.HOLD))
    table.sit()
    table.hold("ArrowLeft")
    table.wait(0.45)
    table.hold()
    table.wait(1)
    assert table.actions() == [1] * 5


def test_keys_must_be_released_between_steps() -> None:
    """Where the turn asks for it: a second key while one is held does nothing."""
    table = Table(turns(Turn.RELEASE))
    table.sit()
    table.hold("ArrowLeft")
    table.hold("ArrowLeft", "ArrowRight")
    table.hold("ArrowRight")
    table.hold()
    table.hold("ArrowRight")
    assert table.actions() == [1, 2]


def test_two_people_in_turn_wait_for_each_other() -> None:
    """A step is done when both have said what to do."""
    table = Table(turns(Turn.PRESS, [player("a"), player("b")]))
    table.sit("a", "ann", "1")
    table.sit("b", "bob", "2")
    table.hold("ArrowLeft", seat="a")
    assert table.steps == []
    table.hold("ArrowRight", seat="b")
    assert [dict(step.actions) for step in table.steps] == [{"a": 1, "b": 2}]


def test_a_policy_beside_the_environment_is_left_to_it() -> None:
    """Its action is not in the message."""
    table = Table(clocked(seats=[player(), SeatConfig(name="robot", driver=Driver.POLICY)]))
    table.sit()
    assert dict(table.steps[0].actions) == {"player": 0}
    assert table.steps[0].facts["robot"] == messages.SeatFacts(Driver.POLICY)


def test_actors_are_asked_before_each_step() -> None:
    """The step waits for their answer; an answer for another step is refused."""
    table = Table(clocked(seats=[player(), SeatConfig(name="far", driver=Driver.ACTOR)]))
    table.sit()
    assert table.all(messages.RequestAction) == [messages.RequestAction("far", 0)]
    assert table.steps == []
    assert isinstance(table.send(events.ActionGiven, "far", 7, 3)[0], messages.Refused)
    table.send(events.ActionGiven, "far", 7, 0)
    assert table.actions("far") == [7]
    assert isinstance(table.send(events.ActionGiven, "far", 8, 0)[0], messages.Refused)


@pytest.mark.parametrize(
    ("settings", "outcome"),
    [
        ({"is_required": False}, "nobody"),
        ({"fallback": Driver.POLICY}, "policy"),
        ({}, "abandoned"),
    ],
)
def test_an_actor_that_does_not_answer(settings: dict[str, object], outcome: str) -> None:
    """What is optional does its default action, a fallback takes over, what is required ends the trial."""
    far = SeatConfig(name="far", driver=Driver.ACTOR, default_action=5, **settings)  # type: ignore[arg-type]
    table = Table(clocked(seats=[player(), far], idle_seconds=None))
    table.sit()
    table.wait(10)
    if outcome == "abandoned":
        assert table.finish.reason == "far gave no action in time"
        assert not table.finish.is_kept
    else:
        assert table.steps[0].facts["far"].driver.value == outcome
        assert table.steps[0].actions.get("far") == (5 if outcome == "nobody" else None)


def test_steps_are_numbered_without_gaps() -> None:
    """An environment that skips one, or does one twice, is refused."""
    table = Table(clocked(), slow=True)
    table.sit()
    assert isinstance(table.send(events.EnvironmentStepped, 2, {})[0], messages.Refused)
    table.answer()
    assert isinstance(table.send(events.EnvironmentStepped, 1, {})[0], messages.Refused)
    assert table.trial.step == 1


def test_the_limit_of_steps() -> None:
    """The last step says that it is the last, and the episode is over after it."""
    table = Table(clocked(max_steps=3))
    table.sit()
    table.wait(2)
    assert [step.is_last for step in table.steps] == [False, False, True]
    assert table.phase() is Phase.CONFIRMING


def test_the_rate_changes_at_once() -> None:
    """Every step says at which it is done, so that nothing piles up until the end."""
    table = Table(clocked(2.0, idle_seconds=None), length=100)
    table.sit()
    table.wait(1)
    before = len(table.steps)
    table.send(events.RateChanged, 50.0)
    table.wait(1)
    assert len(table.steps) - before in {49, 50, 51}
    table.send(events.Stop, "enough")
    assert [step.fps for step in table.steps[:before]] == [2.0] * before
    assert {step.fps for step in table.steps[before:]} == {50.0}
    assert "rates" not in table.finish.facts


@pytest.mark.parametrize("fps", [0.0, 61.0, float("nan"), float("inf")])
def test_impossible_rates_are_refused(fps: float) -> None:
    """One to sixty a second."""
    table = Table(clocked())
    assert isinstance(table.send(events.RateChanged, fps)[0], messages.Refused)
    with pytest.raises(ValueError, match="frames a second"):
        Pace(Turn.CLOCK, fps)


def test_a_clock_that_jumps_back_does_no_harm() -> None:
    table = Table(clocked())
    table.now = 5 * SECOND
    table.sit()
    table.now = 0
    table.hold("ArrowLeft")
    table.now = 5 * SECOND
    table.wait(0.1)
    assert table.actions() == [0, 1]


def test_a_step_that_ends_in_a_pause_does_not_take_its_reason_away() -> None:
    """Whoever is shown the state anew still reads why it paused; one that goes on has no reason."""
    table = Table(clocked(), slow=True)
    table.sit()
    table.send(events.Pause, "player")
    table.answer()
    table.send(events.RateChanged, 20.0)
    table.send(events.Ready, "player")
    paused = [each.reason for each in table.all(messages.ShowState) if each.phase is Phase.PAUSED]
    assert paused == ["player paused"] * 3
    assert table.all(messages.ShowState)[-1].reason == ""


@pytest.mark.parametrize("turn", Turn)
def test_who_hands_over_can_follow_and_take_over(turn: Turn) -> None:
    """A program acts at the rate, also where a person makes steps; afterwards these wait for the person again."""
    table = Table(turns(turn, idle_seconds=None))
    table.sit()
    table.send(events.DriverChanged, "player", Driver.POLICY)
    table.wait(1 - 1e-3)
    assert len(table.steps) == 10
    table.send(events.DriverChanged, "player", Driver.HUMAN)
    done = len(table.steps)
    if turn is not Turn.CLOCK:
        table.wait(1)
        assert len(table.steps) == done
    table.hold("ArrowRight")
    table.wait(0.1)
    assert table.steps[-1].actions == {"player": 2}


def test_programs_alone_need_no_people() -> None:
    """They begin when the environment is ready."""
    seats = (SeatConfig(name="robot", driver=Driver.POLICY),)
    table = Table(TrialConfig(seats=seats, pace=Pace(Turn.PRESS), is_confirmed=False), length=7)
    assert (table.finish.status.value, table.finish.steps) == ("completed", 7)
