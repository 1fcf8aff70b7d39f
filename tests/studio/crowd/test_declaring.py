"""The experimenter edits what the crowd declares while people take part; the file of the crowd does not undo it."""

from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit.studio.crowd.games import GameError
from rlds_kit.studio.database import declarations
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import FILE, Visitor, a_crowd, arriving, experimenter, visitor

PATH = "/api/crowd/declaration"
PAY = 'treatment = { base_cents = 100, requirements = [{ collector = "score", at_least = 5 }] }'
MORE = FILE.replace(PAY, PAY.replace("100", "300")).replace('instructions = "Go right."', 'instructions = "Run."')


def save(studio: Studio, text: str, version: int) -> dict[str, Any]:
    """What the experimenter saves."""
    found: dict[str, Any] = experimenter(studio).put(PATH, {"text": text, "version": version})
    return found


def finished(person: Visitor, steps: int = 3) -> str:
    """What somebody in the game gets who does so many steps."""
    person.walk(steps)
    return str(person.go("finish")["earned"]["total"])


def test_c2_a_saved_version_is_that_of_new_arrivals_at_once_and_past_pay_stays(tmp_path: Path) -> None:
    """Versions have who saved them; episodes name the version under which they were played."""
    with a_crowd(tmp_path) as studio:
        ann, bob, eve = (visitor(studio) for _ in range(3))
        for each in (ann, bob):
            each.to_the_lobby()
            each.go("place")
        assert finished(ann) == "1.00"
        boss = experimenter(studio)
        before = boss.get("/api/crowd/payments")
        assert (boss.get(PATH)["text"], boss.get(PATH)["version"]) == (FILE, 1)
        found = save(studio, MORE, 1)
        assert [(each["number"], each["by"] is None) for each in found["versions"]] == [(1, True), (2, False)]
        assert (found["text"], boss.get(f"{PATH}/1")["text"]) == (MORE, FILE)
        assert boss.get("/api/crowd/payments") == before
        assert eve.to_the_lobby()["stage"] == "lobby"
        eve.go("place")
        assert (finished(bob), finished(eve)) == ("1.00", "3.00")
        game = studio.state.parts.desk.games["walk"]
        assert game.environment.instructions == "Run."
        recorded = rlds_kit.open(tmp_path / "recordings" / game.study / game.environment.id)
        assert [each.metadata["crowd_version"] for each in recorded.episodes] == [1, 2, 2]
        boss.is_refused(404, "not_found", "GET", f"{PATH}/3")


def test_c2_everything_that_is_wrong_is_named_and_nothing_is_saved(tmp_path: Path) -> None:
    """Fields, environments that cannot be made, programs that nobody configured, and what people have."""
    with a_crowd(tmp_path) as studio:
        boss, ann = experimenter(studio), visitor(studio)
        ann.to_the_lobby()
        ann.go("place")
        wrong = {
            "name = ": ["1"],
            FILE.replace("target = 100", "target = 0").replace("attempts = 2", "attempts = true"): [
                *("attempts", "tasks.stroll.target", "tasks.walk.target"),
            ],
            FILE.replace('"Walks"', '"Runs"').replace("tasks.walk", "tasks.hike").replace('["walk"]', '["hike"]'): [
                *("name", "tasks.walk"),
            ],
            FILE.replace("groups.main", "groups.other"): ["groups.main"],
            FILE.replace("rlds_kit_tests/Corridor-v0", "os:getcwd", 1): ["tasks.walk"],
            FILE + 'partner = "os:getcwd"\nmatchmaker = "os:getcwd"\n': [
                *("tasks.stroll.matchmaker", "tasks.stroll.partner"),
            ],
        }
        for text, places in wrong.items():
            found = boss.post(f"{PATH}/check", {"text": text})["problems"]
            if places != ["1"]:
                assert sorted(each.split(":")[0] for each in found) == places
            error = boss.is_refused(422, "declaration", "PUT", PATH, {"text": text, "version": 1})
            assert error["message"] == "\n".join(found)
        assert boss.post(f"{PATH}/check", {"text": MORE})["problems"] == []
        assert [each["number"] for each in boss.get(PATH)["versions"]] == [1]
        assert studio.state.parts.desk.crowd.text == FILE


def test_two_who_edit_at_once_do_not_undo_each_other(tmp_path: Path) -> None:
    """The second gets an error, and must load it again; a group that people came by meanwhile cannot be removed."""
    fewer = FILE.replace('[groups.cards]\nmode = "choose"\n', "")
    with a_crowd(tmp_path) as studio:
        boss = experimenter(studio)
        assert boss.post(f"{PATH}/check", {"text": fewer})["problems"] == []
        visitor(studio).come("cards")
        boss.is_refused(422, "declaration", "PUT", PATH, {"text": fewer, "version": 1})
        save(studio, MORE, 1)
        boss.is_refused(409, "stale", "PUT", PATH, {"text": FILE, "version": 1})
        assert studio.state.parts.desk.version == 2


def test_a_group_that_is_new_is_open_at_once(tmp_path: Path) -> None:
    """By its link."""
    with a_crowd(tmp_path) as studio:
        ann = visitor(studio)
        ann.is_refused(409, "refused", "POST", "arrivals", arriving("late"))
        save(studio, FILE + '[groups.late]\ntasks = ["stroll"]\n', 1)
        assert ann.come("late")["stage"] == "consent"


def test_the_file_follows_its_changes_until_somebody_edits_the_page(tmp_path: Path) -> None:
    """Then the saved version runs, with a notice where the file differs, unless the file is required."""
    other = FILE.replace('instructions = "Go right."', 'instructions = "Walk."')
    with a_crowd(tmp_path):
        pass
    with a_crowd(tmp_path, other) as studio:
        assert [each["by"] for each in experimenter(studio).get(PATH)["versions"]] == [None, None]
        save(studio, MORE, 2)
    for text in (other, FILE):
        with a_crowd(tmp_path, text) as studio:
            found = experimenter(studio).get(PATH)
            assert (found["version"], found["text"], "--take-crowd-file" in found["notice"]) == (3, MORE, True)
    with a_crowd(tmp_path, MORE) as studio:
        assert experimenter(studio).get(PATH)["notice"] == ""
    with a_crowd(tmp_path, other, is_crowd_file_taken=True) as studio:
        found = experimenter(studio).get(PATH)
        assert (found["version"], found["text"], found["notice"]) == (4, other, "")


def test_a_saved_version_that_this_library_does_not_read_is_named(tmp_path: Path) -> None:
    """The file can be taken in its place."""
    with a_crowd(tmp_path) as studio:
        row, boss = studio.state.parts.desk.row, experimenter(studio)
        studio.do(declarations.add, row.id, FILE.replace("target = 100", "goal = 100"), boss.id, 2)
    with pytest.raises(GameError, match=r"version 2 of the crowd.*\n.*goal: there is no such field"), a_crowd(tmp_path):
        pass
    with a_crowd(tmp_path, is_crowd_file_taken=True) as studio:
        assert studio.state.parts.desk.version == 3


def test_another_designer_edits_no_crowd_of_others(walks: Studio) -> None:
    """Nor do they read it."""
    for role in (Role.DESIGNER, Role.REVIEWER, Role.PARTICIPANT):
        other = walks.person(role)
        for method, path, body in (
            ("GET", PATH, None),
            ("GET", f"{PATH}/1", None),
            ("POST", f"{PATH}/check", {"text": FILE}),
            ("PUT", PATH, {"text": FILE, "version": 1}),
        ):
            other.is_refused(403, "forbidden", method, path, body)
