"""Rewards for steps of any age, and messages between seats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.trials import events, messages
from rlds_kit.trials.engine.judging import aggregate
from tests.trials.engine.table import Table, clocked, player


def played() -> Table:
    """Five steps."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)], max_steps=5))
    table.sit("a", "ann", "1")
    table.wait(1)
    return table


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(0, 1)), max_size=6))
def test_judgements_are_weighted_by_confidence(judgements: list[tuple[float, float]]) -> None:
    """Sum of values times confidences, over the sum of confidences; 0 without any."""
    weight = sum(confidence for _, confidence in judgements)
    total = sum(value * confidence for value, confidence in judgements)
    assert aggregate(judgements) == (total / weight if weight else 0.0)


def test_any_step_that_was_done_can_be_judged() -> None:
    """By several, also when the episode has ended; the latest if none is named."""
    table = played()
    table.send(events.RewardGiven, "ann", "a", 1.0, 0.5, 2)
    table.send(events.Confirm, "a", save=True)
    table.send(events.RewardGiven, "bob", "a", -1.0, 0.5, 2)
    table.send(events.RewardGiven, "bob", "b", 3.0)
    assert [(each.step, each.aggregate) for each in table.all(messages.Amended)] == [(2, 1.0), (2, 0.0), (5, 3.0)]


@pytest.mark.parametrize(
    ("value", "confidence", "step", "seat"),
    [
        (1.0, 1.0, 6, "a"),
        (1.0, 1.0, 0, "a"),
        (1.0, 1.0, -1, "a"),
        (float("nan"), 1.0, 1, "a"),
        (1.0, 1.5, 1, "a"),
        (1.0, -1.0, 1, "a"),
        (1.0, -1e-9, 1, "a"),
        (1.0, float("-inf"), 1, "a"),
        (1.0, float("nan"), 1, "a"),
        (1.0, 1.0, 1, "nobody"),
    ],
)
def test_impossible_judgements_are_refused(value: float, confidence: float, step: int, seat: str) -> None:
    """Future steps, unknown seats, values and confidences that are none."""
    table = played()
    assert isinstance(table.send(events.RewardGiven, "ann", seat, value, confidence, step)[0], messages.Refused)
    assert table.all(messages.Amended) == []


def test_refused_confidence_leaves_the_mean_as_it_was() -> None:
    """With -1 beside 1 the weights would cancel, and with -1 alone the reward would change its sign."""
    table = played()
    for confidence in (1.0, -1.0, 0.0, 1.0):
        table.send(events.RewardGiven, "ann", "a", 4.0, confidence, 1)
    assert [each.aggregate for each in table.all(messages.Amended)] == [4.0, 4.0, 4.0]


def test_before_the_first_step_there_is_nothing_to_judge() -> None:
    table = Table(clocked(), slow=True)
    table.sit()
    assert isinstance(table.send(events.RewardGiven, "ann", "player", 1.0)[0], messages.Refused)


def test_an_episode_gets_a_limited_number_of_rewards() -> None:
    """What exceeds is refused, and says where steps can still be judged; nothing of it stays in memory."""
    table = Table(clocked(seats=[player("a")], max_steps=5, most_rewards=3))
    table.sit("a", "ann", "1")
    table.wait(1)
    for _ in range(3):
        table.send(events.RewardGiven, "ann", "a", 1.0)
    (refused,) = table.send(events.RewardGiven, "bob", "a", 1.0)
    assert isinstance(refused, messages.Refused)
    assert "3 rewards" in refused.reason
    assert "replayed" in refused.reason
    assert len(table.all(messages.Amended)) == 3


def test_a_limited_number_of_messages_waits_for_a_step() -> None:
    """While nobody makes a step, what is said would pile up."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)], most_said=2), slow=True)
    table.sit("a", "ann", "1")
    table.send(events.MessageSent, "a", "one")
    table.send(events.MessageSent, "a", "two")
    assert isinstance(table.send(events.MessageSent, "a", "three")[0], messages.Refused)
    table.answer()
    table.wait(1)
    assert [[each.content for each in step.texts] for step in table.steps] == [[], ["one", "two"]]


def test_messages_go_to_others_and_into_the_record() -> None:
    """All others, if nobody is named."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)]))
    table.sit("a", "ann", "1")
    text = messages.DeliverText("a", ("b",), "left!")
    assert text in table.send(events.MessageSent, "a", "left!")
    table.wait(0.2)
    assert [step.texts for step in table.steps] == [(), (text,), ()]
