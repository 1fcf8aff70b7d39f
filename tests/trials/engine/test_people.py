"""Seats: taking them, losing them, coming back, programs in between."""

from typing import Any

import pytest

from rlds_kit.trials import Driver, Phase, SeatConfig, Status, events, messages
from tests.trials.engine.table import Table, clocked, player


def drivers(table: Table, seat: str) -> list[str]:
    """Who acted in each step, without repetitions."""
    found = [step.facts[seat].driver.value for step in table.steps]
    return [each for number, each in enumerate(found) if number == 0 or found[number - 1] != each]


def two(**settings: Any) -> Table:
    """Two people, the second of whom a policy can stand in for."""
    table = Table(clocked(seats=[player("a"), player("b", fallback=Driver.POLICY)], idle_seconds=None, **settings))
    table.sit("a", "ann", "1")
    return table


def test_all_seats_are_waited_for() -> None:
    """Then there is a countdown, if one is wanted."""
    table = two(countdown_seconds=5)
    assert table.phase() is Phase.WAITING
    table.sit("b", "bob", "2")
    assert table.phase() is Phase.COUNTDOWN
    table.wait(4.9)
    assert table.steps == []
    table.wait(0.2)
    assert table.phase() is Phase.RUNNING


def test_a_person_leaves_during_the_countdown() -> None:
    table = two(countdown_seconds=5)
    table.sit("b", "bob", "2")
    table.send(events.SeatLeft, "b", "2")
    table.wait(10)
    assert table.phase() is Phase.WAITING


def test_a_program_takes_the_seat_of_who_does_not_come() -> None:
    """After the time for it."""
    table = two(seats_seconds=900)
    table.wait(900)
    table.wait(1)
    assert drivers(table, "b") == ["policy"]


def test_without_a_fallback_the_trial_is_abandoned() -> None:
    """Where the missing person is required."""
    table = Table(clocked(seats=[player("a"), player("b")], seats_seconds=10))
    table.sit("a", "ann", "1")
    table.wait(11)
    assert table.finish.reason == "b did not come"


def test_a_lost_person_is_replaced_without_a_pause_and_comes_back() -> None:
    """With the next step, both times."""
    table = two()
    table.sit("b", "bob", "2")
    table.wait(1)
    steps = table.trial.step
    table.send(events.SeatLeft, "b", "2", is_lost=True)
    table.wait(1)
    assert table.trial.step == steps + 10
    table.send(events.SeatTaken, "b", "bob", "3")
    table.wait(1)
    assert table.trial.step == steps + 20
    assert drivers(table, "b") == ["human", "policy", "human"]
    assert [step.facts["b"].driver.value for step in table.steps].index("policy") == steps


def test_a_lost_person_without_a_fallback_is_waited_for() -> None:
    """The trial pauses, goes on when the person is back and says so, and is abandoned when not."""
    table = Table(clocked(grace_seconds=60))
    table.sit()
    table.wait(1)
    table.send(events.SeatLeft, "player", "window", is_lost=True)
    assert table.phase() is Phase.PAUSED
    table.wait(59)
    table.send(events.SeatTaken, "player", "ann", "new window")
    table.send(events.Ready, "player")
    assert table.phase() is Phase.RUNNING
    table.send(events.SeatLeft, "player", "new window", is_lost=True)
    table.wait(61)
    assert (table.finish.status, table.finish.reason) == (Status.ABANDONED, "player did not come back")


def test_others_cannot_go_on_without_a_person_who_is_waited_for() -> None:
    """They are told for whom the trial waits."""
    table = Table(clocked(seats=[player("a"), player("b")]))
    table.sit("a", "ann", "1")
    table.sit("b", "bob", "2")
    table.send(events.SeatLeft, "b", "2", is_lost=True)
    (refused,) = table.send(events.Ready, "a")
    assert isinstance(refused, messages.Refused)
    assert "waits for b" in refused.reason


