"""No request to a whole studio can read, tag, change or delete data of others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from tests.studio.play.server import run
from tests.studio.player import press, save, seated, start
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess, running, wait_for


@dataclass(frozen=True)
class Theirs:
    """Ann's recording in Dora's study.

    Attributes:
      studio: that it is in.
      people: by name, each with a separate browser; "nobody" is not logged in.
      names: of rows, to fill into paths and bodies.
    """

    studio: StudioProcess
    people: dict[str, Api]
    names: dict[str, str]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    """A studio in which something was recorded and tagged."""
    with running(tmp_path_factory.mktemp("theirs")) as studio:
        dora, ann = studio.designer, studio.person("participant", "ann")
        study = dora.study("doors", {"environment": CORRIDOR, "turn": "press"})
        session, token = ann.session(study)

        async def play() -> None:
            async with seated(ann, token) as client:
                await start(client)
                await press(client, 2)
                await save(client)

        run(play)
        (episode,) = [row["id"] for row in ann.episodes(status="completed")]
        path = f"replay/{episode}/annotations"
        made = wait_for(lambda: ann.ask("POST", path, {"kind": "tag", "text": "good", "steps": None}).json())
        people = {
            "dora": dora,
            "ann": ann,
            "rita": studio.person("reviewer", "rita"),
            "eve": studio.person("designer", "eve"),
            "bob": studio.person("participant", "bob"),
            "nobody": Api(studio.url),
        }
        names = {
            "study": study["id"],
            "environment": study["environments"][0]["id"],
            "session": session,
            "episode": episode,
            "annotation": made["annotations"][0]["id"],
        }
        yield Theirs(studio, people, names)
        people["nobody"].close()


SEE: Final = frozenset({"dora", "ann", "rita"})
REQUESTS: Final = [
    ("GET", "me", None, frozenset({"dora", "ann", "rita", "eve", "bob"})),
    ("GET", "studies/{study}", None, frozenset({"dora", "ann", "rita", "eve", "bob"})),
    ("GET", "environments", None, frozenset({"dora", "eve"})),
    ("GET", "environments/CartPole-v1/schema", None, frozenset({"dora", "eve"})),
    ("GET", "sessions/{session}", None, SEE),
    ("GET", "episodes/{episode}", None, SEE),
    ("GET", "replay/{episode}", None, SEE),
    ("GET", "replay/{episode}/step/1", None, SEE),
    ("GET", "replay/{episode}/annotations", None, SEE),
    ("POST", "sessions/{session}/look", {}, SEE),
    ("POST", "replay/{episode}/annotations", {"kind": "tag", "text": "stolen", "steps": None}, SEE),
    ("DELETE", "replay/{episode}/annotations/{annotation}", None, SEE),
    ("POST", "exports", {"episodes": ["{episode}"]}, SEE),
    ("DELETE", "episodes/{episode}", None, frozenset({"dora", "ann"})),
    ("POST", "sessions/{session}/end", {}, frozenset({"ann"})),
    ("PUT", "studies/{study}/state", {"enabled": False}, frozenset({"dora"})),
    ("PUT", "studies/{study}", {"name": "mine now", "version": 1, "environments": []}, frozenset({"dora"})),
    ("POST", "studies", {"name": "mine", "environments": [{"name": "c", "environment": CORRIDOR}]}, {"dora", "eve"}),
    ("POST", "environments/check", {"environments": [{"name": "c", "environment": CORRIDOR}]}, {"dora", "eve"}),
    ("POST", "invitations", {"role": "designer"}, frozenset({"dora", "eve"})),
]


def filled(value: Any, names: dict[str, str]) -> Any:
    """A path or a body with the ids of rows."""
    if isinstance(value, str):
        return value.format(**names)
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return {key: filled(each, names) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("who", ["dora", "ann", "rita", "eve", "bob", "nobody"])
def test_r3_r29_r35_who_may_not_is_refused(theirs: Theirs, who: str) -> None:
    """The refusal has a reason, and nothing changes."""
    before = _state(theirs)
    for method, path, body, allowed in REQUESTS:
        if who not in allowed:
            answer = theirs.people[who].ask(method, filled(path, theirs.names), filled(body, theirs.names))
            assert answer.status_code == (401 if who == "nobody" else 403), (method, path, answer.text)
            assert answer.json()["error"]["message"]
    assert _state(theirs) == before


@pytest.mark.parametrize("who", ["dora", "ann", "rita", "eve", "bob"])
def test_r35_who_may_look_sees_it(theirs: Theirs, who: str) -> None:
    """All requests that only read."""
    for method, path, _, allowed in REQUESTS:
        if who in allowed and method == "GET":
            answer = theirs.people[who].ask(method, filled(path, theirs.names))
            assert answer.status_code == 200, (path, answer.text)


def _state(theirs: Theirs) -> Any:
    """All data that others must not read or change."""
    dora, names = theirs.people["dora"], theirs.names
    return (
        dora.get(f"studies/{names['study']}"),
        dora.get(f"sessions/{names['session']}"),
        dora.get(f"episodes/{names['episode']}"),
        dora.get(f"replay/{names['episode']}/annotations"),
    )


@pytest.mark.parametrize("who", ["dora", "ann", "rita", "eve", "bob"])
def test_r28_r35_tables_have_only_what_one_may_see(theirs: Theirs, who: str) -> None:
    ids = [row["id"] for row in theirs.people[who].episodes(study=theirs.names["study"], status="completed")]
    assert ids == ([theirs.names["episode"]] if who in SEE else [])
    mine = theirs.people[who].episodes(user="me")
    assert [row["id"] for row in mine if row["status"] == "completed"] == ([ids[0]] if who == "ann" else [])


@pytest.mark.parametrize("who", ["eve", "bob", "nobody"])
def test_r35_reviews_of_others_are_not_heard(theirs: Theirs, who: str) -> None:
    """The socket for annotations is closed before any message is sent."""

    async def listen() -> None:
        person = theirs.people[who]
        headers = {} if person.token is None else {"Cookie": f"{person.cookie}={person.token}"}
        address = f"{person.url.replace('http', 'ws', 1)}/ws/review?episode={theirs.names['episode']}"
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            async with connect(address, origin=Origin(person.url), additional_headers=headers, proxy=None) as socket:
                await socket.recv()

    run(listen)


@pytest.mark.parametrize("token", ["{session}", "{session}.AAAA", "x" * 4000, "{own}x"])
def test_r42_a_made_up_token_plays_nowhere(theirs: Theirs, token: str) -> None:
    """Neither the id of a session nor the own token with one changed letter is accepted."""
    bob = theirs.people["bob"]
    own = bob.session({"id": theirs.names["study"], "environments": [{"id": theirs.names["environment"]}]})[1]

    async def come() -> None:
        async with seated(bob, token.format(own=own, **theirs.names)) as client:
            await client.next_of("error", code="token")
            assert (await client.is_closed())[0] == 4003

    run(come)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Cookie": "{cookie}={token}x"}, 401),
        ({"Authorization": "Bearer {token}x"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
    ],
)
def test_pages_of_others_and_changed_logins_do_nothing(theirs: Theirs, headers: dict[str, str], status: int) -> None:
    """Also with the cookie of a person who has the permission."""
    dora = theirs.people["dora"]
    given = {name: text.format(cookie=dora.cookie, token=dora.token) for name, text in headers.items()}
    before = _state(theirs)
    answer = dora.ask("PUT", f"studies/{theirs.names['study']}/state", {"enabled": False}, headers=given)
    assert (answer.status_code, _state(theirs)) == (status, before)


@pytest.mark.parametrize("name", ["..%2f..%2fsecret", "..%2fapplication.py", "%2e%2e/%2e%2e/studio.db", "/etc/passwd"])
def test_only_files_of_the_page_are_served(theirs: Theirs, name: str) -> None:
    """No path leads out of the folder of the page."""
    answer = theirs.people["nobody"].ask("GET", f"{theirs.studio.url}/page/{name}")
    assert answer.status_code == 404
