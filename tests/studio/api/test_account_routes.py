"""Logging in and out, invitations, and the account of a login."""

import time

import pytest

from rlds_kit.studio.accounts import login
from rlds_kit.studio.database import studies, tokens, users
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind
from tests.studio.api.studio import ORIGIN, Person, Studio, ok, opened, refused

HEADERS = {"Origin": ORIGIN}


def log_in(studio: Studio, **given: object) -> Person:
    """Logs a user in as a page does, and stores the token instead of the cookie."""
    answer = ok(studio.client.post("/api/login", json=given, headers=HEADERS))
    studio.client.cookies.clear()
    return Person(studio, answer["account"]["id"], answer["token"])


@pytest.mark.parametrize("name", ["a\nb", "a\tdesigner", "\x1b[2J", "a\x7f", "a\u2028b", "\x9b31m"])
def test_names_that_would_change_a_terminal_are_refused(studio: Studio, name: str) -> None:
    """`rlds-kit studio-users` lists names, one account per line."""
    study = studio.study(studio.person())
    for given in ({"name": name}, {"participant": name}):
        answer = studio.client.post("/api/login", json={"study": study.id, **given}, headers=HEADERS)
        refused(answer, 400, "invalid")
    person = log_in(studio, study=study.id, name="李 Ünal 👩‍🚀")
    assert person.get("/api/me")["account"]["name"] == "李 Ünal 👩‍🚀"


def test_only_who_runs_a_studio_can_read_its_files(small_studio: Studio) -> None:
    """Its database identifies people."""
    assert small_studio.directory.stat().st_mode & 0o077 == 0


def test_about_needs_no_login(studio: Studio) -> None:
    """A page requests the kind of its server before it requests the account."""
    about = ok(studio.client.get("/api/about"))
    assert about["mode"] == "studio"
    assert about["version"]


def test_r42_a_link_logs_in_and_the_cookie_keeps_it(studio: Studio) -> None:
    """The cookie is only sent for this server's pages, and scripts cannot read it."""
    person = studio.person(Role.REVIEWER, "Rita")
    answer = studio.client.post("/api/login", json={"v": 1, "token": person.token}, headers=HEADERS)
    cookie = answer.headers["set-cookie"].lower()
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}
    assert ok(studio.client.get("/api/me"))["account"] == {"id": person.id, "role": "reviewer", "name": "Rita"}
    ok(studio.client.post("/api/logout", headers=HEADERS))
    refused(studio.client.get("/api/me"), 401, "login")


def test_a_link_of_another_account_does_not_replace_a_login(studio: Studio) -> None:
    """Else a user who follows one would record in the account of its maker; the user's own links still work."""
    ann, eve = studio.person(Role.PARTICIPANT, "Ann"), studio.person(Role.PARTICIPANT, "Eve")
    cookie = {**HEADERS, "Cookie": f"{studio.state.signer.cookie}={ann.token}"}
    answer = studio.client.post("/api/login", json={"token": eve.token}, headers=cookie)
    assert "logged in as Ann" in refused(answer, 409, "other_login")["message"]
    assert "set-cookie" not in answer.headers
    ok(studio.client.post("/api/login", json={"token": ann.token}, headers=cookie))
    studio.client.cookies.clear()


def test_logging_out_ends_the_login_everywhere(studio: Studio) -> None:
    """A copied cookie is invalid afterwards; other logins of the person stay valid."""
    person = studio.person()
    copied = log_in(studio, token=person.token)
    copied.post("/api/logout")
    copied.is_refused(401, "bad_token", "GET", "/api/me")
    assert person.get("/api/me")["account"]["id"] == person.id


def test_a_cookie_of_another_time_is_as_none(studio: Studio) -> None:
    """A browser that still has one gets the login page, not an error."""
    person = studio.person()
    studio.do(tokens.revoke, studio.state.signer.read(Kind.ACCESS, person.token))
    cookie = {"Cookie": f"{studio.state.signer.cookie}={person.token}"}
    refused(studio.client.get("/api/me", headers=cookie), 401, "login")


