"""The experimenter's page over HTTP: who is where, pay and its files, messages, pause, close, and erasing somebody."""

import pytest
from sqlalchemy import Connection, select

from rlds_kit.studio.database import tables
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.play.host import NotAdmittedError
from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import arriving, experimenter, visitor


def test_c26_c30_pay_is_counted_from_recordings_and_nobody_is_paid_twice(walks: Studio) -> None:
    """Test users are in no file; who ended early gets nothing, and no code."""
    boss = experimenter(walks)
    before = boss.get("/api/crowd")
    ann, bob, eve = (visitor(walks) for _ in range(3))
    ann.to_the_lobby(PROLIFIC_PID="paid1", STUDY_ID="s", SESSION_ID="x")
    ann.go("place")
    ann.walk(3)
    ann.go("finish")
    done = ann.go("answers", answers={"mood": -5, "remarks": '=HYPERLINK("x")'})
    bob.to_the_lobby(f="social")
    bob.go("place")
    bob.walk(1)
    assert "% of the task" in bob.is_refused(409, "incomplete", "POST", "me/finish", {})
    bob.go("finish", early=True)
    early = bob.go("answers", answers={})
    assert (early["stage"], early["code"], early["earned"]["total"]) == ("done", "", "0.00")
    eve.to_the_lobby(f="test", participant="eve")
    eve.go("place")
    eve.walk(3)
    eve.go("finish")
    last = eve.go("answers", answers={})
    file = boss.ask("GET", "/api/crowd/payments.csv").text.splitlines()
    assert f"paid1,{done['id']},walk,1.00,0.00,0.00,1.00,USD" in file
    assert not [line for line in file if early["id"] in line or "eve" in line]
    entries = {each["id"]: each for each in boss.get("/api/crowd/payments")["entries"]}
    assert entries[done["id"]]["values"] == {"score": 6.0}
    assert boss.post("/api/crowd/payments", {"assignments": [done["id"]]}) == {"new": 1}
    assert boss.post("/api/crowd/payments", {"assignments": [done["id"]]}) == {"new": 0}
    assert done["id"] not in boss.ask("GET", "/api/crowd/payments.csv").text
    answers = boss.ask("GET", "/api/crowd/answers.csv").text
    assert f"{done['id']},walk,1.0,30,-5,\"'=HYPERLINK" in answers
    assert last["id"] not in answers
    after = boss.get("/api/crowd")
    assert after["stages"]["done"] - before["stages"].get("done", 0) == 2
    completed = [
        next(each for each in found["tasks"] if each["name"] == "walk")["completed"] for found in (before, after)
    ]
    assert completed[1] - completed[0] == pytest.approx(1.2)


def test_c31_what_identifies_somebody_is_in_one_table_and_is_erased(walks: Studio) -> None:
    """The platform's id, answers, device and messages; they are logged out, and cannot take part again unseen."""
    boss, ann = experimenter(walks), visitor(walks)
    here = ann.to_the_lobby(f="laboratory", participant="desk7")
    ann.ask("POST", "me/texts", {"text": "my name is Ann"})
    found = boss.get(f"/api/crowd/people/{here['id']}")
    assert (found["participant"], found["sent"]["answers"]["before"]) == ("desk7", {"age": 30})
    assert found["sent"]["texts"][0]["text"] == "my name is Ann"

    def everything(connection: Connection) -> str:
        rows = [connection.execute(select(each)).all() for each in tables.METADATA.sorted_tables]
        return str(rows)

    assert {"desk7" in walks.do(everything), "my name is Ann" in walks.do(everything)} == {True}
    assert boss.ask("DELETE", f"/api/crowd/people/{here['id']}/personal").is_success
    assert {"desk7" in walks.do(everything), "my name is Ann" in walks.do(everything)} == {False}
    assert boss.get(f"/api/crowd/people/{here['id']}")["sent"] == {}
    assert ann.ask("GET", "me").status_code == 401


def test_everything_pauses_and_nobody_new_comes_into_a_crowd_that_is_closed(walks: Studio) -> None:
    """A game that is played ends with its steps; afterwards its person plays on in another session."""
    boss, ann, bob = experimenter(walks), visitor(walks), visitor(walks)
    ann.to_the_lobby()
    ann.go("place")
    with ann.playing() as window:
        window.begin()
        window.press("ArrowRight", 1)
        boss.put("/api/crowd/state", {"paused": True, "closed": True})
        window.until("notice", code="ended")
    assert ann.me()["is_paused"]
    ann.is_refused(409, "paused", "POST", "me/enter", {})
    bob.is_refused(409, "refused", "POST", "arrivals", arriving())
    boss.put("/api/crowd/state", {"paused": False, "closed": False})
    ann.walk(3)
    assert ann.go("finish")["earned"]["completion"] == 1.0
    bob.come()


def test_messages_reach_one_or_everybody_who_is_here(walks: Studio) -> None:
    """Those who come later do not see old ones."""
    boss, ann, bob = experimenter(walks), visitor(walks), visitor(walks)
    here = ann.come()
    bob.come()
    boss.post("/api/crowd/messages", {"text": "Only for Ann", "person": here["id"]})
    boss.post("/api/crowd/messages", {"text": "For all"})
    assert [each["text"] for each in ann.me()["messages"]] == ["Only for Ann", "For all"]
    assert [each["text"] for each in bob.me()["messages"]] == ["For all"]
    assert visitor(walks).come()["messages"] == []


def test_somebody_who_lost_their_browser_comes_back_with_a_link(walks: Studio) -> None:
    """The experimenter makes it; the platform's id alone is not enough, with that of the participation it is."""
    boss, ann = experimenter(walks), visitor(walks)
    here = ann.come(f="laboratory", participant="desk9")
    lost = visitor(walks)
    same = {"f": "laboratory", "participant": "desk9"}
    assert "another browser" in lost.is_refused(409, "refused", "POST", "arrivals", arriving(**same))
    token = boss.post(f"/api/crowd/people/{here['id']}/link")["token"]
    answer = walks.client.post("/api/login", json={"token": token}, headers={"Origin": "http://127.0.0.1"})
    lost.cookies = dict(answer.cookies)
    assert lost.me(lost.ask("POST", "arrivals", {"group": "main", "parameters": {}}))["id"] == here["id"]
    prolific = {"PROLIFIC_PID": "two", "STUDY_ID": "s", "SESSION_ID": "mine"}
    first = visitor(walks).come(**prolific)
    assert visitor(walks).come(**prolific)["id"] == first["id"]


def test_another_designer_runs_no_crowd_of_others(walks: Studio) -> None:
    """Nor does a reviewer."""
    for role in (Role.DESIGNER, Role.REVIEWER, Role.PARTICIPANT):
        other = walks.person(role)
        other.is_refused(403, "forbidden", "GET", "/api/crowd")
        other.is_refused(403, "forbidden", "PUT", "/api/crowd/state", {"paused": True, "closed": True})


def test_nobody_plays_with_an_earlier_token_while_everything_pauses(walks: Studio) -> None:
    """It is good again when the crowd goes on."""
    boss, ann = experimenter(walks), visitor(walks)
    ann.to_the_lobby()
    ann.go("place")
    token, host, portal = ann.enter(), walks.state.parts.playing.host, walks.client.portal
    assert portal is not None
    boss.put("/api/crowd/state", {"paused": True, "closed": False})
    try:
        with pytest.raises(NotAdmittedError, match="pauses"):
            portal.call(host.admit, token)
    finally:
        boss.put("/api/crowd/state", {"paused": False, "closed": False})
    assert portal.call(host.admit, token).seat == "player"
