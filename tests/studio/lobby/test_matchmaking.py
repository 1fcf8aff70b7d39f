"""Matchmakers by name: in order, by latency, by group; and programs for those who find nobody."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.crowd.tasks.declaration import MATCHMAKERS
from rlds_kit.studio.lobby.matchmaking import BY_NAME, Waiting, are_groups, by_latency, first_come, matchmaker
from tests.studio.lobby.test_lobby import Waiters, run

PEOPLE = st.lists(
    st.builds(
        Waiting, st.uuids().map(str), st.floats(0, 60), st.none() | st.floats(0, 500), st.sampled_from(["", "a", "b"])
    ),
    max_size=12,
)


def spread(group: tuple[Waiting, ...]) -> float:
    """By how much round trips differ."""
    known = [each.latency_ms for each in group if each.latency_ms is not None]
    return max(known) - min(known) if len(known) == len(group) else math.inf


@given(PEOPLE, st.integers(2, 3), st.floats(0, 200), st.floats(0, 60))
def test_c34_the_closest_play_next_or_somebody_who_waited_too_long(
    people: list[Waiting], size: int, within: float, longest: float
) -> None:
    """Of all groups that there could be: none is closer; and nobody waits where a group is close enough, or late."""
    found = [*by_latency(within, longest)(people, size)]
    every = [*itertools.combinations(people, size)]
    late = [each for each in every if max(one.seconds for one in each) >= longest]
    if not found:
        assert not late
        assert all(spread(each) > within for each in every)
        return
    assert are_groups(found, people, size)
    (group,) = map(tuple, found)
    if late:
        who = max(people, key=lambda each: each.seconds)
        assert max(each.seconds for each in group) == who.seconds
    else:
        assert spread(group) == min(map(spread, every)) <= within


def test_c34_who_waited_too_long_plays_with_those_who_are_closest() -> None:
    """Before others who are closer to each other."""
    waiting = [
        Waiting(name, seconds, latency)
        for name, seconds, latency in (("ann", 9.0, 20.0), ("bob", 8.0, 60.0), ("eve", 7.0, 25.0), ("zoe", 31.0, 300.0))
    ]
    near, far = by_latency(50, 100)(waiting, 2), by_latency(50, 30)(waiting, 2)
    assert [[each.person for each in group] for group in near] == [["ann", "eve"]]
    assert [[each.person for each in group] for group in far] == [["bob", "zoe"]]


@given(PEOPLE, st.integers(1, 4))
def test_c34_groups_by_group_never_mix_and_leave_fewer_than_a_game_of_each(people: list[Waiting], size: int) -> None:
    groups = [tuple(each) for each in matchmaker("group")(people, size)]
    assert are_groups(groups, people, size)
    assert all(len({each.group for each in group}) == 1 for group in groups)
    left = [each.group for each in people if all(each not in group for group in groups)]
    assert all(left.count(name) < size for name in ("", "a", "b"))


def test_names_are_those_that_a_crowd_may_declare() -> None:
    assert BY_NAME == MATCHMAKERS
    assert matchmaker("order") is matchmaker("") is first_come
    with pytest.raises(ModuleNotFoundError):
        matchmaker("distance")


def test_c35_a_program_plays_with_whoever_finds_nobody_of_their_group() -> None:
    """Also where as many people wait as play together; others go on waiting for their group."""

    async def test() -> None:
        here = Waiters(match=matchmaker("group"), fill_seconds=30.0, needed=frozenset())
        ann = here.come("ann", group="a")
        here.time = 10.0
        bob = here.come("bob", group="b")
        here.time = 30.0
        here.lobbies.tick()
        await here.until(lambda: ann.seat)
        assert here.maker.sessions == [{"left": "ann"}]
        eve = here.come("eve", group="b")
        await here.until(lambda: eve.seat)
        assert here.maker.sessions[1] == {"left": "bob", "right": "eve"}
        assert bob.seat == "left"

    run(test)


def test_c34_a_lobby_puts_those_together_whose_round_trips_are_close() -> None:
    """After the longest wait, those who are left."""

    async def test() -> None:
        here = Waiters(match=by_latency(50, 20))
        ann, bob = here.come("ann", latency_ms=20.0), here.come("bob", latency_ms=200.0)
        eve = here.come("eve", latency_ms=40.0)
        await here.until(lambda: eve.seat)
        zoe = here.come("zoe", latency_ms=90.0)
        here.time = 19.0
        here.lobbies.tick()
        await here.settled()
        assert here.maker.sessions == [{"left": "ann", "right": "eve"}]
        here.time = 20.0
        here.lobbies.tick()
        await here.until(lambda: zoe.seat)
        assert ann.seat == "left"
        assert {*here.maker.sessions[1].values()} == {"bob", "zoe"}
        assert bob.seat is not None

    run(test)
