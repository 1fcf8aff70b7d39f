"""Rewards for steps of any age, and messages between seats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.trials import events, messages
from rlds_kit.trials.engine.aggregates import mean
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
    assert mean(judgements) == (total / weight if weight else 0.0)


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
    """While there are no steps, rewards and messages would pile up."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)], most_said=2), slow=True)
    table.sit("a", "ann", "1")
    table.send(events.MessageSent, "a", "one")
    table.send(events.MessageSent, "a", "two")
    assert isinstance(table.send(events.MessageSent, "a", "three")[0], messages.Refused)
    table.answer()
    table.wait(1)
    assert [[each.content for each in step.texts] for step in table.steps] == [[], ["one", "two"]]


def test_messages_go_to_others_and_into_the_record() -> None:
    """All others, if no receiver is named."""
    table = Table(clocked(seats=[player("a"), player("b", is_required=False)]))
    table.sit("a", "ann", "1")
    text = messages.DeliverText("a", ("b",), "left!")
    assert text in table.send(events.MessageSent, "a", "left!")
    table.wait(0.2)
    assert [step.texts for step in table.steps] == [(), (text,), ()]


def test_g13_confident_sources_are_averaged_and_none_give_zero() -> None:
    """Cogment's formula exactly: sources without confidence count for nothing, and all of them stay."""
    table = played()
    for source, value, confidence in (("ann", 1.0, 0.0), ("bob", 4.0, 0.25), ("rob", -2.0, 0.75), ("eve", 9.0, 0.0)):
        table.send(events.RewardGiven, source, "a", value, confidence, 1)
    amended = table.all(messages.Amended)
    assert [each.aggregate for each in amended] == [0.0, 4.0, (4.0 * 0.25 - 2.0 * 0.75) / 1.0, -0.5]
    assert [each.judgement.source for each in amended if isinstance(each.judgement, events.RewardGiven)] == [
        "ann",
        "bob",
        "rob",
        "eve",
    ]


@pytest.mark.parametrize(("name", "expected"), [("mean", 0.5), ("sum", 1.0), ("latest", -1.0), ("surest", 2.0)])
def test_g13_other_aggregates_are_chosen_by_name(name: str, expected: float) -> None:
    table = Table(clocked(seats=[player("a")], max_steps=5, aggregate=name))
    table.sit("a", "ann", "1")
    table.wait(1)
    for value, confidence in ((2.0, 1.0), (-1.0, 1.0), (7.0, 0.0)):
        table.send(events.RewardGiven, "ann", "a", value, confidence, 1)
    assert table.all(messages.Amended)[-1].aggregate == expected


def test_g13_an_aggregate_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="one of mean, latest, sum, surest"):
        clocked(aggregate="median")


def test_g12_rewards_and_messages_are_for_all_or_for_a_class() -> None:
    """`*` and `class.*`, as in Cogment; one that matches no seat is refused."""
    seats = [
        player(name, actor_class=of, is_required=name == "a") for name, of in (("a", "cat"), ("b", "cat"), ("c", ""))
    ]
    table = Table(clocked(seats=seats, max_steps=5))
    table.sit("a", "ann", "1")
    table.wait(0.1)
    for receiver in ("*", "cat.*", "b"):
        table.send(events.RewardGiven, "ann", receiver, 1.0, 1.0, 1)
    judged = [
        each.judgement.seat for each in table.all(messages.Amended) if isinstance(each.judgement, events.RewardGiven)
    ]
    assert judged == ["a", "b", "c", "a", "b", "b"]
    for receiver in ("dog.*", ".*", "None.*", "cat"):
        assert isinstance(table.send(events.RewardGiven, "ann", receiver, 1.0, 1.0, 1)[0], messages.Refused)
    for to in ((), ("*",), ("cat.*",), ("cat.*", "c"), ("a",)):
        table.send(events.MessageSent, "a", "hello", to)
    assert [each.to for each in table.all(messages.DeliverText)] == [("b", "c"), ("b", "c"), ("b",), ("b", "c"), ("a",)]


def test_g14_any_past_step_is_judged_and_the_future_is_refused() -> None:
    """Each reward amends its own step, whatever was judged meanwhile."""
    table = played()
    for step in (1, 5, 3, 1):
        table.send(events.RewardGiven, "ann", "a", float(step), 1.0, step)
    assert [(each.step, each.aggregate) for each in table.all(messages.Amended)] == [
        (1, 1.0),
        (5, 5.0),
        (3, 3.0),
        (1, 1.0),
    ]
    for step in (6, 0, -1):
        assert isinstance(table.send(events.RewardGiven, "ann", "a", 1.0, 1.0, step)[0], messages.Refused)
