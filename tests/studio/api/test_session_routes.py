"""Opening, reading and ending sessions."""

import pytest

from rlds_kit.studio.database import sessions
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import WALK, Studio


def test_r6_r7_a_session_is_of_one_person_and_environment(studio: Studio) -> None:
    """The response has what the page shows beside the picture, and the token for the socket."""
    player = studio.person(Role.PARTICIPANT)
    study = studio.study(studio.person())
    environment = study.content.environments[0].id
    made = player.post("/api/sessions", {"study": study.id, "environment": environment})
    assert (made["environment"]["instructions"], made["environment"]["name"]) == ("Go right.", "Walk")
    session = made["session"]
    assert (session["study"], session["environment"]) == (study.id, environment)
    assert (session["ended_ns"], session["is_valid"]) == (None, True)
    assert player.get(f"/api/sessions/{session['id']}")["session"] == session
    ended = player.post(f"/api/sessions/{session['id']}/end")["session"]
    assert ended["ended_ns"] >= session["started_ns"]
    assert player.post(f"/api/sessions/{session['id']}/end")["session"] == ended


def test_r4_a_disabled_study_makes_no_session(studio: Studio) -> None:
    """The response has a text to show, and no row is made; the owner may still try the study."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer, is_enabled=False)
    asked = {"study": study.id, "environment": study.content.environments[0].id}
    before = len(studio.do(sessions.left_open, "studio"))
    assert "not open now" in player.is_refused(403, "forbidden", "POST", "/api/sessions", asked)["message"]
    assert len(studio.do(sessions.left_open, "studio")) == before
    designer.post("/api/sessions", asked)


def test_r16_ids_of_people_are_stable_in_a_study_and_differ_between_studies(studio: Studio) -> None:
    """No person's id is the id of their account."""
    designer, player, other = studio.person(), studio.person(Role.PARTICIPANT), studio.person(Role.PARTICIPANT)
    studies = [studio.study(designer) for _ in range(2)]
    asked = [{"study": each.id, "environment": each.content.environments[0].id} for each in studies]
    again = [player.post("/api/sessions", each)["session"]["agent"] for each in (*asked, asked[0])]
    assert again[0] == again[2] != again[1]
    assert other.post("/api/sessions", asked[0])["session"]["agent"] not in {*again, other.id}


def test_sessions_of_what_is_not_there_are_refused(studio: Studio) -> None:
    """An unknown study, and an environment of another study."""
    player = studio.person(Role.PARTICIPANT)
    study, other = studio.study(studio.person()), studio.study(studio.person(), WALK, WALK)
    elsewhere = other.content.environments[1].id
    for given in ({"study": "0" * 32, "environment": elsewhere}, {"study": study.id, "environment": elsewhere}):
        player.is_refused(404, "not_found", "POST", "/api/sessions", given)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, "study"),
        ({"study": "0" * 31, "environment": "0" * 32}, "study"),
        ({"study": "0" * 32, "environment": 7}, "environment"),
        ({"study": "0" * 32, "environment": "0" * 32, "user": "0" * 32}, "user"),
    ],
)
def test_malformed_sessions_are_refused(studio: Studio, given: dict[str, object], where: str) -> None:
    """The error names the field; no person can open a session for another one."""
    error = studio.person().is_refused(400, "invalid", "POST", "/api/sessions", given)
    assert error["where"] == where
