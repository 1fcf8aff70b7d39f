"""Judging recorded segments in the studio, over HTTP."""

import asyncio
import dataclasses
import json
import shutil
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
from rlds_kit.shaping.tasks.queues import Answers, Queue, read_queues
from rlds_kit.studio.database.roles import Role
from tests.shaping.preferences.recorded import record
from tests.studio.api.studio import Person, Studio, opened, refused

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
    """With the query, the strategy that drew it, and a pseudonym of its author."""
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
    ben, given = studio.person(Role.PARTICIPANT, "ben"), {"query": _next(anna, queue)["query"]["id"], "answer": done}
    for person, at in ((ben, 1), (anna, 2)):
        body = {**given, "answer": {"step": at, **done}}
        error = person.is_refused(400, "bad_request", "POST", f"{HOME}/queues/{queue}/answers", body)
        assert "what you played on from this step" in error["message"]
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


def test_where_an_episode_cannot_be_continued_the_page_says_why(studio: Studio, cart_pole: Path) -> None:
    """An episode without an environment, one that is over, and one that is not there."""
    anna = studio.person(Role.PARTICIPANT, "anna")
    episode = rlds_kit.open(studio.state.tasks[0].datasets[0]).episodes[0].id
    with _playing_on(anna, dataset="reach", episode=episode, step=1) as socket:
        assert "no environment id was recorded" in socket.receive_json()["failed"]
    (over,) = rlds_kit.open(cart_pole).episodes
    for step in (-1, over.length - 1):
        with pytest.raises(ValueError, match=f"before the last one, to play on, got {step}"):
            standing_at(over, step)
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


def test_episodes_are_shown_without_annotations_of_others(designer: Person, studio: Studio, data: Path) -> None:
    """To every logged-in user; they cannot be annotated there."""
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


HUGE = "1" + 400 * "0"
_MARK = '{"features": [{"field": "observation"}], "places": []}'
_PLACE = '{"step": 1, "top": 0, "left": 0, "height": 1, "width": 1}'


@pytest.mark.parametrize(
    ("kind", "answer", "message"),
    [
        ("rating", '{"value": 4, "low": 1, "high": 5}, "confidence": 7', "confidence"),
        ("rating", '{"value": 4, "low": 1, "high": 5}, "confidence": NaN', "NaN is no number"),
        ("rating", f'{{"value": 4, "low": 1, "high": 5}}, "confidence": {HUGE}', "more than 64 bits"),
        ("rating", f'{{"value": {HUGE}, "low": 1, "high": {HUGE}}}', "more than 64 bits"),
        ("rating", '{"value": 1e9, "low": 0, "high": 1e12}', "expected the scale 1.0 to 5.0"),
        ("rating", '{"value": true, "low": 1, "high": 5}', "value: "),
        ("ranking", '{"ranks": [true, 2, 3]}', "ranks.0: "),
        ("text", '{"text": {"a": [1]}}', "text: "),
        ("text", '{"text": "\\ud800"}', "half of a surrogate pair"),
        ("correction", '{"step": 4, "actions": [1], "played": null}', "from 0 to 3"),
        ("correction", '{"step": true, "actions": [1], "played": null}', "step: "),
        ("correction", '{"step": 1, "actions": [{}], "played": null}', "actions that are numbers"),
        ("correction", '{"step": 1, "actions": [null], "played": null}', "actions that are numbers"),
        ("correction", f'{{"step": 1, "actions": [{HUGE}], "played": null}}', "more than 64 bits"),
        ("correction", '{"step": 1, "actions": [[1], [1, 2]], "played": null}', "inhomogeneous"),
        ("correction", f'{{"step": 1, "actions": [1], "played": "{uuid.UUID(int=3)}"}}', "what you played on"),
        ("marks", _MARK.replace('"observation"', "[1]"), "features.0.field: "),
        ("marks", f'{{"places": [{_PLACE.replace("1", "4", 1)}]}}', "from 0 to 3"),
    ],
)
def test_answers_are_checked_before_they_are_stored(designer: Person, kind: str, answer: str, message: str) -> None:
    """Types, scale, steps of the segment, the author of played steps, and numbers that cannot be stored."""
    queue = _queue(designer, kind, count=1)
    query = _next(designer, queue)["query"]["id"]
    body = f'{{"query": "{query}", "answer": {answer}}}'
    found = designer.ask("POST", f"{HOME}/queues/{queue}/answers", content=body)
    assert message in refused(found, 400, "bad_request")["message"]
    assert _next(designer, queue)["answered"] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "\ud800"}, "half of a surrogate pair"),
        ({"name": ""}, "name: "),
        ({"question": "\0"}, "character 0"),
        ({"low": float("nan")}, "NaN is no number"),
        ({"low": 5, "high": 1}, "expected a scale from a number to a higher one"),
        ({"dataset": "nothere"}, "expected a dataset of the studio (reach, cart_pole), got 'nothere'"),
        ({"count": True}, "count: "),
        ({"kind": ["x"]}, "kind: "),
    ],
)
def test_a_queue_that_would_break_pages_is_not_made(designer: Person, given: dict[str, Any], message: str) -> None:
    """The list and all queues are available as before."""
    before = designer.get(HOME)
    body = {"name": "Q", "dataset": "reach", "kind": "rating", "count": 1, **given}
    found = designer.ask("POST", f"{HOME}/queues", content=json.dumps(body))
    assert message in refused(found, 400, "bad_request")["message"]
    assert designer.get(HOME) == before


