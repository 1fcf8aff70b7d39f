"""Every route checks the permission for its row: each role, with its own rows and those of others."""

import itertools
import re
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Connection
from starlette.routing import Route

from rlds_kit.shaping.manuals import shipped_table
from rlds_kit.studio.application import ROUTES
from rlds_kit.studio.database import episodes, sessions, studies, tables
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.studies import Content
from rlds_kit.trials import Status
from tests.studio.api.studio import WALK, Person, Studio

DESIGNER, PARTICIPANT, REVIEWER = Role.DESIGNER, Role.PARTICIPANT, Role.REVIEWER
OVERRIDE = {"object": "Tree", "verdict": None, "fingerprint": shipped_table("Skiing").fingerprint}
STUDY = {"v": 1, "name": "n", "environments": [{"name": "e", "environment": "rlds_kit_tests/Corridor-v0"}]}


@pytest.fixture(scope="module", name="people")
def everybody(studio: Studio) -> dict[Role | str, Person]:
    """One of each role, and of others a designer and a participant."""
    roles: dict[Role | str, Role] = {"owner": DESIGNER, "player": PARTICIPANT, **{role: role for role in Role}}
    return {who: studio.person(role) for who, role in roles.items()}


@dataclass(frozen=True)
class Rows:
    """What there is: a study, with a session and an episode in it."""

    study: str
    environment: str
    session: str
    episode: str


def rows(connection: Connection, owner: Person, player: Person, *, is_enabled: bool) -> Rows:
    """A study of one person, played by another."""
    study = studies.add(connection, owner.id, Content(name="S", environments=(WALK,)))
    studies.enable(connection, study.id, is_enabled)
    environment = study.content.environments[0].id
    session = sessions.add(connection, study.id, environment, player.id, "0" * 32, "studio")
    episode = tables.new_id()
    episodes.begin(connection, episode, tables.new_id(), 0, session, 1, session.directory)
    episodes.finish(connection, episode, Status.COMPLETED, "", 3, 1.0)
    return Rows(study.id, environment, session.id, episode)


# By route: what is sent, and who may, by a letter for the owner of the rows: "o" own study, and own play there;
# "s" others play in the own study; "p" own play in a study of others; "e" all belongs to others, and the study is
# enabled; "x" the same, and it is not.
ROUTE: dict[str, tuple[dict[str, Any] | None, dict[Role, str]]] = {
    "GET /api/studies/{study}": (None, {DESIGNER: "osep", PARTICIPANT: "ep", REVIEWER: "epx"}),
    "PUT /api/studies/{study}": ({**STUDY, "version": 1}, {DESIGNER: "os"}),
    "PUT /api/studies/{study}/state": ({"enabled": True}, {DESIGNER: "os"}),
    "GET /api/studies/{study}/sessions": (None, {DESIGNER: "osep", PARTICIPANT: "ep", REVIEWER: "epx"}),
    "POST /api/sessions": ({"study": "{study}", "environment": "{environment}"}, dict.fromkeys(Role, "osep")),
    "GET /api/sessions/{session}": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "GET /api/sessions/{session}/participations": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "POST /api/sessions/{session}/look": ({}, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "POST /api/sessions/{session}/end": ({}, dict.fromkeys(Role, "op")),
    "GET /api/episodes/{episode}": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "DELETE /api/episodes/{episode}": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "op"}),
    "GET /api/replay/{episode}": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "GET /api/replay/{episode}/annotations": (None, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
    "POST /api/replay/{episode}/annotations": ({}, {DESIGNER: "osp", PARTICIPANT: "op", REVIEWER: "osepx"}),
}
# By route without a row: who may.
ROLES: dict[str, tuple[dict[str, Any] | None, set[Role]]] = {
    "POST /api/studies": (STUDY, {DESIGNER}),
    "GET /api/studies": (None, set(Role)),
    "GET /api/environments": (None, {DESIGNER}),
    "GET /api/environments/{name}/schema": (None, {DESIGNER}),
    "POST /api/environments/check": ({"environments": STUDY["environments"]}, {DESIGNER}),
    "POST /api/environments/controls": ({"environment": STUDY["environments"][0]}, {DESIGNER}),  # type: ignore[index]
    "POST /api/environments/seats": ({"environment": STUDY["environments"][0]}, {DESIGNER}),  # type: ignore[index]
    "GET /api/manuals": (None, {DESIGNER, REVIEWER}),
    "GET /api/manuals/{manual}": (None, {DESIGNER, REVIEWER}),
    "PUT /api/manuals/{manual}/overrides": (OVERRIDE, {DESIGNER, REVIEWER}),
    "POST /api/invitations": ({"role": "reviewer"}, {DESIGNER}),
    "GET /api/tokens": (None, set(Role)),
    "GET /api/episodes": (None, set(Role)),
    "GET /api/me": (None, set(Role)),
    "POST /api/logout": ({}, set(Role)),
}
OWN = {"DELETE /api/tokens/{token}"}  # only the account's own; see test_shared_addresses.py
OPEN = {"GET /api/about", "POST /api/login", "GET /api/open-studies/{study}"}


