"""Two people of a crowd find each other, play, leave and come back; programs take the seats of those who are gone."""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import WebSocketTestSession

import rlds_kit
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.desk import PAUSED
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.database import sessions
from rlds_kit.studio.play.host import NotAdmittedError
from tests.studio.api.studio import MODULES, Studio, ok
from tests.studio.api.window import Window
from tests.studio.crowd.crowds import Visitor, a_crowd, experimenter, visitor
from tests.studio.studio_process import wait_for

MODULE = "tests.trials.environments.matching_pennies"
FILE = f"""
name = "Pennies"
recruitment = ["social", "test"]
grace_seconds = 60

[tasks.pennies]
title = "Matching pennies"
environment = "{MODULE}:MatchingPennies"
pace = "turns"
seats = 2
target = 100
partner = "random"
wait_seconds = 600
collectors = ["score"]
treatment = {{ base_cents = 50, requirements = [{{ collector = "time_played", at_least = 0.000001 }}] }}
"""


@pytest.fixture(scope="module")
def pennies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with a crowd of pairs."""
    with a_crowd(tmp_path_factory.mktemp("pairs"), FILE, modules=(*MODULES, MODULE)) as studio:
        yield studio


@contextmanager
def connected(person: Visitor, path: str) -> Iterator[WebSocketTestSession]:
    """A socket of a person, which is closed at the end without a word."""
    socket: WebSocketTestSession = person.client.websocket_connect(f"ws://127.0.0.1/ws/{path}", headers=person.headers)
    socket.__enter__()
    try:
        yield socket
    finally:
        with contextlib.suppress(CancelledError):  # the client cancels what serves a connection that it closes
            socket.__exit__(None, None, None)


def until(socket: WebSocketTestSession, kind: str) -> dict[str, Any]:
    """Waits for a message of the lobby."""
    while True:
        said: dict[str, Any] = json.loads(socket.receive_text())
        if said["type"] == kind:
            return said


@contextmanager
def playing(person: Visitor) -> Iterator[Window]:
    """A window of somebody; its connection is lost at the end."""
    token = person.enter()
    with connected(person, "play") as socket:
        window = Window(socket)
        window.say("hello", token=token)
        yield window


def newcomer(studio: Studio) -> Visitor:
    """Somebody in the lobby with an assignment."""
    person = visitor(studio)
    person.come()
    person.go("device", width=1200, height=800, has_keyboard=True)
    assert person.go("instructed")["stage"] == "lobby"
    assert person.go("place")["game"]["people"] == 2
    return person


def pair(studio: Studio) -> tuple[Visitor, Visitor]:
    """Two who found each other."""
    ann, bob = newcomer(studio), newcomer(studio)
    with connected(ann, "crowd") as first:
        assert until(first, "queue")["waiting"] == 1
        with connected(bob, "crowd") as second:
            assert until(first, "matched")["session"] == until(second, "matched")["session"]
    return ann, bob


def episode_directory(studio: Studio, game: Game) -> Path:
    """Where a game is recorded."""
    return studio.directory / "recordings" / game.study / game.environment.id


def test_c33_c36_c37_a_pair_plays_one_is_lost_a_program_acts_and_the_person_comes_back(pennies: Studio) -> None:
    """Each is paid for what they did themselves; episodes name the assignment of each seat."""
    ann, bob = pair(pennies)
    assert [each.me()["stage"] for each in (ann, bob)] == ["play", "play"]
    token = bob.enter()
    with playing(ann) as odd:
        with playing(bob) as even:
            for each in (odd, even):
                each.until("state", phase="waiting")
                each.say("start")
            for each in (odd, even):
                each.until("state", phase="running")
            for each in (odd, even):
                each.say("keys", held={"ArrowLeft": 1.0})
                each.say("keys", held={})
            odd.until_frame(1)
        odd.until("driver", seat="even", driver="actor")
        odd.press("ArrowLeft", 2)
        with playing(bob) as even:
            odd.until("driver", seat="even", driver="human")
            here = bob.go("finish")  # the page stays where it is, and is dismissed
        with connected(bob, "play") as socket:
            again = Window(socket)
            again.say("hello", token=token)
            assert again.until("error")["code"] == "stage"
        odd.press("ArrowLeft", 3)
        odd.say("leave")
    done = ann.go("finish")
    assert (here["stage"], done["stage"], done["earned"]["total"]) == ("done", "done", "0.50")
    desk = pennies.state.parts.desk
    session = desk[done["id"]].session_id
    game = desk.games["pennies"]
    wait_for(lambda: session not in pennies.state.live_sessions.sessions)
    (episode, *_) = rlds_kit.open(episode_directory(pennies, game)).episodes
    assert episode.metadata["crowd"] == {"odd": done["id"], "even": here["id"]}
    assert (episode.metadata["crowd_task"], episode.metadata["crowd_recruitment"]["odd"]) == ("pennies", "social")
    drivers = [step["play"]["seats"]["even"]["driver"] for step in list(episode.steps)[:-1]]
    assert drivers == ["human", "actor", "actor"]
    (reward, *_) = [step["reward"]["even"] for step in list(episode.steps)[:-1]]
    values = worth.values(episode_directory(pennies, game), here["id"], ["score", "frame_lag"], 60.0)
    assert values == {"score": reward, "frame_lag": 0.0}  # of the step that the person did
    entries = {each["id"]: each for each in experimenter(pennies).get("/api/crowd/payments")["entries"]}
    assert entries[here["id"]]["values"].keys() == {"time_played"}
    assert ok(ann.ask("GET", "me/standings"))["standings"][0]["of"] == 2


def test_two_who_count_down_wait_again_when_everything_pauses(pennies: Studio) -> None:
    """Their rows say that they wait, without a session; they play when it goes on."""
    boss, ann, bob = experimenter(pennies), newcomer(pennies), newcomer(pennies)
    desk = pennies.state.parts.desk
    with connected(ann, "crowd") as first, connected(bob, "crowd") as second:
        assert until(first, "countdown")["people"] == until(second, "countdown")["people"] == 2
        boss.put("/api/crowd/state", {"paused": True, "closed": False})
        try:
            for socket in (first, second):
                assert "pauses" in until(socket, "queue")["notice"]
            rows = [desk[each.me()["id"]] for each in (ann, bob)]
            assert [(each.person.stage.value, each.session_id) for each in rows] == [("lobby", None)] * 2
        finally:
            boss.put("/api/crowd/state", {"paused": False, "closed": False})
        assert until(first, "matched")["session"] == until(second, "matched")["session"]
    assert [each.me()["stage"] for each in (ann, bob)] == ["play", "play"]
    for each in (ann, bob):
        each.go("finish", early=True)


def test_a_pause_while_a_game_is_made_leaves_people_waiting(pennies: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    """They see why, and play when it goes on."""
    desk, ann, bob = pennies.state.parts.desk, newcomer(pennies), newcomer(pennies)

    async def pauses(session: Any) -> None:
        del session
        raise NotAdmittedError("paused", PAUSED)

    with connected(ann, "crowd") as first, monkeypatch.context() as patched:
        until(first, "queue")
        patched.setattr(desk, "seat", pauses)
        with connected(bob, "crowd") as second:
            while until(first, "queue")["notice"] != PAUSED:
                pass
            patched.undo()
            assert until(first, "matched")["session"] == until(second, "matched")["session"]
    for each in (ann, bob):
        each.go("finish", early=True)


def test_who_waits_for_a_game_that_changes_waits_again_for_the_new_one(tmp_path: Path) -> None:
    """With the same assignment; with a newcomer they play in the new environment."""
    other = FILE.replace("seats = 2", "seats = 2\nkwargs = { length = 9 }")
    with a_crowd(tmp_path, FILE, modules=(*MODULES, MODULE)) as studio:
        ann = newcomer(studio)
        with connected(ann, "crowd") as first:
            until(first, "queue")
            experimenter(studio).put("/api/crowd/declaration", {"text": other, "version": 1})
            assert until(first, "refused")["code"] == "changed"
        bob = newcomer(studio)
        with connected(ann, "crowd") as first, connected(bob, "crowd") as second:
            assert until(first, "matched")["session"] == until(second, "matched")["session"]
        desk = studio.state.parts.desk
        session = studio.do(sessions.get, desk[ann.me()["id"]].session_id)
        assert session.environment_id == desk.games["pennies"].environment.id
        for each in (ann, bob):
            each.go("finish", early=True)


def test_c34_people_with_close_round_trips_find_each_other(tmp_path: Path) -> None:
    """As they were measured at entry; by group, only those of the same link."""
    groups = 'matchmaker = "{}"\n[groups.main]\n[groups.school]\n'

    def partners(studio: Studio, *people: tuple[str, float]) -> list[str]:
        """The people who find each other, by place, of those who come with these groups and round trips."""
        with contextlib.ExitStack() as stack:
            sockets = []
            for group, latency in people:
                person = visitor(studio)
                person.come(group)
                person.go("device", width=1200, height=800, has_keyboard=True, latency_ms=latency)
                person.go("instructed")
                person.go("place")
                sockets.append(stack.enter_context(connected(person, "crowd")))
                until(sockets[-1], "queue" if len(sockets) < len(people) else "countdown")
            until(sockets[0], "countdown")
            desk = studio.state.parts.desk
            seated = [each for each in desk if each.session_id is not None]
            return sorted(each.person.group for each in seated)

    with a_crowd(tmp_path / "latency", FILE + groups.format("latency"), modules=(*MODULES, MODULE)) as studio:
        assert partners(studio, ("main", 20.0), ("main", 400.0), ("school", 30.0)) == ["main", "school"]
    with a_crowd(tmp_path / "group", FILE + groups.format("group"), modules=(*MODULES, MODULE)) as studio:
        assert partners(studio, ("main", 20.0), ("school", 20.0), ("main", 400.0)) == ["main", "main"]
