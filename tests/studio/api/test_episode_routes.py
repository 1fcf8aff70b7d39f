"""The table of episodes: which account sees which, filters, order and pages; and deleting."""

from typing import Any

import pytest

from rlds_kit.studio.database import episodes, sessions, tables
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.studies import Study
from rlds_kit.trials import Status
from tests.studio.api.studio import Person, Studio

INF = float("inf")


def add(
    studio: Studio,
    study: Study,
    player: Person,
    status: Status | None = Status.COMPLETED,
    total: float = 1.0,
    steps: int = 3,
) -> str:
    """An episode, the only one of its session; without a status it is being played."""
    environment = study.content.environments[0].id
    agent = tables.new_id()
    session = studio.do(sessions.add, study.id, environment, player.id, agent, "studio")
    made = tables.new_id()
    studio.do(episodes.begin, made, tables.new_id(), 0, session, 1, session.directory)
    if status is not None:
        studio.do(episodes.finish, made, status, "because", steps, total)
    return made


def ids(person: Person, query: str = "") -> list[str]:
    """What is listed."""
    return [each["id"] for each in person.get(f"/api/episodes{query}")["episodes"]]


def test_r28_a_row_says_what_was_played(studio: Studio) -> None:
    """It has all that the table shows, and what the account may do with it; people are anonymous ids."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer)
    made = add(studio, study, player)
    row = designer.get(f"/api/episodes/{made}")["episode"]
    assert row["public_id"] not in {made, row["user"], player.id}
    expected = {
        "id": made,
        "study": study.id,
        "study_version": 1,
        "number": 0,
        "environment_name": "Walk",
        "status": "completed",
        "reason": "because",
        "steps": 3,
        "total_reward": 1.0,
        "tags": [],
        "is_own": False,
        "can_tag": True,
        "can_delete": True,
    }
    assert expected.items() <= row.items()
    assert player.id not in str(row)
    assert player.get(f"/api/episodes/{made}")["episode"]["is_own"]


def test_r28_each_role_sees_what_it_may(studio: Studio) -> None:
    """Players see what they played; designers also what was played in their studies; reviewers see everything."""
    designer, other, player = studio.person(), studio.person(), studio.person(Role.PARTICIPANT)
    mine, theirs = studio.study(designer), studio.study(other)
    played, elsewhere, own = add(studio, mine, player), add(studio, theirs, player), add(studio, theirs, designer)
    assert set(ids(player)) == {played, elsewhere}
    assert set(ids(designer)) == {played, own}
    assert ids(designer, "?user=me") == [own]
    assert {played, elsewhere, own} <= set(ids(studio.person(Role.REVIEWER)))
    assert ids(studio.person(Role.PARTICIPANT)) == []


def test_r28_filters(studio: Studio) -> None:
    """By study, session, status (several), person and tag, and all of these together."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    first, second = studio.study(designer), studio.study(designer)
    good, bad = add(studio, first, player), add(studio, first, player, Status.REJECTED)
    late = add(studio, second, player, Status.CANCELLED)
    studio.do(episodes.set_tags, good, ["odd", "nice 🎮"])
    row = designer.get(f"/api/episodes/{bad}")["episode"]
    assert set(ids(designer, f"?study={first.id}")) == {good, bad}
    assert ids(designer, f"?session={row['session']}") == [bad]
    assert set(ids(designer, "?status=completed&status=cancelled")) == {good, late}
    assert ids(designer, f"?user={row['user']}") == [bad]
    assert ids(designer, "?tag=nice 🎮") == [good]
    assert ids(designer, "?tag=nice") == []
    assert ids(designer, f"?study={first.id}&status=completed&tag=odd") == [good]
    assert designer.get(f"/api/episodes/{good}")["episode"]["tags"] == ["nice 🎮", "odd"]


def test_r28_pages_and_order(studio: Studio) -> None:
    """Pages of one order do not overlap, and have the total number."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer)
    made = [add(studio, study, player, steps=number % 3, total=-number) for number in range(7)]
    pages = [designer.get(f"/api/episodes?size=3&page={page}") for page in range(4)]
    assert [len(each["episodes"]) for each in pages] == [3, 3, 1, 0]
    assert {each["total"] for each in pages} == {7}
    assert [row["id"] for each in pages for row in each["episodes"]] == made[::-1]
    assert ids(designer, "?sort=started") == made
    assert ids(designer, "?sort=total_reward") == made[::-1]
    steps = [row["steps"] for row in designer.get("/api/episodes?sort=-steps")["episodes"]]
    assert steps == sorted(steps, reverse=True)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("study=x", "study"),
        ("status=won", "status.0"),
        ("page=-1", "page"),
        ("page=1e3", "page"),
        ("size=501", "size"),
        ("size=0", "size"),
        ("sort=name;drop table", "sort"),
        ("page=1&page=2", "page"),
        ("owner=me", "owner"),
    ],
)
def test_malformed_queries_are_refused(studio: Studio, query: str, where: str) -> None:
    """The error names the part."""
    error = studio.person().is_refused(400, "invalid", "GET", f"/api/episodes?{query}")
    assert error["where"] == where


@pytest.mark.parametrize(("total", "shown"), [(float("nan"), None), (INF, "inf"), (-INF, "-inf")])
def test_rewards_that_are_no_numbers_do_no_harm(studio: Studio, total: float, shown: Any) -> None:
    """JSON cannot represent them; they are text or null, and the table can still be shown."""
    designer = studio.person()
    made = add(studio, studio.study(designer), designer, total=total)
    assert designer.get(f"/api/episodes/{made}")["episode"]["total_reward"] == shown
    assert ids(designer, "?sort=-total_reward") == [made]


def test_r29_who_recorded_an_episode_deletes_it_and_so_does_the_owner_of_the_study(studio: Studio) -> None:
    """Others are refused; a deleted episode is not in any table or replay any more."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer)
    first, second = add(studio, study, player), add(studio, study, player)
    for stranger in (studio.person(), studio.person(Role.PARTICIPANT), studio.person(Role.REVIEWER)):
        stranger.is_refused(403, "forbidden", "DELETE", f"/api/episodes/{first}")
    for who, episode in ((player, first), (designer, second)):
        assert who.ask("DELETE", f"/api/episodes/{episode}").is_success
        who.is_refused(404, "not_found", "GET", f"/api/episodes/{episode}")
        who.is_refused(404, "not_found", "GET", f"/api/replay/{episode}")
        who.is_refused(404, "not_found", "DELETE", f"/api/episodes/{episode}")
    assert ids(designer) == []


def test_r29_an_episode_that_is_being_played_is_not_deleted(studio: Studio) -> None:
    designer = studio.person()
    made = add(studio, studio.study(designer), designer, None)
    designer.is_refused(409, "stale", "DELETE", f"/api/episodes/{made}")
    assert designer.get(f"/api/episodes/{made}")["episode"]["status"] == "recording"