def test_a_seat_is_one_persons() -> None:
    """Another person is refused, until the first one is gone for good."""
    table = two(grace_seconds=60)
    table.sit("b", "bob", "2")
    assert isinstance(table.send(events.SeatTaken, "b", "eve", "3")[0], messages.Refused)
    table.send(events.SeatLeft, "b", "2", is_lost=True)
    assert isinstance(table.send(events.SeatTaken, "b", "eve", "3")[0], messages.Refused)
    table.wait(61)
    assert not isinstance(table.send(events.SeatTaken, "b", "eve", "3")[0], messages.Refused)


def test_a_second_window_closes_the_first() -> None:
    """What the first one says when it closes changes nothing."""
    table = Table(clocked())
    table.sit()
    found = table.send(events.SeatTaken, "player", "ann", "second")
    assert messages.Displaced("player", "window") in found
    assert table.send(events.SeatLeft, "player", "window", is_lost=True) == []
    assert table.phase() is Phase.RUNNING


def test_keys_of_who_is_gone_are_released() -> None:
    """A person who is away does not run into a wall for ever."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)], idle_seconds=None))
    table.sit("b", "bob", "2")
    table.sit("a", "ann", "1")
    table.hold("ArrowLeft", seat="b")
    table.wait(0.2)
    table.send(events.SeatLeft, "b", "2", is_lost=True)
    table.wait(0.2)
    assert table.actions("b")[-2:] == [0, 0]


def test_who_holds_a_key_is_there_for_longer() -> None:
    """A car goes straight on for more than a few seconds; a stick that is stuck does not play for ever."""
    table = Table(clocked(idle_seconds=6.0, held_seconds=60.0))
    table.sit()
    table.hold("ArrowLeft")
    table.wait(59)
    assert table.phase() is Phase.RUNNING
    table.wait(2)
    assert table.phase() is Phase.PAUSED
    table.send(events.Ready, "player")
    table.hold("ArrowRight")
    table.wait(1)
    table.hold()
    table.wait(7)
    assert table.phase() is Phase.PAUSED


def test_the_last_person_leaving_ends_it() -> None:
    """Programs do not play on among themselves."""
    table = two()
    table.sit("b", "bob", "2")
    table.wait(1)
    table.send(events.SeatLeft, "b", "2")
    assert table.phase() is Phase.RUNNING
    table.send(events.SeatLeft, "a", "1")
    assert table.finish.reason == "everybody left"


def test_drivers_are_swapped_in_mid_episode() -> None:
    """A person hands over to a program and takes over again."""
    table = Table(clocked(idle_seconds=None))
    table.sit()
    for driver in (Driver.POLICY, Driver.HUMAN):
        table.wait(0.5)
        table.send(events.DriverChanged, "player", driver)
    table.wait(0.5)
    assert drivers(table, "player") == ["human", "policy", "human"]
    assert isinstance(table.send(events.DriverChanged, "player", Driver.HUMAN)[0], messages.Refused)


def test_seats_of_programs_are_not_for_people() -> None:
    """Neither is one that does not exist."""
    table = Table(clocked(seats=[player(), SeatConfig(name="robot", driver=Driver.POLICY)]))
    for seat in ("robot", "nobody"):
        assert isinstance(table.send(events.SeatTaken, seat, "eve", "9")[0], messages.Refused)


@pytest.mark.parametrize("value", [float("nan"), 1.5, float("-inf")])
def test_impossible_keys_are_refused(value: float) -> None:
    """What was held before still is."""
    table = Table(clocked())
    table.sit()
    table.hold("ArrowLeft")
    assert isinstance(table.send(events.KeysChanged, "player", {"ArrowRight": value})[0], messages.Refused)
    table.wait(0.1)
    assert table.actions() == [0, 1]


def test_configurations_that_make_no_sense() -> None:
    """They are refused before anything begins."""
    with pytest.raises(ValueError, match="names of their own"):
        clocked(seats=[player(), player()])
    with pytest.raises(ValueError, match="expected a controller"):
        SeatConfig(name="a")
    with pytest.raises(ValueError, match="as the fallback"):
        player(fallback=Driver.HUMAN)
    with pytest.raises(ValueError, match="max_steps"):
        clocked(max_steps=0)
