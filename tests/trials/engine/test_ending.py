"""How trials pause, and how they end."""

from typing import Any

import pytest

from rlds_kit.trials import Phase, Status, events, messages
from tests.trials.engine.table import Table, clocked


def played(length: int | None = None, seconds: float = 0.5, **settings: Any) -> Table:
    """A trial that went on for a while."""
    table = Table(clocked(**settings), length)
    table.sit()
    table.wait(seconds)
    return table


@pytest.mark.parametrize(
    ("save", "is_completed", "status"),
    [
        (True, True, Status.COMPLETED),
        (True, False, Status.CANCELLED),
        (False, True, Status.REJECTED),
        (False, False, Status.REJECTED),
    ],
)
def test_what_people_decide(save: bool, is_completed: bool, status: Status) -> None:
    """Kept and done, kept and not done, not wanted; all of them are recorded."""
    table = played(length=3)
    assert table.all(messages.RequestConfirmation) == [messages.RequestConfirmation(is_completed=True, is_over=True)]
    table.send(events.Confirm, "player", save, is_completed)
    assert (table.finish.status, table.finish.steps, table.finish.is_kept) == (status, 3, True)
    assert table.phase() is Phase.ENDED


@pytest.mark.parametrize(
    ("save", "is_completed", "status"),
    [(True, True, Status.COMPLETED), (True, False, Status.CANCELLED), (False, False, Status.REJECTED)],
)
def test_what_people_decide_before_the_first_step_is_kept(save: bool, is_completed: bool, status: Status) -> None:
    """An episode that was not abandoned is kept also without a step: a person was there, and decided."""
    table = Table(clocked(), slow=True)
    table.send(events.SeatTaken, "player", "ann", "window")
    table.send(events.Cancel, "player")
    table.send(events.Confirm, "player", save, is_completed)
    assert (table.finish.status, table.finish.steps, table.finish.is_kept) == (status, 0, True)


def test_cancel_asks_and_suggests_not_completed() -> None:
    """The person may also play on."""
    table = played()
    steps = table.trial.step
    table.send(events.Cancel, "player")
    table.wait(1)
    assert table.all(messages.RequestConfirmation) == [messages.RequestConfirmation(is_completed=False, is_over=False)]
    assert table.trial.step == steps
    table.send(events.Ready, "player")
    table.wait(1)
    assert table.trial.step > steps


def test_an_episode_that_is_over_cannot_go_on() -> None:
    """It must be decided upon."""
    table = played(length=3)
    assert isinstance(table.send(events.Ready, "player")[0], messages.Refused)


def test_without_confirmation_the_end_is_the_end() -> None:
    """As in studies that keep everything."""
    table = played(length=3, is_confirmed=False)
    assert table.finish.status is Status.COMPLETED


def test_pause_and_resume() -> None:
    """A pause adds no steps."""
    table = played()
    steps = table.trial.step
    table.send(events.Pause, "player")
    table.wait(60)
    assert (table.phase(), table.trial.step) == (Phase.PAUSED, steps)
    table.send(events.Ready, "player")
    assert (table.phase(), table.trial.step) == (Phase.RUNNING, steps + 1)


def test_a_pause_begins_when_no_key_is_pressed() -> None:
    """After six seconds; a key in between begins them anew."""
    table = played(seconds=5)
    table.hold("ArrowLeft")
    table.hold()
    table.wait(5.9)
    assert table.phase() is Phase.RUNNING
    table.wait(0.2)
    assert table.phase() is Phase.PAUSED


def test_a_pause_without_end() -> None:
    """The episode is abandoned, and kept."""
    table = played(pause_seconds=100)
    table.send(events.Pause, "player")
    table.wait(101)
    assert (table.finish.status, table.finish.reason, table.finish.is_kept) == (
        Status.ABANDONED,
        "nobody went on",
        True,
    )


def test_a_trial_without_participants() -> None:
    """An episode without a step is not kept."""
    table = Table(clocked(seats_seconds=10))
    table.wait(11)
    assert (table.finish.reason, table.finish.is_kept) == ("nobody came", False)


def test_a_failed_environment_ends_it() -> None:
    """With the reason, and the steps that were done."""
    table = played()
    steps = table.trial.step
    table.send(events.EnvironmentFailed, "it hangs")
    assert (table.finish.status, table.finish.reason, table.finish.steps) == (Status.ABANDONED, "it hangs", steps)
    assert isinstance(table.send(events.Pause, "player")[0], messages.Refused)


def test_a_step_that_is_being_done_is_waited_for() -> None:
    """The end comes after it, so that what is recorded is what was done."""
    table = Table(clocked(), slow=True)
    table.sit()
    table.send(events.Cancel, "player")
    table.send(events.Confirm, "player", save=True, is_completed=False)
    assert (table.phase(), table.all(messages.Finish)) == (Phase.ENDING, [])
    table.answer()
    assert (table.finish.status, table.finish.steps) == (Status.CANCELLED, 1)


def test_an_episode_that_ends_during_the_question_is_over() -> None:
    """The question is asked again, with what is known now."""
    table = Table(clocked(), length=1, slow=True)
    table.sit()
    table.send(events.Cancel, "player")
    table.answer()
    assert table.all(messages.RequestConfirmation)[-1] == messages.RequestConfirmation(is_completed=True, is_over=True)


def test_a_failure_while_ending_keeps_the_decision() -> None:
    """What the person said counts."""
    table = Table(clocked(), slow=True)
    table.sit()
    table.answer()
    table.wait(0.1)
    table.send(events.Cancel, "player")
    table.send(events.Confirm, "player", save=False)
    table.send(events.EnvironmentFailed, "crashed")
    assert table.finish.status is Status.REJECTED


def test_stop_from_outside() -> None:
    """As when the server shuts down."""
    table = played()
    table.send(events.Stop, "the server is shut down")
    assert (table.finish.status, table.finish.reason) == (Status.ABANDONED, "the server is shut down")