def test_scales_and_names_are_checked_in_python(tmp_path: Path, data: Path) -> None:
    made = preferences.queries(preferences.cut(rlds_kit.open(data).episodes, 3), preferences.Uniform(0), 1)
    for name, scale in (("\ud800", {}), ("Q", {"low": 5.0, "high": 1.0}), ("Q", {"low": float("nan")})):
        with pytest.raises(ValueError, match=r"surrogate|expected a scale"):
            write_queue(tmp_path, data, made, name, **scale)
    assert not list(tmp_path.iterdir())


def test_the_next_query_does_not_wait_for_the_disk(
    designer: Person, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an answer is written, others are counted; none of this runs in the event loop."""
    queue, loops, real = _queue(designer, "text", count=2, question="Slow?"), [], Answers.about
    is_writing, may_end = threading.Event(), threading.Event()

    def about(answers: Answers, queue: Queue) -> list[preferences.Response]:
        loops.append(asyncio._get_running_loop())
        return real(answers, queue)

    def wait(*_: object) -> tuple[()]:
        is_writing.set()
        assert may_end.wait(60)
        return ()

    monkeypatch.setattr(Answers, "about", about)
    assert _answer(designer, queue, {"text": "a"})["answered"] == 1
    designer.get(HOME)
    assert loops.count(None) == len(loops) >= 3
    (answers,) = (each for each in studio.state.tasks[0]._answers.values() if each.dataset.path.name == "reach")
    (found,) = (each for each in read_queues(studio.directory / "tasks" / "judge") if each.id == queue)
    (response,) = real(answers, found)
    monkeypatch.setattr(answers._writer, "add_all", wait)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(answers.give, response, [])
        assert is_writing.wait(60)
        counted = pool.submit(real, answers, found)
        try:
            assert counted.result(10) == [response]
        finally:
            may_end.set()


def test_datasets_whose_folders_have_the_same_name_can_be_chosen(tmp_path: Path, data: Path) -> None:
    other = tmp_path / "other" / "reach"
    shutil.copytree(data, other)
    with opened(tmp_path / "studio", tasks=(f"judge={data}", f"judge={other}", f"judge={data}")) as studio:
        designer = studio.person()
        assert designer.get(HOME)["datasets"] == ["reach", "other/reach"]
        assert _next(designer, _queue(designer, dataset="other/reach"))["dataset"] == "other/reach"
        ((queue,), (at, _)) = read_queues(studio.directory / "tasks" / "judge"), studio.state.tasks[0].datasets
        assert (queue.dataset, at) == (other, data)


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
