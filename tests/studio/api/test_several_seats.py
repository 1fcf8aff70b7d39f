"""People and programs in the seats of one environment, from the lobby to the rows and the recording."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import WebSocketTestSession

import rlds_kit
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.seating import SeatPlan, Together
from rlds_kit.studio.database.studies import Study, StudyEnvironment
from tests.studio.api.studio import MODULES, Person, Studio, opened
from tests.studio.api.window import Window, headers_of
from tests.studio.studio_process import wait_for
from tests.trials.environments.matching_pennies import MatchingPennies

MODULE = "tests.trials.environments.matching_pennies"
ACTORS = "tests.trials.actors.odd_actors"
PENNIES = f"{MODULE}:MatchingPennies"
PROGRAMS = tuple(f"{ACTORS}:{name}" for name in ("Right", "Raising", "Outside", "Dying", "Unmade", "Silent"))
MODEL = "rlds_kit.trials.models:PolicyActor"
QUICK = Together(countdown_seconds=0.0)


@pytest.fixture(scope="module")
def pennies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio that knows an environment with two seats, and programs for it."""
    with opened(tmp_path_factory.mktemp("pennies"), modules=(*MODULES, MODULE), actors=(*PROGRAMS, MODEL)) as made:
        yield made


def a_study(studio: Studio, *seats: SeatPlan, together: Together = QUICK, turn: str = "press") -> Study:
    """An enabled study with these seats."""
    environment = StudyEnvironment(
        name="Pennies", environment=PENNIES, interface="pettingzoo", turn=turn, seats=seats, together=together
    )
    return studio.study(studio.person(), environment)


def alone(studio: Studio, actor: str, *, is_required: bool = True) -> tuple[Person, Study, str, str]:
    """A person who plays with a program: the person, the study, the session and its token."""
    program = SeatPlan(name="even", is_human=False, actor=actor, is_required=is_required, default_action=0)
    study = a_study(studio, SeatPlan(name="odd"), program)
    ann = studio.person(Role.PARTICIPANT, "Ann")
    made = ann.post("/api/sessions", {"study": study.id, "environment": study.content.environments[0].id})
    return ann, study, made["session"]["id"], made["token"]


