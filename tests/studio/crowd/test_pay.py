"""What people did is paid once, and by what they were shown; nobody loses it by a closed page or another start."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.studio.crowd.games import GameError
from rlds_kit.studio.database import crowds
from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import FILE, Visitor, a_crowd, arriving, experimenter, sweep, visitor
from tests.studio.studio_process import wait_for


def test_who_did_all_and_closed_the_page_has_pay_and_a_code(walks: Studio) -> None:
    """After the grace time they go on to the questions; the code can be redeemed."""
    ann, desk = visitor(walks), walks.state.parts.desk
    ann.to_the_lobby()
    ann.go("place")
    ann.walk(3)
    sweep(walks)
    now, desk.now = desk.now, lambda: now() + 3600.0
    try:
        here = ann.me()
    finally:
        desk.now = now
    assert (here["stage"], here["earned"]["total"]) == ("after", "1.00")
    here = ann.go("answers", answers={})
    assert experimenter(walks).post("/api/crowd/codes", {"code": here["code"]})["person"]["cents"] == 100


def test_a_row_without_the_hash_of_its_code_gets_it_when_the_studio_starts(tmp_path: Path) -> None:
    """An older library dropped people without it."""
    with a_crowd(tmp_path) as studio:
        ann, desk = visitor(studio), studio.state.parts.desk
        ann.to_the_lobby()
        ann.go("place")
        ann.walk(3)
        ann.go("finish")
        here = ann.go("answers", answers={})
        bare = dataclasses.replace(desk[here["id"]], code_hash=None)
        studio.do(crowds.write, desk.row.id, [bare])
    with a_crowd(tmp_path) as studio:
        assert experimenter(studio).post("/api/crowd/codes", {"code": here["code"]})["person"]["id"] == here["id"]


def test_who_is_here_again_while_their_play_is_counted_is_not_dropped(
    walks: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are looked for again when the count is there."""
    ann, playing = visitor(walks), walks.state.parts.playing
    ann.to_the_lobby()
    here = ann.go("place")
    counted = playing.earned

    async def earned(*args: Any) -> Any:
        playing.presence.seen(here["id"])
        return await counted(*args)

    monkeypatch.setattr(playing, "earned", earned)
    sweep(walks)
    assert walks.state.parts.desk[here["id"]].person.stage.value == "play"


