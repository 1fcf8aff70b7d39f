"""The experimenter draws a raffle once, by what was published; the file of payments has winners until they are paid."""

from pathlib import Path
from typing import Any

from rlds_kit.crowd.incentives import commitment, draw_published
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import a_crowd, experimenter, visitor

FILE = """
name = "Tickets"
recruitment = ["laboratory", "test"]
[tasks.stroll]
title = "A stroll"
environment = "rlds_kit_tests/Corridor-v0"
pace = "turns"
target = 100
treatment = { base_cents = 100, tickets = 1, requirements = [{ collector = "score", at_least = 5 }] }
"""
RAFFLE = "/api/crowd/raffle"


def finished(studio: Studio, name: str, steps: int = 3, kind: str = "laboratory") -> str:
    """The assignment of a participant who is done; only with three steps did they do what was required."""
    person = visitor(studio)
    here = person.come(f=kind, participant=name)
    person.go("device", width=1200, height=800, has_keyboard=True)
    person.go("instructed")
    person.go("place")
    person.walk(steps)
    person.go("finish", early=True)
    return str(here["id"])


def drawing(found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request to draw what is shown."""
    return {"commitment": found["commitment"], "phrase": "7 11 23", "prizes": 1, "prize_cents": 5000, **more}


def test_c28_a_raffle_is_drawn_once_from_the_ledger_and_paid_once(tmp_path: Path) -> None:
    """Base pay that was noted before does not take the prize out of the file; nor does an older page note it."""
    with a_crowd(tmp_path, FILE) as studio:
        boss = experimenter(studio)
        boss.is_refused(409, "no_tickets", "POST", RAFFLE, drawing({"commitment": "0" * 64}))
        people = {finished(studio, name): name for name in ("ann", "bob", "eve")}
        finished(studio, "lazy", steps=1)
        finished(studio, "boss", kind="test")
        found = boss.get(RAFFLE)
        assert found["tickets"] == dict.fromkeys(sorted(people), 1)
        assert found["commitment"] == commitment(found["tickets"])
        assert boss.post("/api/crowd/payments", {"assignments": list(people)}) == {"new": 3}
        boss.is_refused(409, "stale", "POST", RAFFLE, drawing({"commitment": "0" * 64}))
        after = boss.post(RAFFLE, drawing(found))
        (winner,) = draw_published(found["tickets"], 1, "7 11 23")
        assert [each["winners"] for each in after["raffles"]] == [[winner]]
        assert (after["raffles"][0]["phrase"], after["tickets"]) == ("7 11 23", {})
        boss.is_refused(409, "no_tickets", "POST", RAFFLE, drawing(found))
        line = f"{people[winner]},{winner},stroll,0.00,0.00,50.00,50.00,USD"
        boss.post("/api/crowd/payments", {"assignments": list(people)})
        assert boss.ask("GET", "/api/crowd/payments.csv").text.splitlines()[1:] == [line]
        zoe = finished(studio, "zoe")
        again = boss.get(RAFFLE)
        assert (again["tickets"], again["raffles"]) == ({zoe: 1}, after["raffles"])
    with a_crowd(tmp_path, FILE) as studio:
        boss = experimenter(studio)
        assert boss.get(RAFFLE) == again
        assert boss.post("/api/crowd/payments", {"assignments": [], "prizes": [winner]}) == {"new": 1}
        rows = boss.ask("GET", "/api/crowd/payments.csv").text.splitlines()[1:]
        assert rows == [f"zoe,{zoe},stroll,1.00,0.00,0.00,1.00,USD"]
        second = boss.post(RAFFLE, drawing(again, prizes=5))
        assert [each["winners"] for each in second["raffles"]] == [[winner], [zoe]]


def test_a_raffle_is_drawn_by_who_runs_the_crowd_only(walks: Studio) -> None:
    """Others do not see its tickets, either."""
    for role in (Role.DESIGNER, Role.REVIEWER, Role.PARTICIPANT):
        other = walks.person(role)
        other.is_refused(403, "forbidden", "GET", RAFFLE)
        other.is_refused(403, "forbidden", "POST", RAFFLE, drawing({"commitment": "0" * 64}))
    experimenter(walks).is_refused(400, "invalid", "POST", RAFFLE, drawing({"commitment": "0" * 64}, prize_cents=0))
