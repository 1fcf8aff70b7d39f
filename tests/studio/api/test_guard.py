"""The middleware before all routes: host names, origins, logins, and rate limits."""

from pathlib import Path

import pytest

from rlds_kit.base.rate_limit import Limit
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import ORIGIN, Studio, ok, opened, refused


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "", "evil.example:80"])
@pytest.mark.parametrize("path", ["/", "/api/about", "/api/me", "/page/app.js"])
def test_a_name_that_the_server_has_not_is_refused(studio: Studio, host: str, path: str) -> None:
    """Another site cannot point its own name at this server to read its data."""
    refused(studio.client.get(path, headers={"Host": host}), 421, "host")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost:8642", "[::1]:80", "studio.example.org"])
def test_names_of_this_machine_and_those_of_the_configuration_are_right(tmp_path: Path, host: str) -> None:
    """With any port: a proxy may listen on another one."""
    with opened(tmp_path, hosts=("studio.example.org",)) as studio:
        ok(studio.client.get("/api/about", headers={"Host": host}))


@pytest.mark.parametrize(
    "path", ["studies/%00", "sessions/%00", "episodes/a%00b", "exports/%00", "episodes?user=%00", "episodes?tag=%00"]
)
def test_addresses_that_no_database_can_look_for_are_refused(studio: Studio, path: str) -> None:
    """Also for PostgreSQL, whose text cannot contain the character 0."""
    studio.person().is_refused(400, "invalid", "GET", f"/api/{path}")


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "https://evil.example",
        "http://127.0.0.1:99",
        "file://127.0.0.1",
        "http://[",
        "http://a@127.0.0.1",
        "http://127.0.0.1/",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/login"), ("PUT", "/api/studies/x"), ("DELETE", "/api/x")])
def test_changes_that_a_page_of_others_sends_are_refused(
    studio: Studio, origin: str | None, method: str, path: str
) -> None:
    """Also without an origin: all browsers send one with requests that change something."""
    person = studio.person()
    headers = {"Cookie": f"{studio.state.signer.cookie}={person.token}"}
    if origin is not None:
        headers["Origin"] = origin
    refused(studio.client.request(method, path, headers=headers, json={}), 403, "origin")


def test_origins_of_the_configuration_may_change_something(tmp_path: Path) -> None:
    """Only exactly these: another port is another origin."""
    with opened(tmp_path, origins=("https://studio.example.org",)) as studio:
        token = {"token": studio.person().token}
        ok(studio.client.post("/api/login", json=token, headers={"Origin": "https://studio.example.org"}))
        answer = studio.client.post("/api/login", json=token, headers={"Origin": "https://studio.example.org:444"})
        refused(answer, 403, "origin")


@pytest.mark.parametrize("given", ["Basic YTpi", "Bearer", "Bearer x", "Bearer é", "x"])
def test_a_header_without_a_valid_login_is_an_error(studio: Studio, given: str) -> None:
    """A program gets an error, instead of being treated as not logged in."""
    refused(studio.client.get("/api/about", headers={b"Authorization": given.encode()}), 401, "bad_token")


def test_the_header_counts_before_the_cookie(studio: Studio) -> None:
    """A program on the machine of a logged-in browser has the account of its header."""
    one, other = studio.person(), studio.person(Role.REVIEWER)
    cookie = {"Cookie": f"{studio.state.signer.cookie}={other.token}"}
    assert ok(one.ask("GET", "/api/me", headers=cookie))["account"]["id"] == one.id


def test_too_many_logins_from_an_address_are_refused(tmp_path: Path) -> None:
    """The response says when to try again; existing logins stay valid."""
    with opened(tmp_path, login_limit=Limit(per_second=0.001, burst=3)) as studio:
        person = studio.person()
        for _ in range(3):
            wrong = studio.client.post("/api/login", json={"token": "x"}, headers={"Origin": ORIGIN})
            refused(wrong, 401, "bad_token")
        answer = studio.client.post("/api/login", json={"token": "x"}, headers={"Origin": ORIGIN})
        refused(answer, 429, "too_many")
        assert int(answer.headers["retry-after"]) > 0
        assert person.get("/api/me")["account"]["id"] == person.id


