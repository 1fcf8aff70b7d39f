"""Reviewing tables of manuals in the studio."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.shaping.manuals import InteractionTable, ModelReply, shipped_games, shipped_table
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import Studio, opened


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio; tests use tables of their own."""
    with opened(tmp_path_factory.mktemp("studio")) as made:
        yield made


def _file(studio: Studio, name: str) -> Path:
    return studio.directory / "manuals" / f"{name}.json"


def test_shipped_tables_are_there(studio: Studio) -> None:
    """They are listed before they have a file."""
    found = {each["name"]: each for each in studio.person().get("/api/manuals")["tables"]}
    assert set(shipped_games()) <= found.keys()
    assert found["Breakout"] == {
        "name": "Breakout", "game": "Breakout", "objects": 2, "abstain": 0, "overrides": 0, "problem": ""
    }  # fmt: skip


def test_an_override_is_stored_as_the_command_does(studio: Studio, tmp_path: Path) -> None:
    """With the name of the account; both files are the same byte for byte."""
    ann = studio.person(Role.REVIEWER, "Ann")
    seen = ann.get("/api/manuals/Skiing")
    assert (seen["fingerprint"], seen["can_override"]) == (shipped_table("Skiing").fingerprint, True)
    body = {"object": "Mogul", "verdict": "abstain", "fingerprint": seen["fingerprint"]}
    changed = ann.put("/api/manuals/Skiing/overrides", body)
    (mogul,) = [each for each in changed["table"]["interactions"] if each["object"] == "Mogul"]
    assert (mogul["override"], mogul["overridden_by"], mogul["verdict"]) == ("abstain", "Ann", "no")
    path = tmp_path / "skiing.json"
    shipped_table("Skiing").save(path)
    CliRunner().invoke(
        main, ["manual", "override", str(path), "Mogul", "abstain", "--by", "Ann"], catch_exceptions=False
    )
    assert _file(studio, "Skiing").read_bytes() == path.read_bytes()
    again = {"object": "Mogul", "verdict": None, "fingerprint": changed["fingerprint"]}
    assert ann.put("/api/manuals/Skiing/overrides", again)["fingerprint"] == seen["fingerprint"]


def test_changes_of_others_are_not_overwritten(studio: Studio) -> None:
    """The person must review the changed table first."""
    ann, bob = studio.person(Role.REVIEWER, "Ann"), studio.person(Role.DESIGNER, "Bob")
    seen = ann.get("/api/manuals/Pong")["fingerprint"]
    bob.put("/api/manuals/Pong/overrides", {"object": "Enemy", "verdict": "abstain", "fingerprint": seen})
    body = {"object": "Enemy", "verdict": "no", "fingerprint": seen}
    error = ann.is_refused(409, "stale", "PUT", "/api/manuals/Pong/overrides", body)
    assert "look at it again" in error["message"]
    assert InteractionTable.load(_file(studio, "Pong"))["Enemy"].overridden_by == "Bob"


def test_a_participant_sees_nothing(studio: Studio) -> None:
    someone = studio.person(Role.PARTICIPANT)
    for method, path in (("GET", ""), ("GET", "/Tennis"), ("PUT", "/Tennis/overrides")):
        someone.is_refused(403, "forbidden", method, f"/api/manuals{path}", None if method == "GET" else {})
    assert not _file(studio, "Tennis").exists()


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("Chess", {"object": "King", "verdict": "yes", "fingerprint": ""}, 404, "not_found"),
        ("..%2Fsecret", {"object": "King", "verdict": "yes", "fingerprint": ""}, 404, "not_found"),
        ("Seaquest", {"object": "King", "verdict": "yes", "fingerprint": ""}, 422, "table"),
        ("Seaquest", {"object": "Shark", "verdict": "perhaps", "fingerprint": ""}, 400, "invalid"),
    ],
)
def test_what_is_not_there_is_refused(studio: Studio, path: str, body: object, status: int, code: str) -> None:
    """Names that lead elsewhere, unknown objects and verdicts; no file is made."""
    studio.person().is_refused(status, code, "PUT", f"/api/manuals/{path}/overrides", body)
    assert not _file(studio, "Seaquest").exists()
    assert not _file(studio, "Chess").exists()


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.joinpath("manuals").write_text("", "utf-8")
    with opened(tmp_path) as studio:
        body = {"object": "Enemy", "verdict": "no", "fingerprint": shipped_table("Pong").fingerprint}
        error = studio.person().is_refused(500, "disk", "PUT", "/api/manuals/Pong/overrides", body)
    assert "is there a directory that can be written?" in error["message"]


def test_tables_of_ones_own_are_there(studio: Studio) -> None:
    """With the replies of a model; a damaged file is named, and the others are still listed."""
    reply = ModelReply("tiny", 7, "Judge.", "Hit it?", "<b>Yes</b>", (("Yes", -0.5),))
    table = shipped_table("Breakout")
    own = InteractionTable.from_json(table.to_json().replace('"game": "Breakout"', '"game": "<i>Mine</i>"'))
    studio.directory.joinpath("manuals").mkdir(exist_ok=True)
    InteractionTable(**{**vars(own), "replies": (reply,)}).save(_file(studio, "mine"))
    _file(studio, "broken").write_text("{", "utf-8")
    _file(studio, "half").write_text(json.dumps({"game": "\ud800"}), "utf-8")
    person = studio.person()
    found = {each["name"]: each for each in person.get("/api/manuals")["tables"]}
    assert found["mine"]["game"] == "<i>Mine</i>"
    assert "expected a table of interactions" in found["broken"]["problem"]
    assert person.get("/api/manuals/mine")["table"]["replies"][0]["log_probabilities"] == [["Yes", -0.5]]
    for name in ("broken", "half"):
        person.is_refused(422, "table", "GET", f"/api/manuals/{name}")
