"""The way of a participant, from a link to a completion code, over HTTP with real sessions."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.crowd.tasks import code_hash
from rlds_kit.studio.crowd.games import GameError
from rlds_kit.studio.database import crowds
from tests.studio.api.studio import Studio, ok
from tests.studio.crowd.crowds import FILE, GOOD, a_crowd, experimenter, sweep, visitor


def row_of(studio: Studio, person: str) -> dict[str, Any]:
    """What the experimenter sees of a person."""
    people = experimenter(studio).get("/api/crowd")["people"]
    return next(each for each in people if each["id"] == person)


def test_c1_c30_c32_from_a_link_to_a_completion_code(walks: Studio) -> None:
    """Each step leads to the next one; what is paid is counted from the recording; the code is good once."""
    ann = visitor(walks)
    here = ann.come(PROLIFIC_PID="ann1", STUDY_ID="s", SESSION_ID="x1")
    assert (here["stage"], here["name"]) == ("consent", "Walks")
    assert here["consent"]["hash"] == hashlib.sha256(here["consent"]["text"].encode()).hexdigest()
    here = ann.go("consent", accepted=here["consent"]["hash"])
    assert [each["name"] for each in here["form"]] == ["age"]
    assert "expected a number from 18" in ann.is_refused(409, "refused", "POST", "me/answers", {"answers": {"age": 5}})
    assert ann.go("answers", answers={"age": 30})["stage"] == "screening"
    assert ann.go("device", **GOOD)["instructions"] == ["Go right."]
    here = ann.go("instructed")
    assert "correct" not in str(here["form"])
    assert ann.go("check", answers={"goal": "to the right"})["stage"] == "lobby"
    here = ann.go("place")
    assert (here["stage"], here["game"]["title"]) == ("play", "A walk")
    assert "no pay" in ann.is_refused(409, "incomplete", "POST", "me/finish", {})
    ann.walk(3)
    items = ok(ann.ask("GET", "me/values"))
    assert items["items"][0]["text"] == "Score: 6 (required: 5)"
    assert items["earned"]["total"] == "1.00"
    here = ann.go("finish")
    assert (here["stage"], here["earned"]["completion"]) == ("after", 1.0)
    here = ann.go("answers", answers={})
    assert (here["stage"], here["progress"]) == ("done", 1.0)
    code = here["code"]
    assert here["address"] == f"https://app.prolific.com/submissions/complete?cc={code}"
    assert ann.me()["code"] == code
    row = row_of(walks, here["id"])
    assert (row["stage"], row["cents"], row["has_code"], row["consented"] > 0) == ("done", 100, True, True)
    boss = experimenter(walks)
    assert boss.post("/api/crowd/codes", {"code": f" {code.lower()} "})["person"]["id"] == here["id"]
    boss.is_refused(409, "taken", "POST", "/api/crowd/codes", {"code": code})
    boss.is_refused(404, "not_found", "POST", "/api/crowd/codes", {"code": "AAAA-AAAA-AAAA-AAAA"})
    stored = walks.do(crowds.visits, walks.state.parts.desk.row.id)
    assert [each.code_hash for each in stored if each.person.id == here["id"]] == [code_hash(code)]


def test_c37_who_leaves_without_a_word_is_noted_and_comes_back_to_where_they_were(walks: Studio) -> None:
    """To the same question; to the game within the grace time, later to what follows it with what was done."""
    ann, bob = visitor(walks), visitor(walks)
    ann.come()
    ann.go("consent", accepted=ann.me()["consent"]["hash"])
    here = bob.to_the_lobby()
    bob.go("place")
    bob.walk(1)
    desk = walks.state.parts.desk
    for _ in range(2):
        sweep(walks)
        row = row_of(walks, here["id"])
        assert (row["stage"], row["left"], row["completion"]) == ("dropped", "play", 0.2)
        assert desk.book.get(here["id"]).place.task == "walk"
        assert (ann.come()["stage"], bob.me()["stage"]) == ("questions", "play")
        bob.enter()
    sweep(walks)
    now, desk.now = desk.now, lambda: now() + 3600.0
    try:
        assert bob.me()["stage"] == "after"
    finally:
        desk.now = now


def test_quotas_are_filled_and_further_people_are_sent_away(tmp_path: Path) -> None:
    """They may try again when a participant has dropped out."""
    with a_crowd(tmp_path, FILE.replace("target = 100", "target = 1")) as studio:
        ann, bob = visitor(studio), visitor(studio)
        ann.to_the_lobby()
        ann.go("place")
        here = bob.come()
        assert (here["stage"], "enough participants" in here["reason"]) == ("sent away", True)
        assert bob.come()["id"] == here["id"]
        sweep(studio)
        assert bob.come()["stage"] == "consent"


def test_a_file_whose_games_cannot_be_played_is_refused_with_all_its_problems(tmp_path: Path) -> None:
    """Before anybody comes."""
    text = FILE.replace("rlds_kit_tests/Corridor-v0", "rlds_kit_tests/Nothing-v0", 1)
    text += 'seats = 2\nkeys = { left = "KeyJ", up = "KeyI" }\n'
    with pytest.raises(GameError) as caught, a_crowd(tmp_path, text):
        pass
    assert [each.partition(":")[0] for each in caught.value.problems] == ["tasks.walk", "tasks.stroll.keys"]
    again = FILE.replace("play_again = true", "play_again = true\nseats = 2")
    with pytest.raises(GameError, match="seats: expected up to 1"), a_crowd(tmp_path, again):
        pass


def test_a_file_that_has_changed_makes_the_next_version_of_its_studies(tmp_path: Path) -> None:
    """People and recordings stay; keys are those of the file."""
    with a_crowd(tmp_path) as studio:
        ann = visitor(studio)
        here = ann.to_the_lobby()
        study = studio.state.parts.desk.games["walk"].study
    changed = FILE.replace('instructions = "Go right."', 'instructions = "Run."\nkeys = { 1 = ["KeyL"] }')
    with a_crowd(tmp_path, changed) as studio:
        game = studio.state.parts.desk.games["walk"]
        assert (game.study, game.environment.instructions) == (study, "Run.")
        again = visitor(studio)
        again.cookies = ann.cookies
        assert again.me()["id"] == here["id"]
        again.go("place")
        with again.playing() as window:
            window.begin()
            window.press("KeyL", 1)


def test_mistakes_of_a_file_are_listed_before_a_studio_is_opened(tmp_path: Path) -> None:
    """By the command, with the place of each."""
    file = tmp_path / "tasks.toml"
    file.write_text(FILE.replace("target = 100", 'target = "many"'))
    command = ["studio", str(tmp_path / "studio"), "--port", "0", "--no-browser", "--crowd", str(file)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert done.output.count("expected a whole number, 1 or more, got 'many'") == 2
    assert not (tmp_path / "studio").exists()
