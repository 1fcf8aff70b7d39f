"""Judging recorded segments in the studio, over HTTP."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gymnasium
import numpy as np
import pytest
from starlette.testclient import WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.shaping import preferences
from rlds_kit.shaping.tasks import write_queue
from rlds_kit.shaping.tasks.played_on import standing_at
from rlds_kit.studio.database.roles import Role
from tests.shaping.preferences.recorded import record
from tests.studio.api.studio import Person, Studio, opened

HOME = "/api/tasks/judge"
ANSWERS: dict[str, tuple[dict[str, Any], preferences.Answer]] = {
    "comparison": ({"choice": "cannot say"}, preferences.Comparison(preferences.Choice.CANNOT_SAY)),
    "ranking": ({"ranks": [2, 1, None]}, preferences.Ranking((2, 1, None))),
    "rating": ({"value": 4, "low": 1, "high": 5}, preferences.Rating(4, 1, 5)),
    "text": ({"text": "too slow"}, preferences.Remark("too slow")),
    "demonstration": ({"task": "reach"}, preferences.Demonstration("reach")),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes."""
    path = tmp_path_factory.mktemp("data") / "reach"
    record(path)
    return path


@pytest.fixture(scope="module")
def cart_pole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode with its environment and its seed."""
    path = tmp_path_factory.mktemp("data") / "cart_pole"
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), path) as env:
        env.reset(seed=5)
        is_over, action = False, 0
        while not is_over:
            *_, is_over, _, _ = env.step(action := 1 - action)
    return path


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, data: Path, cart_pole: Path) -> Iterator[Studio]:
    with opened(tmp_path_factory.mktemp("studio"), tasks=(f"judge={data}", f"judge={cart_pole}")) as made:
        yield made


@pytest.fixture
def designer(studio: Studio) -> Person:
    return studio.person()


def _queue(designer: Person, kind: str = "comparison", count: int = 4, **more: Any) -> str:
    given = {"name": "Q", "dataset": "reach", "kind": kind, "question": f"{kind}?", "length": 4, "count": count, **more}
    made: str = designer.post(f"{HOME}/queues", given)["id"]
    return made


def _next(person: Person, queue: str) -> Any:
    return person.get(f"{HOME}/queues/{queue}/next")


def _answer(person: Person, queue: str, answer: dict[str, Any]) -> Any:
    query = _next(person, queue)["query"]["id"]
    return person.post(f"{HOME}/queues/{queue}/answers", {"query": query, "answer": answer})


def _stored(data: Path, kind: str) -> list[preferences.Response]:
    found = preferences.responses(rlds_kit.open(data).layer("preferences")).whole
    return [each for each in found if each.query.kind == kind]


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_in_the_layer_when_the_next_query_comes(
    designer: Person, studio: Studio, data: Path, kind: str
) -> None:
    """With the query, the strategy that drew it, and a pseudonym of who gave it."""
    anna, (plain, answer) = studio.person(Role.PARTICIPANT, "Anna Smith"), ANSWERS[kind]
    queue = _queue(designer, kind, count=2, seed=3)
    first = _next(anna, queue)
    after = _answer(anna, queue, plain)
    assert (first["answered"], after["answered"], after["queries"]) == (0, 1, 2)
    assert after["query"]["id"] != first["query"]["id"]
    stored = _stored(data, kind)[-1]
    assert stored.answer == answer
    assert str(stored.query.id) == first["query"]["id"]
    assert (stored.query.strategy, stored.query.parameters) == ("uniform", {"seed": 3})
    assert "Anna" not in stored.annotator
    assert _answer(anna, queue, plain)["query"] is None


def test_corrections_and_marks_are_stored(designer: Person, studio: Studio, data: Path) -> None:
    """What should have been done, and a rectangle of the picture."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    _answer(anna, _queue(designer, "correction"), {"step": 2, "actions": [1, 0], "played": None})
    found = _stored(data, "correction")[-1].answer
    assert isinstance(found, preferences.Correction)
    assert (found.step, [] if found.actions is None else found.actions.tolist()) == (2, [1, 0])
    corner = {"step": 1, "top": 2, "left": 3, "height": 4, "width": 5}
    place = {**corner, "field": "observation", "weight": -1.0, "label": "x"}
    _answer(anna, _queue(designer, "marks"), {"features": [], "places": [place]})
    assert _stored(data, "marks")[-1].answer == preferences.Marks(
        places=(preferences.PlaceMark(1, 2, 3, 4, 5, weight=-1.0, label="x"),)
    )