def test_too_many_requests_of_an_address_are_refused(tmp_path: Path) -> None:
    """For all requests except files of the page."""
    with opened(tmp_path, request_limit=Limit(per_second=0.001, burst=5)) as studio:
        answers = [studio.client.get("/api/about") for _ in range(6)]
        assert [each.status_code for each in answers] == [200] * 5 + [429]
        assert "retry-after" in answers[-1].headers
        assert studio.client.get("/").status_code == studio.client.get("/page/app.js").status_code == 200


def test_too_many_changes_of_a_person_are_refused_and_others_go_on(tmp_path: Path) -> None:
    with opened(tmp_path, change_limit=Limit(per_second=0.001, burst=2)) as studio:
        hasty, patient = studio.person(), studio.person()
        answers = [hasty.ask("POST", "/api/invitations", {"role": "reviewer"}) for _ in range(3)]
        assert [each.status_code for each in answers] == [201, 201, 429]
        hasty.get("/api/me")
        patient.post("/api/invitations", {"role": "reviewer"})


@pytest.mark.parametrize("path", ["/api/nothing", "/api/studies/x/y", "/etc/passwd", "/page/../secret", "/page/app.py"])
def test_what_is_not_there(studio: Studio, path: str) -> None:
    """Unknown paths are 404, and only files of the page are served."""
    assert studio.person().ask("GET", path).status_code == 404


def test_methods_that_a_route_has_not(studio: Studio) -> None:
    """The error is in JSON, too."""
    studio.person().is_refused(405, "method_not_allowed", "DELETE", "/api/me")


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "invalid"),
        (b"{", 400, "invalid"),
        (b"\xff\xfe", 400, "invalid"),
        (b"[" * 100_000, 400, "invalid"),
        (b'{"token": NaN}', 400, "invalid"),
        (b'{"token": "a\\u0000b"}', 400, "invalid"),
        (b'{"token": "\\ud800"}', 400, "invalid"),
        (b'{"token": 1e999}', 400, "invalid"),
        (b'{"token": 9223372036854775808}', 400, "invalid"),
        (b'{"token": ' + b"[" * 33 + b"]" * 33 + b"}", 400, "invalid"),
        (b'"text"', 400, "invalid"),
        (b'{"a":"' + b"x" * (1 << 20) + b'"}', 413, "too_long"),
    ],
)
def test_bodies_that_are_no_json_are_refused(studio: Studio, content: bytes, status: int, code: str) -> None:
    """Text that some database cannot store is refused, and reading a body is limited."""
    answer = studio.client.post("/api/login", content=content, headers={"Origin": ORIGIN})
    refused(answer, status, code)


def test_a_bug_of_the_server_tells_nothing(small_studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response says only that it is an error of the server, without details."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("rlds_kit.studio.database.studies.visible", fail)
    person = small_studio.person()
    small_studio.client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]  # as a server does
    error = person.is_refused(500, "internal", "GET", "/api/studies")
    assert "secret" not in str(error)


def test_answers_are_kept_nowhere(studio: Studio) -> None:
    """They may not be cached: they are for one person, at this time."""
    assert studio.person().ask("GET", "/api/me").headers["cache-control"] == "no-store"


def test_a_database_that_is_gone_is_reported(small_studio: Studio) -> None:
    """The response is 503 with advice until it is back; nothing is changed meanwhile."""
    person = small_studio.person()
    file = small_studio.directory / "studio.db"
    file.rename(file.with_suffix(".away"))
    assert "start it again" in person.is_refused(503, "database", "GET", "/api/studies")["message"]
    file.with_suffix(".away").rename(file)
    assert person.get("/api/studies")["studies"] == []
