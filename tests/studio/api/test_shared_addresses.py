"""Many people behind one address, and many accounts of one person: none of them locks out the others."""

import contextlib
import stat
from pathlib import Path

import pytest

from rlds_kit.base.rate_limit import Limit
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.secret import secret_of
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.play.live_sessions import Guests
from tests.studio.api.studio import ORIGIN, Person, Studio, ok, opened, refused
from tests.studio.api.test_playing import open_session
from tests.studio.api.window import playing

ONCE = Limit(per_second=1e-9, burst=1)
FIVE = Limit(per_second=1e-9, burst=5)
HEADERS = {"Origin": ORIGIN}


def guest(studio: Studio, study: str) -> Person:
    """A person who comes through the link of a study."""
    answer = ok(studio.client.post("/api/login", json={"study": study}, headers=HEADERS))
    studio.client.cookies.clear()
    return Person(studio, answer["account"]["id"], answer["token"])


def test_an_address_that_asks_too_often_does_not_shut_out_who_was_invited(tmp_path: Path) -> None:
    """Visitors without a login and those of an open link share the limit of their address."""
    with opened(tmp_path / "studio", request_limit=FIVE) as studio:
        designer, participant = studio.person(), studio.person(Role.PARTICIPANT)
        visitor = guest(studio, studio.study(designer).id)
        for _ in range(4):
            ok(studio.client.get("/api/about"))
        refused(studio.client.get("/api/about"), 429, "too_many")
        visitor.is_refused(429, "too_many", "GET", "/api/me")
        refused(studio.client.get("/api/me", headers={"Authorization": "Bearer nonsense"}), 429, "too_many")
        for each in (designer, participant):
            for _ in range(5):
                each.get("/api/me")
            each.is_refused(429, "too_many", "GET", "/api/me")  # each has a limit, too


def test_an_address_that_logs_in_too_often_does_not_shut_out_a_link(tmp_path: Path) -> None:
    """A token with a valid signature cannot be a guess; only other attempts count for the address."""
    with opened(tmp_path / "studio", login_limit=ONCE) as studio:
        link = studio.do(login.make_link, studio.person().id)
        study = studio.study(studio.person()).id
        answers = [studio.client.post("/api/login", json={"token": "guess"}, headers=HEADERS) for _ in range(2)]
        refused(answers[0], 401, "bad_token")
        refused(answers[1], 429, "too_many")
        refused(studio.client.post("/api/login", json={"study": study}, headers=HEADERS), 429, "too_many")
        token = studio.state.signer.sign(Kind.LINK, link.id)
        ok(studio.client.post("/api/login", json={"token": token}, headers=HEADERS))
        refused(studio.client.post("/api/login", json={"token": token}, headers=HEADERS), 429, "too_many")


def test_visitors_of_an_open_link_leave_places_to_who_was_invited(tmp_path: Path) -> None:
    """Three visitors with two sessions each fill the share of visitors: a fourth has to wait, but no invited person."""
    with opened(tmp_path / "studio", environments_per_worker=8, guests=Guests(sessions=2, share=0.75)) as studio:
        designer, participant = studio.person(), studio.person(Role.PARTICIPANT)
        study = studio.study(designer)
        with contextlib.ExitStack() as stack:
            codes = []
            for _ in range(4):
                visitor = guest(studio, study.id)
                for _ in range(8):
                    _, token = open_session(visitor, study)
                    codes.append(_enter(stack, studio, token))
            assert codes.count("in") == 6  # of eight places
            assert codes[:8] == ["in", "in", *["sessions"] * 6]
            assert codes[24:] == ["guests"] * 8
            for person in (designer, participant):
                assert _enter(stack, studio, open_session(person, study)[1]) == "in"


def _enter(stack: contextlib.ExitStack, studio: Studio, token: str) -> str:
    """Enters a session, and stays; returns "in", or the reason of a refusal."""
    window = stack.enter_context(playing(studio, token))
    said = window._next()
    assert isinstance(said, dict)
    return "in" if said["type"] == "welcome" else str(said["code"])


@pytest.mark.parametrize("was", [None, 0o644])
def test_only_its_user_reads_the_database(tmp_path: Path, was: int | None) -> None:
    """Also if the directory or the file existed before: the database identifies people."""
    tmp_path.chmod(0o755)
    secret_of(tmp_path)
    if was is not None:
        with opened(tmp_path) as studio:
            studio.person()
        (tmp_path / "studio.db").chmod(was)
    with opened(tmp_path) as studio:
        studio.person()
        files = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("studio.db*")}
        assert "studio.db" in files
        assert {name: oct(mode) for name, mode in files.items() if mode & 0o077} == {}


def test_links_and_logins_are_listed_and_revoked(studio: Studio) -> None:
    """Each person sees and revokes their own; a revoked link is refused, and so is an expired one."""
    designer, other = studio.person(), studio.person()
    link = studio.do(login.make_link, designer.id)
    text = studio.state.signer.sign(Kind.LINK, link.id)
    ok(studio.client.post("/api/login", json={"token": text}, headers=HEADERS))
    studio.client.cookies.clear()
    designer.post("/api/invitations", {"role": "participant", "uses": 3})
    found = designer.get("/api/tokens")["tokens"]
    assert [(each["kind"], each["role"], each["uses"]) for each in found] == [
        ("invitation", "participant", 3),
        ("access", None, None),
        ("link", None, None),
        ("access", None, None),
    ]
    assert [each["is_this"] for each in found] == [False, False, False, True]
    assert found[2]["expires_ns"] - found[2]["created_ns"] == 86400 * 10**9
    other.is_refused(404, "not_found", "DELETE", f"/api/tokens/{link.id}")
    ok(designer.ask("DELETE", f"/api/tokens/{link.id}"))
    refused(studio.client.post("/api/login", json={"token": text}, headers=HEADERS), 404, "not_found")
    designer.is_refused(404, "not_found", "DELETE", f"/api/tokens/{link.id}")
    assert len(designer.get("/api/tokens")["tokens"]) == 3
    refused(studio.client.get("/api/me", headers={"Authorization": f"Bearer {text}"}), 401, "bad_token")