def test_who_ends_with_less_than_the_page_showed_plays_on(walks: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was counted a moment before is no longer so when the game has ended."""
    ann, playing = visitor(walks), walks.state.parts.playing
    ann.to_the_lobby()
    ann.go("place")
    ann.walk(1)

    async def all_done(*_: Any) -> float:
        return 1.0

    monkeypatch.setattr(playing, "_completion", all_done)
    ann.is_refused(409, "incomplete", "POST", "me/finish", {})
    ann.walk(3)
    assert ann.go("finish")["earned"]["total"] == "1.00"


def test_pay_for_an_earlier_game_leaves_somebody_in_the_present_one(walks: Studio) -> None:
    """Who plays again goes on when the first game is noted as paid."""
    ann = visitor(walks)
    ann.to_the_lobby("cards")
    ann.go("place", task="stroll")
    ann.walk(3)
    ann.go("finish")
    first = ann.go("answers", answers={})["id"]
    second = ann.me(ann.ask("POST", "arrivals", {**arriving("cards"), "again": True}))["id"]
    experimenter(walks).post("/api/crowd/payments", {"assignments": [first]})
    assert (ann.me()["id"], first != second) == (second, True)


def test_a_file_without_the_task_or_the_group_of_somebody_is_refused(tmp_path: Path) -> None:
    """With how many people have it; who was sent away is refused a group that is not there."""
    text = FILE.replace("target = 100", "target = 1")
    with a_crowd(tmp_path, text) as studio:
        ann, bob = visitor(studio), visitor(studio)
        ann.to_the_lobby()
        ann.go("place")
        assert bob.come()["stage"] == "sent away"
        bob.is_refused(409, "refused", "POST", "arrivals", arriving("nowhere"))
    changed = text.replace("[groups.main]", "[groups.other]").replace("tasks.walk", "tasks.hike")
    changed = changed.replace('"walk"', '"hike"')
    with pytest.raises(GameError, match="walk: expected it, 1 people") as caught, a_crowd(tmp_path, changed):
        pass
    assert [each.partition(":")[0] for each in caught.value.problems] == ["tasks.walk", "groups.main"]


OLD = 'treatment = { base_cents = 100, requirements = [{ collector = "score", at_least = 5 }] }'
TIMED = OLD.replace("5 }]", '5 }, { collector = "time_played", at_least = 0.04 }]')
NEW = """fps = 10
treatment = { base_cents = 300, requirements = [{ collector = "score", at_least = 1 }] }"""


def entries(studio: Studio) -> dict[str, dict[str, Any]]:
    """The ledger, by assignment."""
    return {each["id"]: each for each in experimenter(studio).get("/api/crowd/payments")["entries"]}


def walked(studio: Studio, steps: int) -> Visitor:
    """Somebody who plays, and has done so many steps."""
    person = visitor(studio)
    person.to_the_lobby()
    person.go("place")
    person.walk(steps)
    return person


def again(studio: Studio, before: Visitor) -> Visitor:
    """The same browser, after the studio was started again."""
    return Visitor(studio.client, cookies=before.cookies)


def test_past_pay_stays_when_the_file_has_other_pay_requirements_and_rate(tmp_path: Path) -> None:
    """Who began before is paid by what they were promised, also for what they do afterwards; others by the file."""
    with a_crowd(tmp_path, FILE.replace(OLD, TIMED)) as studio:
        ann, bob = walked(studio, 3), walked(studio, 1)
        assert ann.go("finish")["earned"]["total"] == "1.00"
        # A step counts a moment after its frame was sent.
        wait_for(lambda: all(each["values"]["time_played"] for each in entries(studio).values()))
        before = entries(studio)
    assert sorted(each["values"]["time_played"] for each in before.values()) == pytest.approx([1 / 60, 3 / 60])
    with a_crowd(tmp_path, FILE.replace(OLD, NEW)) as studio:
        assert entries(studio) == before
        ann, bob, eve = again(studio, ann), again(studio, bob), walked(studio, 1)
        assert ann.me()["earned"]["total"] == "1.00"
        bob.is_refused(409, "incomplete", "POST", "me/finish", {})
        bob.walk(3)
        done = bob.go("finish")
        assert entries(studio)[done["id"]]["values"] == {"score": 7.0, "time_played": pytest.approx(1 / 60 + 3 / 10)}
        assert (done["earned"]["total"], eve.go("finish")["earned"]["total"]) == ("1.00", "3.00")


def test_who_plays_goes_on_in_the_same_environment_when_the_file_has_another(tmp_path: Path) -> None:
    """What they did before counts."""
    with a_crowd(tmp_path) as studio:
        ann = walked(studio, 2)
    other = FILE.replace('rlds_kit_tests/Corridor-v0"\npace', 'CartPole-v1"\npace', 1)
    with a_crowd(tmp_path, other) as studio:
        ann = again(studio, ann)
        ann.walk(3)
        done = ann.go("finish")
        found = entries(studio)[done["id"]]
        assert (found["episodes"], found["total_cents"]) == (2, 100)


def test_rows_of_an_older_library_get_the_terms_of_the_next_start(tmp_path: Path) -> None:
    """Which later files do not change."""
    with a_crowd(tmp_path) as studio:
        ann, desk = walked(studio, 3), studio.state.parts.desk
        here = ann.go("finish")
        studio.do(crowds.write, desk.row.id, [dataclasses.replace(desk[here["id"]], terms=None)])
    with a_crowd(tmp_path):
        pass
    with a_crowd(tmp_path, FILE.replace(OLD, NEW)) as studio:
        assert entries(studio)[here["id"]]["total_cents"] == 100


def test_a_file_with_another_currency_than_people_were_promised_is_refused(tmp_path: Path) -> None:
    """Amounts would mean something else."""
    with a_crowd(tmp_path) as studio:
        walked(studio, 1)
    other = FILE.replace('name = "Walks"', 'name = "Walks"\ncurrency = "JPY"')
    with pytest.raises(GameError, match="currency: expected 'USD', 1 people"), a_crowd(tmp_path, other):
        pass
