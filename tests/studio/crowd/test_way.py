"""The way of a participant, from a link to a completion code, over HTTP with real sessions."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from rlds_kit.crowd.tasks import code_hash
from rlds_kit.studio.database import crowds
from tests.studio.api.studio import Studio, ok
from tests.studio.crowd.crowds import GOOD, a_crowd, experimenter, visitor


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with a crowd; its tests bring people of their own."""
    with a_crowd(tmp_path_factory.mktemp("walks")) as studio:
        yield studio


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