def test_a_person_plays_on_from_a_step(studio: Studio, designer: Person, cart_pole: Path) -> None:
    """The environment comes to the step as it did then; what they do is recorded, and the answer names it."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    queue = _queue(designer, "correction", count=1, dataset="cart_pole")
    (segment,) = _next(anna, queue)["query"]["segments"]
    step = segment["first"] + 1
    with _playing_on(anna, dataset="cart_pole", episode=segment["episode"], step=step) as socket:
        assert socket.receive_json()["n_actions"] == 2
        for action in (7, True, 1, 0):
            socket.send_json({"do": "act", "action": action})
            assert socket.receive_json()["picture"]
        socket.send_json({"do": "done"})
        done = socket.receive_json()
    assert done["actions"] == [1, 0]
    _answer(anna, queue, {"step": 1, **done})
    found = _stored(cart_pole, "correction")[-1].answer
    assert isinstance(found, preferences.Correction)
    (played,) = rlds_kit.open(studio.directory / "tasks" / "judge" / "played" / "cart_pole").episodes
    assert (found.played, found.step, played["action"][:-1].tolist()) == (played.id, 1, [1, 0])
    (original,) = (each for each in rlds_kit.open(cart_pole).episodes if str(each.id) == segment["episode"])
    assert np.array_equal(played["observation"][0], original["observation"][step])
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=original.seed)
    for action in (*original["action"][:step], 1, 0):
        observation = env.step(action)[0]
    assert np.array_equal(played["observation"][-1], observation)


def test_where_nobody_can_play_on_the_page_says_why(studio: Studio, cart_pole: Path) -> None:
    """An episode without an environment, one that is over, and one that is not there."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    episode = rlds_kit.open(studio.state.tasks[0].datasets[0]).episodes[0].id
    with _playing_on(anna, dataset="reach", episode=episode, step=1) as socket:
        assert "no environment id was recorded" in socket.receive_json()["failed"]
    (episode,) = (each for each in rlds_kit.open(cart_pole).episodes)
    for step in (-1, episode.length - 1):
        with pytest.raises(ValueError, match=f"before the last one, to play on, got {step}"):
            standing_at(episode, step)
    with pytest.raises(WebSocketDisconnect), _playing_on(anna, dataset="reach", episode="x", step=1) as socket:
        socket.receive_json()


def _playing_on(person: Person, **query: Any) -> WebSocketTestSession:
    url = f"ws://127.0.0.1/ws/tasks/judge/play?{urlencode(query)}"
    return person.studio.client.websocket_connect(url, headers={"Authorization": f"Bearer {person.token}"})


def test_several_people_answer_the_same_queries_and_their_agreement_is_shown(designer: Person, studio: Studio) -> None:
    queue = _queue(designer, count=3, seed=9)
    for name, choices in (("a", ("first", "tie", "second")), ("b", ("first", "tie", "first"))):
        person = studio.person(Role.PARTICIPANT, name)
        for choice in choices:
            _answer(person, queue, {"choice": choice})
    found = designer.get(f"{HOME}/queues/{queue}/agreement")
    assert (found["answers"], found["annotators"], found["units"]) == (6, 2, 3)
    assert found["equal"] == pytest.approx(2 / 3)
    assert 0 < found["alpha"] < 1


def test_queries_of_any_strategy_can_be_put_into_a_queue(designer: Person, studio: Studio, data: Path) -> None:
    """In Python, also while the studio runs."""
    pool = preferences.cut(rlds_kit.open(data).episodes, 3)
    strategy = preferences.Disagreement(lambda segments: _scores(len(segments)), ensemble="abc", seed=0)
    made = preferences.queries(pool, strategy, 2, question="Which?")
    queue = write_queue(studio.directory, data, made, "Hard ones")
    shown = _next(designer, queue.id)
    assert (shown["query"]["id"], shown["name"]) == (str(made[0].id), "Hard ones")
    segment = made[0].segments[0]
    assert shown["query"]["segments"][0] == {
        "episode": str(segment.episode),
        "first": segment.steps.start if segment.steps else 0,
        "stop": segment.steps.stop if segment.steps else 0,
    }
    with pytest.raises(ValueError, match="expected queries of one kind with one question"):
        write_queue(studio.directory, data, [made[0], dataclasses.replace(made[1], question="Else?")], "Mixed")


def _scores(count: int) -> Any:
    return np.random.default_rng(0).standard_normal((3, count))


def test_episodes_are_shown_without_what_others_said(designer: Person, studio: Studio, data: Path) -> None:
    """To everybody who is logged in; nobody annotates them there."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    _answer(anna, _queue(designer, "text"), {"text": "secret"})
    episode = rlds_kit.open(data).episodes[0].id
    facts = anna.get(f"/api/replay/{episode}")
    assert (facts["annotations"], facts["can_annotate"], facts["length"]) == ([], False, 13)
    assert anna.get(f"/api/replay/{episode}/step/0")["fields"]
    anna.is_refused(403, "forbidden", "POST", f"/api/replay/{episode}/annotations", {"kind": "tag", "text": "x"})


def test_answers_that_do_not_fit_are_refused(designer: Person, studio: Studio) -> None:
    """Nothing of them is stored."""
    anna, queue = studio.person(Role.PARTICIPANT, "anna"), _queue(designer)
    path = f"{HOME}/queues/{queue}/answers"
    query = _next(anna, queue)["query"]["id"]
    for body in (
        {"query": query, "answer": {"choice": "third"}},
        {"query": query, "answer": {}},
        {"query": query, "answer": {"value": 1, "low": 0, "high": 2}},
        {"query": query, "answer": None},
        {"query": query},
        {"query": "x", "answer": {"choice": "tie"}},
        {"answer": {"choice": "tie"}},
    ):
        anna.is_refused(400, "bad_request", "POST", path, body)
    assert _next(anna, queue)["answered"] == 0


def test_who_may_not_is_refused(designer: Person, studio: Studio) -> None:
    """Participants make no queues and do not see how others answered; an unknown queue is none."""
    anna, queue = studio.person(Role.PARTICIPANT, "anna"), _queue(designer)
    anna.is_refused(403, "forbidden", "POST", f"{HOME}/queues", {"name": "Q"})
    anna.is_refused(403, "forbidden", "GET", f"{HOME}/queues/{queue}/agreement")
    anna.is_refused(404, "not_found", "GET", f"{HOME}/queues/nothing/next")
    body = {"name": "Q", "dataset": "reach", "kind": "dance", "count": 25, "length": 4}
    designer.is_refused(400, "bad_request", "POST", f"{HOME}/queues", body)
    body["kind"] = "comparison"
    assert "different groups" in designer.is_refused(400, "bad_request", "POST", f"{HOME}/queues", body)["message"]