def test_a_login_expires(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired token is refused, and its row is deleted at the next start."""
    made = studio.do(login.link, studio.person().id)
    token = studio.state.signer.sign(Kind.ACCESS, made.token.id)
    later = time.time_ns() + int(login.LOGIN_SECONDS * 1e9) + 1
    monkeypatch.setattr("rlds_kit.studio.database.tables.now_ns", lambda: later)
    refused(studio.client.get("/api/me", headers={"Authorization": f"Bearer {token}"}), 401, "bad_token")
    studio.do(tokens.forget_expired)
    monkeypatch.undo()
    refused(studio.client.get("/api/me", headers={"Authorization": f"Bearer {token}"}), 401, "bad_token")


def test_r42_an_invitation_makes_as_many_accounts_as_it_says(studio: Studio) -> None:
    """Each has the role that the designer chose; then the invitation is used up."""
    invitation = studio.person().post("/api/invitations", {"role": "reviewer", "uses": 2, "days": 1})["invitation"]
    made = [log_in(studio, invitation=invitation, name=name) for name in ("Rita", "Rob")]
    assert [each.get("/api/me")["account"]["role"] for each in made] == ["reviewer", "reviewer"]
    assert made[0].id != made[1].id
    again = studio.client.post("/api/login", json={"invitation": invitation, "name": "Ron"}, headers=HEADERS)
    refused(again, 404, "not_found")


def test_an_address_has_one_account(studio: Studio) -> None:
    """A second account is refused, and does not use up the invitation."""
    invitation = studio.person().post("/api/invitations", {"role": "participant", "uses": 2})["invitation"]
    log_in(studio, invitation=invitation, name="Eve", email="Eve@Example.org")
    given = {"invitation": invitation, "name": "Eva", "email": "eve@example.org"}
    refused(studio.client.post("/api/login", json=given, headers=HEADERS), 409, "taken")
    log_in(studio, invitation=invitation, name="Eva", email="eva@example.org")


def test_r5_r42_the_link_of_a_study_makes_a_participant(studio: Studio) -> None:
    """With a name or without; each login makes a new account."""
    study = studio.study(studio.person())
    named, anonymous = log_in(studio, study=study.id, name="Pat"), log_in(studio, study=study.id)
    assert named.get("/api/me")["account"] == {"id": named.id, "role": "participant", "name": "Pat"}
    assert anonymous.get("/api/me")["account"]["name"] == ""
    assert anonymous.get(f"/api/studies/{study.id}")["study"]["can_play"]


def test_r4_the_link_of_a_disabled_study_makes_no_account(studio: Studio) -> None:
    """The error says that the study is not open; no account is made."""
    study = studio.study(studio.person(), is_enabled=False)
    before = len(studio.do(users.everybody))
    answer = studio.client.post("/api/login", json={"study": study.id}, headers=HEADERS)
    assert "not open" in refused(answer, 403, "forbidden")["message"]
    refused(studio.client.post("/api/login", json={"study": "0" * 32}, headers=HEADERS), 404, "not_found")
    assert len(studio.do(users.everybody)) == before


def test_r16_a_participant_of_another_service_is_one_person_in_published_data(studio: Studio) -> None:
    """Its id is the same from two browsers, and differs between studies; a login cannot read the other's session."""
    owner = studio.person()
    first, second = studio.study(owner), studio.study(owner)
    ours, theirs = (log_in(studio, study=first.id, participant="P-17") for _ in range(2))
    other = log_in(studio, study=first.id, participant="P-18")
    assert ours.id != theirs.id

    def session(person: Person, study: studies.Study) -> dict[str, str]:
        asked = {"study": study.id, "environment": study.content.environments[0].id}
        found: dict[str, str] = person.post("/api/sessions", asked)["session"]
        return found

    assert session(ours, first)["agent"] == session(theirs, first)["agent"]
    assert session(ours, second)["agent"] != session(ours, first)["agent"]
    assert session(other, first)["agent"] != session(ours, first)["agent"]
    theirs.is_refused(403, "forbidden", "GET", f"/api/sessions/{session(ours, first)['id']}")


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, "the body"),
        ({"name": "Pat"}, "the body"),
        ({"token": "t", "name": "Pat"}, "the body"),
        ({"invitation": "i"}, "the body"),
        ({"invitation": "i", "name": "Pat", "study": "0" * 32}, "the body"),
        ({"study": "0" * 32, "email": "a@b"}, "the body"),
        ({"study": "zz"}, "study"),
        ({"token": 3}, "token"),
        ({"token": "t", "role": "designer"}, "role"),
        ({"invitation": "i", "name": " "}, "name"),
        ({"invitation": "i", "name": "Pat", "email": "nobody"}, "email"),
    ],
)
def test_malformed_logins_are_refused(studio: Studio, given: dict[str, object], where: str) -> None:
    """The error names the part."""
    error = refused(studio.client.post("/api/login", json=given, headers=HEADERS), 400, "invalid")
    assert error["message"].startswith(where)


