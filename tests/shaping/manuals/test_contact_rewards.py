"""Rewards of contacts: alignment, sums, confidence."""

import numpy as np
import pytest

from rlds_kit.shaping.manuals import ContactRewards
from tests.shaping.manuals.scripted import Scripted, ram, table


def _rewards() -> ContactRewards:
    return ContactRewards(table(), Scripted())


def test_a_touch_belongs_to_the_action_before_it() -> None:
    """Three steps, one touch, seen in the observation after the second action."""
    rewards = _rewards()
    rewards.reset(ram(50))
    found = [rewards.step(np.stack([ram(place)])) for place in (40, 10, 40)]
    assert [each.value.item() for each in found] == [0.0, 5.0, 0.0]
    assert {each.value.dtype for each in found} == {np.dtype(np.float32)}


def test_what_touches_at_the_start_was_touched_by_no_action() -> None:
    rewards = _rewards()
    rewards.reset(ram(10))
    assert rewards.step(np.stack([ram(10)])).value == 0


def test_every_frame_of_a_step_is_seen() -> None:
    """A touch between two decisions counts, and so do two different ones."""
    rewards = _rewards()
    rewards.reset(ram(50, 50))
    found = rewards.step(np.stack([ram(40, 50), ram(10, 50), ram(40, 50), ram(10, 11)]))
    assert [each.category for each in found.contacts] == ["Ball", "Ball", "Tree"]
    assert found.value == 5 + 5 - 5


def test_confidence_is_zero_where_only_undecided_objects_are_touched() -> None:
    rewards = _rewards()
    rewards.reset(ram(50, 50, 50))
    steps = [rewards.step(np.stack([ram(*places)])) for places in ((50, 50, 10), (50, 50, 50), (10, 50, 11))]
    assert [(each.value.item(), each.confidence) for each in steps] == [(0, 0), (0, 1), (5, 1)]


def test_an_override_changes_the_rewards_and_their_fingerprint() -> None:
    other = ContactRewards(table().override("Ball", "no", "anna"), Scripted())
    other.reset(ram(50))
    assert other.step(np.stack([ram(10)])).value == -5
    assert other.fingerprint != _rewards().fingerprint
    assert ContactRewards(table(), Scripted(), mode="every_frame").fingerprint != _rewards().fingerprint


def test_episodes_do_not_share_contacts() -> None:
    extractor = Scripted()
    rewards = ContactRewards(table(), extractor)
    for _ in range(2):
        rewards.reset(ram(50))
        assert rewards.step(np.stack([ram(10)])).value == 5
    assert extractor.resets == 2


def test_a_table_of_another_game_is_refused() -> None:
    """Its objects would never be touched, and all rewards would be 0."""

    class Chess(Scripted):
        game = "Chess"

    with pytest.raises(ValueError, match="expected an extractor and a table of one game, got Chess and"):
        ContactRewards(table(), Chess())
