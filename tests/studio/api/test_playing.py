"""Playing in a session: the rows of the database agree with what was played."""

import contextlib

import pytest
from starlette.websockets import WebSocketDisconnect

import rlds_kit
from rlds_kit.studio.database import sessions, studies, users
from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import ORIGIN, Person, Studio
from tests.studio.api.window import URL, Window, headers_of, owner_of, playing


def open_session(person: Person, study: studies.Study) -> tuple[str, str]:
    """The id and the token of a new session in the first environment."""
    asked = {"study": study.id, "environment": study.content.environments[0].id}
    made = person.post("/api/sessions", asked)
    return made["session"]["id"], made["token"]


def refusal(studio: Studio, token: str) -> dict[str, object]:
    """The reason why a token is refused."""
    return refused_to(owner_of(studio, token), token)


def refused_to(person: Person, token: str) -> dict[str, object]:
    """The reason why a token is refused to a client."""
    with person.studio.client.websocket_connect(URL, headers=headers_of(person)) as socket:
        window = Window(socket)
        window.say("hello", token=token)
        return window.until("error")


def test_r15_an_episode_that_is_saved_has_a_row_and_a_recording(studio: Studio) -> None:
    """The row exists when the page is notified that the episode is saved, and agrees with the recording."""
    player = studio.person(Role.PARTICIPANT)
    study = studio.study(studio.person())
    session, token = open_session(player, study)
    with playing(studio, token) as window:
        window.begin()
        window.press("ArrowRight", 1)
        window.press("ArrowRight", 2)
        saved = window.end()
        row = player.get(f"/api/episodes/{saved['id']}")["episode"]
    assert (row["status"], row["steps"], row["number"], row["session"]) == ("completed", 2, 0, session)
    assert row["total_reward"] == 3.0
    directory = studio.directory / "recordings" / study.id / study.content.environments[0].id
    (episode,) = rlds_kit.open(directory).where(lambda metadata: metadata["session"] == session).episodes
    said = episode.metadata
    assert episode.id.hex == row["id"]
    assert episode.length == 3
    assert said["agent_id"] == row["user"]
    assert (said["study"], said["study_version"], said["environment"]) == (study.id, 1, row["environment"])
    assert (said["number"], said["status"]) == (0, "completed")


@pytest.mark.parametrize(
    ("save", "completed", "status"),
    [(True, True, "completed"), (True, False, "cancelled"), (False, False, "rejected"), (False, True, "rejected")],
)
def test_r13_r14_what_a_person_says_is_the_status_of_the_row(
    studio: Studio, save: bool, completed: bool, status: str
) -> None:
    """The truth table of the dialog, through to the database."""
    player = studio.person(Role.PARTICIPANT)
    _, token = open_session(player, studio.study(studio.person()))
    with playing(studio, token) as window:
        window.begin()
        window.press("ArrowRight", 1)
        saved = window.end(save=save, completed=completed)
        assert player.get(f"/api/episodes/{saved['id']}")["episode"]["status"] == status
        window.until("state", phase="waiting")


def test_r6_a_session_ends_when_its_window_does(studio: Studio) -> None:
    """A second episode has the next number; the end of the session is in its row."""
    player = studio.person(Role.PARTICIPANT)
    session, token = open_session(player, studio.study(studio.person()))
    with playing(studio, token) as window:
        for number in range(2):
            window.begin()
            window.press("ArrowRight", 1)
            assert window.end()["episode"] == number
        window.until("state", phase="waiting")
        assert player.get(f"/api/sessions/{session}")["session"]["ended_ns"] is None
        numbers = [each["number"] for each in player.get(f"/api/episodes?session={session}")["episodes"]]
        assert sorted(numbers) == [0, 1, 2]  # the third is ready to be played
        assert player.post(f"/api/sessions/{session}/end")["session"]["ended_ns"] is not None
        window.until("notice", code="ended")
    assert player.get(f"/api/episodes?session={session}")["total"] == 2
    assert refusal(studio, token)["code"] == "ended"


def test_two_windows_of_one_person_are_two_sessions(studio: Studio) -> None:
    """Each is recorded separately, also if both are played at once."""
    player = studio.person(Role.PARTICIPANT)
    study = studio.study(studio.person())
    tokens = [open_session(player, study)[1] for _ in range(2)]
    with playing(studio, tokens[0]) as one, playing(studio, tokens[1]) as two:
        one.begin()
        two.begin()
        for step in range(1, 5):
            if step <= 2:
                one.press("ArrowRight", step)
            two.press("ArrowLeft" if step % 2 else "ArrowRight", step)
        saved = [each.end() for each in (one, two)]
        rows = [player.get(f"/api/episodes/{each['id']}")["episode"] for each in saved]
    assert [(row["status"], row["steps"]) for row in rows] == [("completed", 2), ("completed", 4)]
    assert len({row["session"] for row in rows} | {row["public_id"] for row in rows}) == 4