@pytest.mark.parametrize("token", ["x", "a.b", "é", "x" * 500])
def test_tokens_without_a_signature_are_refused(studio: Studio, token: str) -> None:
    """Neither tokens nor invitations without a signature are accepted."""
    refused(studio.client.post("/api/login", json={"token": token}, headers=HEADERS), 401, "bad_token")
    given = {"invitation": token, "name": "Pat"}
    refused(studio.client.post("/api/login", json=given, headers=HEADERS), 401, "bad_token")


def test_a_token_is_good_for_its_purpose_only(studio: Studio) -> None:
    """A login is not accepted as an invitation, nor an invitation as a login, nor the token of a session as either."""
    designer = studio.person()
    study = studio.study(designer)
    asked = {"study": study.id, "environment": study.content.environments[0].id}
    of_session = designer.post("/api/sessions", asked)["token"]
    invitation = designer.post("/api/invitations", {"role": "participant"})["invitation"]
    for token in (of_session, invitation):
        refused(studio.client.post("/api/login", json={"token": token}, headers=HEADERS), 401, "bad_token")
    given = {"invitation": designer.token, "name": "Pat"}
    refused(studio.client.post("/api/login", json=given, headers=HEADERS), 401, "bad_token")


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, "role"),
        ({"role": "owner"}, "role"),
        ({"role": "reviewer", "uses": 0}, "uses"),
        ({"role": "reviewer", "uses": True}, "uses"),
        ({"role": "reviewer", "days": 0}, "days"),
        ({"role": "reviewer", "days": 1e9}, "days"),
    ],
)
def test_malformed_invitations_are_refused(studio: Studio, given: dict[str, object], where: str) -> None:
    """The error names the part."""
    error = studio.person().is_refused(400, "invalid", "POST", "/api/invitations", given)
    assert error["where"] == where


def test_logins_of_two_studios_are_distinguished(studio: Studio, small_studio: Studio) -> None:
    """Each has a secret and a cookie of its own."""
    assert studio.state.signer.cookie != small_studio.state.signer.cookie
    answer = small_studio.client.get("/api/me", headers={"Authorization": f"Bearer {studio.person().token}"})
    refused(answer, 401, "bad_token")


def test_logins_outlive_the_server(small_studio: Studio) -> None:
    """The secret and the account are in the directory of the studio."""
    person = small_studio.person(Role.REVIEWER, "Rita")
    small_studio.client.__exit__()
    with opened(small_studio.directory) as again:
        assert Person(again, person.id, person.token).get("/api/me")["account"]["name"] == "Rita"
    small_studio.client.__enter__()
