"""Standings are counted once for each play: nobody can make the server count at will."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.leaderboard import FRESH_SECONDS, Leaderboard
from tests.studio.api.studio import Studio, ok
from tests.studio.crowd.crowds import Visitor, a_crowd, visitor

FILE = """
name = "Strolls"
recruitment = ["social", "test"]
[[after]]
name = "mood"
label = "Your mood"
[tasks.stroll]
title = "A stroll"
environment = "rlds_kit_tests/Corridor-v0"
pace = "turns"
target = 100
play_again = true
"""
Counts = list[list[str]]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """Whose episodes are counted from now on, in each count."""
    counts: Counts = []
    count = worth.by_episode

    def by_episode(directory: Path, assignments: Collection[str], *rest: Any) -> Any:
        counts.append(sorted(assignments))
        return count(directory, assignments, *rest)

    monkeypatch.setattr(worth, "by_episode", by_episode)
    return counts


def walked(studio: Studio, steps: int, **parameters: str) -> tuple[Visitor, str]:
    """Somebody who plays, and has done so many steps."""
    person = visitor(studio)
    here = person.come(**parameters)
    person.go("device", width=1200, height=800, has_keyboard=True)
    person.go("instructed")
    person.go("place")
    person.walk(steps)
    return person, str(here["id"])


def standings(person: Visitor) -> list[dict[str, Any]]:
    """What they request."""
    found: list[dict[str, Any]] = ok(person.ask("GET", "me/standings"))["standings"]
    return found


def test_c49_requests_of_those_who_play_count_nothing_and_repeated_ones_count_once(
    tmp_path: Path, counts: Counts
) -> None:
    with a_crowd(tmp_path, FILE) as studio:
        ann, first = walked(studio, 3)
        assert [standings(ann) for _ in range(5)] == [[]] * 5
        assert counts == []
        ann.go("finish")
        assert {standings(ann)[0]["of"] for _ in range(5)} == {1}
        assert counts == [[first]]
        bob, second = walked(studio, 1)
        bob.go("finish")
        assert {standings(bob)[0]["rank"] for _ in range(5)} == {2}
        assert counts[1:] == [[second]]


def test_c49_others_are_counted_again_after_some_seconds_and_only_what_is_new(tmp_path: Path, counts: Counts) -> None:
    """Test users see where they stand, and are not counted for others."""
    with a_crowd(tmp_path, FILE) as studio:
        people = [
            walked(studio, steps, f=kind, participant=kind)
            for steps, kind in ((3, "social"), (1, "social"), (3, "test"))
        ]
        ids = [each[1] for each in people]
        desk, clock = studio.state.parts.desk, [0.0]
        board = Leaderboard(desk, studio.state.settings.recordings, lambda: clock[0])

        def ranks() -> list[tuple[int, int]]:
            portal = studio.client.portal
            assert portal is not None
            found = [portal.call(board.of, desk[each]) for each in ids]
            return [(each[0]["rank"], each[0]["of"]) if each else (0, 0) for each in found]

        people[0][0].go("finish")
        assert ranks() == [(1, 1), (0, 0), (0, 0)]
        people[1][0].go("finish")
        people[2][0].go("finish")
        assert ranks() == [(1, 1), (2, 2), (1, 3)]
        clock[0] = FRESH_SECONDS
        assert ranks() == [(1, 2), (2, 2), (1, 3)]
        assert [*map(len, counts)] == [1, 1, 1]
        people[0][0].go("answers", answers={"mood": "fine"})
        clock[0] *= 2
        assert ranks() == [(1, 2), (2, 2), (1, 3)]
        assert counts[3:] == [[ids[0]]]