def test_every_route_of_the_server_is_here() -> None:
    """The tables below are complete; the replay has tests of its own."""
    known = {each.replace("{name}", "{environment:path}") for each in (*ROUTE, *ROLES, *OPEN, *OWN)}
    routes = [each for each in ROUTES if isinstance(each, Route)]
    assert len(routes) == len(ROUTES)
    found = {f"{method} {route.path}" for route in routes for method in route.methods or () if method != "HEAD"}
    assert found == {each for each in known if "/api/replay/" not in each}


def _cases() -> list[tuple[str, Role, str]]:
    """Only designers have studies of their own."""
    return [
        case for case in itertools.product(ROUTE, Role, "osepx") if case[1] is DESIGNER or case[2] not in {"o", "s"}
    ]


@pytest.mark.parametrize(("route", "role", "whose"), _cases())
def test_r3_r35_a_route_goes_by_whose_the_row_is(
    studio: Studio, people: dict[Role | str, Person], route: str, role: Role, whose: str
) -> None:
    """Allowed requests are not refused; the others get 403 and change nothing."""
    body, allowed = ROUTE[route]
    me, other = people[role], people["owner"]
    owner = me if whose in "os" else other
    player = me if whose in "op" else people["player"]
    found = studio.do(rows, owner, player, is_enabled=whose != "x")
    names = vars(found)
    method, _, path = route.partition(" ")
    sent = None if body is None else {key: _filled(value, names) for key, value in body.items()}
    answer = me.ask(method, path.format(**names), sent)
    if whose in allowed.get(role, ""):
        assert answer.status_code not in {401, 403}, answer.text
    else:
        assert answer.status_code == 403, answer.text
        assert answer.json()["error"]["code"] == "forbidden"
        assert other.ask("GET", f"/api/studies/{found.study}").json().get("study", {"version": 1})["version"] == 1
        assert studio.do(episodes.exists, found.episode)


def _filled(value: object, names: dict[str, str]) -> object:
    return value.format(**names) if isinstance(value, str) else value


@pytest.mark.parametrize(("route", "role"), list(itertools.product(ROLES, Role)))
def test_r3_what_has_no_row_goes_by_the_role(studio: Studio, route: str, role: Role) -> None:
    """Only designers may make studies, list environments and invite."""
    body, allowed = ROLES[route]
    method, _, path = route.partition(" ")
    answer = studio.person(role).ask(method, path.format(name="CartPole-v1", manual="Skiing"), body)
    assert (answer.status_code == 403) == (role not in allowed), answer.text
    assert answer.is_success == (role in allowed), answer.text


@pytest.mark.parametrize("route", [*ROUTE, *ROLES, *OWN])
def test_requests_without_a_login_are_refused(studio: Studio, route: str) -> None:
    """Without a login all routes but a few return 401 for any request."""
    method, _, path = route.partition(" ")
    names = dict.fromkeys(("study", "environment", "session", "episode", "name", "token", "manual"), "0" * 32)
    body = (ROUTE.get(route) or ROLES.get(route) or (None,))[0]
    headers = {"Origin": "http://127.0.0.1"}
    answer = studio.client.request(method, path.format(**names), headers=headers, json=body)
    assert answer.status_code == 401, answer.text
    assert answer.json()["error"]["code"] == "login"


def test_no_route_of_replays_and_exports_is_open(studio: Studio) -> None:
    """The same middleware guards the routes of other parts; only the files of the page need no login."""
    routes = [each for each in studio.client.app.router.routes if isinstance(each, Route)]  # type: ignore[attr-defined]
    paths = {each.path for each in routes}
    open_ones = OPEN | {each.replace("GET", "HEAD") for each in OPEN}
    assert {"/api/replay/{episode:uuid}", "/api/exports", "/api/annotations"} <= paths
    assert {each for each in paths if not each.startswith("/api/")} == {"/", "/page/{name:path}"}
    for route in routes:
        for method in route.methods or ():
            if route.path.startswith("/api/") and f"{method} {route.path}" not in open_ones:
                path = re.sub(r"\{[^}]*\}", "0" * 32, route.path)
                answer = studio.client.request(method, path, headers={"Origin": "http://127.0.0.1"}, content=b"{}")
                assert answer.status_code == 401, (method, path, answer.text)


@pytest.mark.parametrize("route", [each for each in ROUTE if each != "POST /api/sessions"])
def test_unknown_ids_are_not_found(people: dict[Role | str, Person], route: str) -> None:
    """An id without a row is 404 for every account; a row of others has a different error."""
    method, _, path = route.partition(" ")
    names = dict.fromkeys(("study", "environment", "session", "episode"), "0" * 32)
    for role in Role:
        people[role].is_refused(404, "not_found", method, path.format(**names), ROUTE[route][0])