def test_a_token_is_worth_nothing_to_another_account(studio: Studio) -> None:
    """It gives access neither to play nor to watch: it may have been copied from a log or a browser."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    session, token = open_session(player, studio.study(designer))
    look = designer.post(f"/api/sessions/{session}/look")["token"]
    for other in (designer, studio.person(Role.PARTICIPANT), studio.person(Role.REVIEWER)):
        assert refused_to(other, token)["code"] == "account"
    with playing(studio, token) as window:
        window.until("state", phase="waiting")
        assert refused_to(player, look)["code"] == "account"
        window.begin()
        window.press("ArrowRight", 1)
        assert window.end()["steps"] == 1


def test_r14_an_episode_without_a_step_has_no_row(studio: Studio) -> None:
    """An episode that is abandoned before its first step is dropped."""
    player = studio.person(Role.PARTICIPANT)
    session, token = open_session(player, studio.study(studio.person()))
    with playing(studio, token) as window:
        window.begin()
        stop(studio, session)
        window.until("notice", code="ended")
    assert player.get(f"/api/episodes?session={session}")["total"] == 0


def stop(studio: Studio, session: str) -> None:
    """Ends a session as a server does at its shutdown."""

    async def stopping() -> None:
        studio.state.live_sessions.stop(session, "the end")

    assert studio.client.portal is not None
    studio.client.portal.call(stopping)


def test_tokens_of_other_kinds_are_refused(studio: Studio) -> None:
    """Tokens that were not signed for playing are refused: logins as well as other text."""
    player = studio.person(Role.PARTICIPANT)
    for token in (player.token, "nonsense", "é" * 5000):
        with studio.client.websocket_connect(URL, headers=headers_of(studio.person())) as socket:
            window = Window(socket)
            window.say("hello", token=token)
            assert window.until("error")["code"] in {"token", "field"}


def test_looking_on_gives_no_seat(studio: Studio) -> None:
    """The designer of a study sees what a participant plays, and cannot influence it."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    session, token = open_session(player, studio.study(designer))
    look = designer.post(f"/api/sessions/{session}/look")["token"]
    assert refusal(studio, look)["code"] == "empty"
    with contextlib.ExitStack() as stack:
        window = stack.enter_context(playing(studio, token))
        window.begin()
        watching = stack.enter_context(playing(studio, look))
        assert watching.until("welcome")["seat"] is None
        watching.say("keys", held={"ArrowRight": 1.0})
        assert watching.until("error")["code"] == "observer"
        window.press("ArrowRight", 1)
        assert window.end()["steps"] == 1


def test_r4_a_study_that_was_disabled_is_not_played(studio: Studio) -> None:
    """An open session of a participant cannot be played; one of the owner can."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer)
    _, theirs = open_session(player, study)
    _, own = open_session(designer, study)
    studio.do(studies.enable, study.id, is_enabled=False)
    assert refusal(studio, theirs)["code"] == "closed"
    with playing(studio, own) as window:
        window.until("state", phase="waiting")


def test_a_session_of_another_server_is_not_played_here(studio: Studio) -> None:
    """Its recording is on the other server."""
    designer = studio.person()
    study = studio.study(designer)
    environment = study.content.environments[0].id
    made = studio.do(sessions.add, study.id, environment, designer.id, "0" * 32, "elsewhere")
    token = designer.post(f"/api/sessions/{made.id}/look")["token"]
    assert refusal(studio, token)["code"] == "server"


def test_the_token_of_a_session_is_worth_nothing_after_the_login(studio: Studio) -> None:
    """It is refused after a logout, after the account was deleted, and without a login."""
    study = studio.study(studio.person())
    for leave in ("log out", "forget", "nobody"):
        player = studio.person(Role.PARTICIPANT)
        open_session(player, study)
        headers = headers_of(player) if leave != "nobody" else {"Origin": ORIGIN}
        if leave == "log out":
            player.post("/api/logout")
        elif leave == "forget":
            studio.do(users.forget, player.id)
        with pytest.raises(WebSocketDisconnect) as raised, studio.client.websocket_connect(URL, headers=headers):
            pass
        assert raised.value.code == 4401


@pytest.mark.parametrize("headers", [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_pages_of_others_cannot_connect(studio: Studio, headers: dict[str, str]) -> None:
    """A page of another site is refused even with a valid token."""
    with pytest.raises(WebSocketDisconnect) as raised, studio.client.websocket_connect(URL, headers=headers):
        pass  # pragma: no cover  never entered
    assert (raised.value.code, raised.value.reason) == (4403, "origin")


def test_what_is_played_is_listed_for_those_who_may_watch(studio: Studio) -> None:
    """The study's designer, reviewers and the player get the list; others get an empty one, not an error."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer)
    session, token = open_session(player, study)
    place = f"/api/studies/{study.id}/sessions"
    assert designer.get(place)["sessions"] == []
    with playing(studio, token) as window:
        window.begin()
        for person in (designer, player, studio.person(Role.REVIEWER)):
            assert [each["id"] for each in person.get(place)["sessions"]] == [session]
        for person in (studio.person(), studio.person(Role.PARTICIPANT)):
            assert person.get(place)["sessions"] == []
