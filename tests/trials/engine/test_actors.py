"""Actors: programs elsewhere that answer, fail, or are silent."""

from typing import Any

from rlds_kit.trials import Driver, Pace, Phase, SeatConfig, Status, TrialConfig, Turn, events, messages
from tests.trials.engine.table import Table, player


def actor(name: str, **settings: Any) -> SeatConfig:
    """A seat for a program."""
    return SeatConfig(**{"name": name, "driver": Driver.ACTOR, "default_action": 9, **settings})


def table(*seats: SeatConfig, **settings: Any) -> Table:
    """A trial without people, as fast as actors answer."""
    return Table(TrialConfig(seats=seats, pace=Pace(Turn.PRESS), is_confirmed=False, **settings))


def test_g5_a_step_waits_for_all_actors_and_counts_by_one() -> None:
    """Nothing is skipped or repeated, whoever answers first."""
    both = table(actor("a"), actor("b"), max_steps=3)
    for step, order in enumerate(("ab", "ba", "ab")):
        for seat in order:
            assert len(both.steps) == step
            both.send(events.ActionGiven, seat, f"{seat}{step}", step)
    assert [(each.step, each.actions) for each in both.steps] == [
        (number + 1, {"a": f"a{number}", "b": f"b{number}"}) for number in range(3)
    ]
    assert both.finish.status is Status.COMPLETED


def test_g7_an_actor_that_fails_ends_the_trial_if_it_is_required() -> None:
    both = table(actor("a"), actor("b", is_required=False))
    both.send(events.ActorFailed, "a", "it fell", 0)
    assert (both.finish.status, both.finish.reason) == (Status.ABANDONED, "a: it fell")


def test_g7_an_optional_actor_that_is_lost_does_its_default_action_from_then_on() -> None:
    both = table(actor("a"), actor("b", is_required=False), max_steps=2)
    both.send(events.ActorFailed, "b", "it fell", 0)
    for step in range(2):
        both.send(events.ActionGiven, "a", 1, step)
    assert both.actions("b") == [9, 9]
    assert [(each.facts["b"].driver, each.facts["b"].is_default) for each in both.steps] == [(Driver.NOBODY, True)] * 2


def test_g7_an_optional_actor_that_errs_once_acts_again() -> None:
    """What it gave cannot be done: its default action is, and the record says so."""
    both = table(actor("a"), actor("b", is_required=False), max_steps=2)
    both.send(events.ActorFailed, "b", "outside", 0, is_lost=False)
    for step, acts in enumerate(("a", "ab")):
        for seat in acts:
            both.send(events.ActionGiven, seat, 1, step)
    assert both.actions("b") == [9, 1]
    assert [(each.facts["b"].driver, each.facts["b"].is_default) for each in both.steps] == [
        (Driver.ACTOR, True),
        (Driver.ACTOR, False),
    ]


def test_g7_a_fallback_acts_for_a_required_actor_that_is_lost() -> None:
    both = table(actor("a", fallback=Driver.POLICY), max_steps=1)
    both.send(events.ActorFailed, "a", "it fell", 0)
    assert both.steps[0].facts["a"].driver is Driver.POLICY
    assert "a" not in both.steps[0].actions


def test_errors_for_other_steps_and_drivers_change_nothing() -> None:
    both = table(actor("a"), actor("b", driver=Driver.POLICY))
    for arguments in (("a", "late", 1, False), ("b", "?", 0), ("c", "?", 0)):
        assert isinstance(both.send(events.ActorFailed, *arguments)[0], messages.Refused)
    assert both.phase() is Phase.RUNNING


def test_g17_a_soft_end_does_one_more_step_and_a_hard_end_none() -> None:
    soft, hard = (table(actor("a")) for _ in range(2))
    for each, is_hard in ((soft, False), (hard, True)):
        each.send(events.ActionGiven, "a", 1, 0)
        each.send(events.Stop, "enough", is_hard=is_hard)
        each.send(events.ActionGiven, "a", 2, 1)
    assert [(each.step, each.is_last) for each in soft.steps] == [(1, False), (2, True)]
    assert (soft.finish.status, soft.finish.steps) == (Status.COMPLETED, 2)
    assert (hard.finish.status, hard.finish.steps, hard.finish.reason) == (Status.ABANDONED, 1, "enough")


def test_g17_the_time_limit_makes_the_next_step_the_last_one() -> None:
    timed = table(actor("a"), max_seconds=5.0)
    timed.send(events.ActionGiven, "a", 1, 0)
    timed.wait(4.9)
    timed.send(events.ActionGiven, "a", 1, 1)
    timed.wait(0.1)
    timed.send(events.ActionGiven, "a", 1, 2)
    assert [each.is_last for each in timed.steps] == [False, False, True]
    assert timed.finish.status is Status.COMPLETED


def test_c36_a_person_is_lost_while_another_actor_thinks() -> None:
    """The program that takes over gets a request of its own, and the step is done when both have answered."""
    both = Table(TrialConfig(seats=(player("p", fallback=Driver.ACTOR), actor("a")), pace=Pace(Turn.CLOCK, 10)))
    both.sit("p")
    assert [each.seat for each in both.all(messages.RequestAction)] == ["a"]
    both.send(events.SeatLeft, "p", "window", is_lost=True)
    assert {each.seat for each in both.all(messages.RequestAction)} == {"a", "p"}
    both.send(events.ActionGiven, "a", 1, 0)
    both.send(events.ActionGiven, "p", 2, 0)
    assert both.steps[0].actions == {"p": 2, "a": 1}


def test_c37_a_person_who_comes_back_does_not_wait_for_the_program() -> None:
    """The next step is done when it is due, whether the program still thinks or not."""
    alone = Table(TrialConfig(seats=(player("p", fallback=Driver.ACTOR),), pace=Pace(Turn.CLOCK, 10)))
    alone.sit("p")
    alone.send(events.SeatLeft, "p", "window", is_lost=True)
    alone.wait(0.1)
    done = len(alone.steps)
    alone.send(events.SeatTaken, "p", "ann", "another window")
    alone.wait(0.3)
    assert len(alone.steps) > done
    assert alone.steps[-1].facts["p"].driver is Driver.HUMAN