class Waiter:
    """A page in a lobby."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self._socket = socket

    def until(self, kind: str) -> dict[str, Any]:
        """Waits for a message."""
        while True:
            said: dict[str, Any] = json.loads(self._socket.receive_text())
            if said["type"] == kind:
                return said


@contextmanager
def connected(person: Person, path: str) -> Iterator[WebSocketTestSession]:
    """A socket of a person, which is closed at the end without a message."""
    url = f"ws://127.0.0.1/ws/{path}"
    socket: WebSocketTestSession = person.studio.client.websocket_connect(url, headers=headers_of(person))
    socket.__enter__()
    try:
        yield socket
    finally:
        with contextlib.suppress(CancelledError):  # the client cancels the task of a connection that it closes
            socket.__exit__(None, None, None)


@contextmanager
def waiting(person: Person, study: Study) -> Iterator[Waiter]:
    """A person in the lobby of a study."""
    with connected(person, "lobby") as socket:
        socket.send_json({"v": 1, "type": "wait", "study": study.id, "environment": study.content.environments[0].id})
        yield Waiter(socket)


@contextmanager
def playing(person: Person, token: str) -> Iterator[Window]:
    """A window of a person; its connection is lost at the end."""
    with connected(person, "play") as socket:
        window = Window(socket)
        window.say("hello", token=token)
        yield window


def begin(*windows: Window) -> None:
    """All report that they are ready, once the environment is."""
    for each in windows:
        each.until("state", phase="waiting")
    for each in windows:
        each.say("start")
    for each in windows:
        each.until("state", phase="running")


def leave(person: Person, session: str, *windows: Window) -> dict[str, Any]:
    """All leave; returns the session when it is over."""
    for each in windows:
        each.say("leave")

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = person.get(f"/api/sessions/{session}")["session"]
        return None if found["ended_ns"] is None else found

    found = wait_for(ended)
    assert found is not None
    return found


def matched(studio: Studio, study: Study) -> tuple[tuple[Person, dict[str, Any]], tuple[Person, dict[str, Any]]]:
    """Two people who were matched, each with the last message of the lobby."""
    ann, bob = (studio.person(Role.PARTICIPANT, name) for name in ("Ann", "Bob"))
    with waiting(ann, study) as first:
        assert first.until("queue")["waiting"] == 1
        with waiting(bob, study) as second:
            return (ann, first.until("matched")), (bob, second.until("matched"))


def recorded(studio: Studio, study: Study) -> rlds_kit.Dataset:
    """The recording of a study."""
    return rlds_kit.open(studio.directory / "recordings" / study.id / study.content.environments[0].id)


def assert_same_offline(episode: rlds_kit.Episode) -> None:
    """The recorded actions with the recorded seed give the same observations and rewards."""
    env = MatchingPennies()
    observations, _ = env.reset(seed=episode.seed)
    steps = list(episode.steps)
    for step in steps[:-1]:
        np.testing.assert_equal(step["observation"], observations)
        observations, rewards, *_ = env.step(step["action"])
        assert step["reward"] == rewards
    np.testing.assert_equal(steps[-1]["observation"], observations)


def test_c33_g30_two_people_from_the_lobby_play_one_game_and_rows_say_who_sat_where(pennies: Studio) -> None:
    """Each acts in their own seat; both see the session and the episode, and neither can delete it alone."""
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even", instructions="Match."))
    (ann, one), (bob, two) = matched(pennies, study)
    assert (one["session"], one["seat"], two["seat"]) == (two["session"], "odd", "even")
    with playing(ann, one["token"]) as odd, playing(bob, two["token"]) as even:
        odd.until("welcome", seat="odd")
        assert even.until("welcome", seat="even")["instructions"] == "Match."
        begin(odd, even)
        odd.say("say", content="left!", to=[])
        assert even.until("said")["content"] == "left!"
        for window, key in ((odd, "ArrowLeft"), (even, "ArrowRight")):
            window.say("keys", held={key: 1.0})
        odd.until_frame(1)
        saved = odd.end()
        even.until("saved")
        leave(ann, one["session"], odd, even)
    session = one["session"]
    for person in (ann, bob):
        row = person.get(f"/api/episodes?session={session}")["episodes"][0]
        assert (row["id"], row["can_delete"], row["can_tag"]) == (saved["id"], False, True)
        person.is_refused(403, "forbidden", "DELETE", f"/api/episodes/{saved['id']}")
        assert person.get(f"/api/sessions/{session}")["session"]["people"].keys() == {"odd", "even"}
    stranger = pennies.person(Role.PARTICIPANT, "Eve")
    stranger.is_refused(403, "forbidden", "GET", f"/api/sessions/{session}")
    people = ann.get(f"/api/sessions/{session}")["session"]["people"]
    there = ann.get(f"/api/sessions/{session}/participations")["participations"]
    assert {(each["seat"], each["kind"], each["agent_id"]) for each in there} == {
        (seat, "human", agent) for seat, agent in people.items()
    }
    assert all(each["joined_ns"] <= each["left_ns"] for each in there)
    (episode,) = recorded(pennies, study).episodes[:1]
    assert episode.metadata["participants"] == {
        seat: {"kind": "human", "agent_id": agent} for seat, agent in people.items()
    }
    assert episode.steps[0]["action"] == {"odd": 0, "even": 1}
    assert episode.steps[0]["play"]["said"][0]["content"] == "left!"
    assert_same_offline(episode)
    owner = pennies.known(study.owner_id)
    for agent in people.values():  # each participant finds the same episode, and can export it
        assert owner.get(f"/api/episodes?user={agent}")["episodes"][0]["id"] == saved["id"]


def test_a_token_is_worth_something_to_its_person_and_seat_only(pennies: Studio) -> None:
    """It is refused to another account, and for another seat."""
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even"))
    (ann, one), (bob, two) = matched(pennies, study)
    with playing(bob, one["token"]) as window:
        assert window.until("error")["code"] == "account"
    forged = pennies.state.signer.sign("play", f"{one['session']} even {ann.id}")
    with playing(ann, forged) as window:
        assert window.until("error")["code"] == "token"
    with playing(bob, two["token"]) as window:
        window.until("welcome", seat="even")


def test_several_people_come_by_the_lobby_only(pennies: Studio) -> None:
    """A session for one of them is refused, and so is a lobby for a study with one seat."""
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even"))
    ann = pennies.person(Role.PARTICIPANT, "Ann")
    asked = {"study": study.id, "environment": study.content.environments[0].id}
    ann.is_refused(409, "lobby", "POST", "/api/sessions", asked)
    with waiting(ann, pennies.study(pennies.person())) as waiter:
        assert waiter.until("refused")["code"] == "closed"


def test_c33_a_person_plays_with_a_program_in_a_process_of_its_own(pennies: Studio) -> None:
    """Its implementation and version are in every step and in the metadata, its times in a field of their own."""
    ann, study, session, token = alone(pennies, PROGRAMS[0])
    with playing(ann, token) as window:
        assert window.until("welcome")["seat"] == "odd"
        window.begin()
        for number in range(1, 4):
            window.press("ArrowLeft", number)
        window.end()
        leave(ann, session, window)
    (episode,) = recorded(pennies, study).episodes[:1]
    assert episode.metadata["participants"]["even"] == {
        "kind": "program",
        "implementation": PROGRAMS[0],
        "version": "7",
    }
    for step in list(episode.steps)[:-1]:
        assert step["play"]["seats"]["even"]["driver"] == "actor"
        assert step["play"]["seats"]["even"]["version"] == "7"
        assert step["trial_clock"]["even"]["answered_ns"] > 0
        assert int(step["action"]["even"]) == 1
    assert_same_offline(episode)
    there = ann.get(f"/api/sessions/{session}/participations")["participations"]
    assert {(each["seat"], each["kind"]) for each in there} == {("odd", "human"), ("even", "program")}


def test_c36_c37_a_program_takes_over_within_a_step_and_the_person_comes_back(pennies: Studio) -> None:
    """The game does not pause; the others see the change; each step has who acted, and each presence has a row."""
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even", actor=PROGRAMS[0]))
    (ann, one), (bob, two) = matched(pennies, study)
    with playing(ann, one["token"]) as odd:
        with playing(bob, two["token"]) as even:
            begin(odd, even)
            odd.say("keys", held={"ArrowLeft": 1.0})
            odd.say("keys", held={})
            even.say("keys", held={"ArrowLeft": 1.0})
            odd.until_frame(1)
        odd.until("driver", seat="even", driver="actor")
        odd.press("ArrowLeft", 2)
        with playing(bob, two["token"]) as even:
            odd.until("driver", seat="even", driver="human")
            odd.say("keys", held={"ArrowLeft": 1.0})
            odd.say("keys", held={})
            even.say("keys", held={"ArrowLeft": 1.0})
            odd.until_frame(3)
            odd.end()
            leave(ann, one["session"], odd, even)
    (episode,) = recorded(pennies, study).episodes[:1]
    steps = list(episode.steps)[:-1]
    assert [step["play"]["seats"]["even"]["driver"] for step in steps] == ["human", "actor", "human"]
    assert [int(step["action"]["even"]) for step in steps] == [0, 1, 0]
    assert_same_offline(episode)
    there = ann.get(f"/api/sessions/{one['session']}/participations")["participations"]
    kinds = [each["kind"] for each in there if each["seat"] == "even"]
    assert kinds.count("human") == 2
    assert kinds.count("program") >= 1


@pytest.mark.parametrize(
    ("actor", "reason"),
    [("Raising", "it stumbled"), ("Outside", "expected an action in Discrete"), ("Dying", "process")],
)
def test_a_required_program_that_fails_ends_the_episode_with_the_reason(
    pennies: Studio, actor: str, reason: str
) -> None:
    """The row and the recording have the reason; the previous step is stored."""
    ann, study, session, token = alone(pennies, f"{ACTORS}:{actor}")
    with playing(ann, token) as window:
        window.begin()
        window.press("ArrowLeft", 1)
        window.say("keys", held={"ArrowLeft": 1.0})
        window.until("notice", code="ended")
    (row,) = ann.get(f"/api/episodes?session={session}")["episodes"]
    assert (row["status"], row["steps"]) == ("abandoned", 1)
    assert reason in row["reason"]
    assert row["reason"].startswith("even: ")
    assert reason in ann.get(f"/api/sessions/{session}")["session"]["reason"]
    (episode,) = recorded(pennies, study).episodes[:1]
    assert (episode.length, episode.metadata["status"]) == (2, "abandoned")


def test_g7_a_program_that_is_not_required_does_its_default_action(pennies: Studio) -> None:
    """The game continues, and the steps record it."""
    ann, study, session, token = alone(pennies, f"{ACTORS}:Raising", is_required=False)
    with playing(ann, token) as window:
        window.begin()
        for step in range(1, 4):
            window.press("ArrowLeft", step)
        window.end()
        leave(ann, session, window)
    (episode,) = recorded(pennies, study).episodes[:1]
    facts = [step["play"]["seats"]["even"] for step in list(episode.steps)[:-1]]
    assert [(each["driver"], each["is_default"]) for each in facts] == [
        ("actor", False),
        ("nobody", True),
        ("nobody", True),
    ]


def test_a_program_that_cannot_begin_ends_the_session_and_its_row_says_why(pennies: Studio) -> None:
    """For instance one whose model is not the expected file."""
    ann, _, session, token = alone(pennies, f"{ACTORS}:Unmade")
    with playing(ann, token):
        assert "it has no shoes" in leave(ann, session)["reason"]


def test_g23_a_model_file_of_another_hash_ends_the_session_and_its_row_says_so(pennies: Studio, tmp_path: Path) -> None:
    """Before any data of the file is read."""
    file = tmp_path / "model.onnx"
    file.write_bytes(b"another model")
    config = {"path": str(file), "sha256": "0" * 64}
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even", is_human=False, actor=MODEL, config=config))
    ann = pennies.person(Role.PARTICIPANT, "Ann")
    made = ann.post("/api/sessions", {"study": study.id, "environment": study.content.environments[0].id})
    with playing(ann, made["token"]):
        assert "expected the SHA-256 0000" in leave(ann, made["session"]["id"])["reason"]


def test_kill_9_of_the_worker_leaves_what_was_durable_and_a_row_that_says_so(pennies: Studio) -> None:
    """The episode is abandoned with the reason; the next one has a new environment, and the same program."""
    ann, _, session, token = alone(pennies, PROGRAMS[0])
    with playing(ann, token) as window:
        window.begin()
        window.press("ArrowLeft", 1)
        for process in pennies.state.pool.processes:
            os.kill(process, signal.SIGKILL)
        window.until("notice", code="interrupted")
        window.begin()
        window.press("ArrowLeft", 1)
        assert window.end()["status"] == "completed"
    rows = ann.get(f"/api/episodes?session={session}&sort=started")["episodes"]
    assert [row["status"] for row in rows][:2] == ["abandoned", "completed"]
    assert "process" in rows[0]["reason"]


def test_a_designer_sees_the_seats_and_is_refused_seats_that_do_not_fit(pennies: Studio) -> None:
    """Names, programs and default actions are checked when the study is made."""
    designer = pennies.person()
    listed = designer.get("/api/environments")
    assert PENNIES in listed["several"]
    assert {"random", *PROGRAMS} <= {*listed["actors"]}
    environment = {"name": "P", "environment": PENNIES, "interface": "pettingzoo", "turn": "press"}
    found = designer.post("/api/environments/seats", {"environment": environment})["seats"]
    assert [each["name"] for each in found] == ["odd", "even"]
    assert found[0]["controls"]["actions"][0]["keys"] == ["ArrowLeft"]
    odd = {"name": "odd"}
    for seats, message in (
        ([odd], "expected one for each of odd, even"),
        ([odd, {"name": "even", "is_human": False}], "expected a program"),
        ([odd, {"name": "even", "is_human": False, "actor": "os:system"}], "expected one of the programs"),
        ([odd, {"name": "even", "is_human": False, "actor": "random", "default_action": 7}], "default action in"),
    ):
        body = {"name": "S", "environments": [{**environment, "seats": seats}]}
        error = designer.is_refused(422, "environments", "POST", "/api/studies", body)
        assert message in error["message"]
    good = [odd, {"name": "even", "is_human": False, "actor": "random", "default_action": 1}]
    body = {"name": "S", "environments": [{**environment, "seats": good, "together": {"pause": "vote"}}]}
    study = designer.post("/api/studies", body)["study"]
    assert [each["actor"] for each in study["environments"][0]["seats"]] == ["", "random"]
    assert study["environments"][0]["together"]["pause"] == "vote"


def test_what_a_study_wants_votes_on_takes_several_words(pennies: Studio) -> None:
    """All must agree to a pause, no person can end it; who has agreed is shown; designers may forbid watching."""
    rules = Together(countdown_seconds=0.0, pause="all", cancel="nobody", confirm="all", onlookers=False)
    study = a_study(pennies, SeatPlan(name="odd"), SeatPlan(name="even"), together=rules)
    (ann, one), (bob, two) = matched(pennies, study)
    with playing(ann, one["token"]) as odd, playing(bob, two["token"]) as even:
        begin(odd, even)
        pennies.person(Role.REVIEWER).is_refused(403, "forbidden", "POST", f"/api/sessions/{one['session']}/look", {})
        odd.say("cancel")
        assert "nobody can cancel" in odd.until("error")["message"]
        odd.say("pause")
        assert even.until("votes", about="pause")["agreed"] == {"odd": "yes"}
        even.say("pause")
        odd.until("state", phase="paused")
        odd.say("resume")
        odd.until("state", phase="running")
        for step in range(1, 7):
            for window in (odd, even):
                window.say("keys", held={"ArrowLeft": 1.0})
                window.say("keys", held={})
            if step < 6:
                odd.until_frame(step)
        odd.until("ask", is_over=True)
        odd.say("confirm", save=True, completed=True)
        assert even.until("votes", about="confirm")["needed"] == 2
        even.say("confirm", save=True, completed=False)
        assert odd.until("saved")["status"] == "cancelled"  # they do not agree: the more cautious choice counts
