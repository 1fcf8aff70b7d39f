"""REST: trials are started, listed, watched, judged and ended; tokens, limits and errors."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from prometheus_client.parser import text_string_to_metric_families

import rlds_kit
from rlds_kit.base.rate_limit import Limit
from rlds_kit.trials.client import Client, Reward, ServiceError, Text
from rlds_kit.trials.service import Role
from rlds_kit.trials.service.api import OPERATIONS
from tests.trials.service.services import corridor, ended, reached, serving, token


def test_g26_trials_are_started_listed_watched_judged_and_ended(tmp_path: Path) -> None:
    """A reward for a past step is on the disk when the answer comes, also after the end."""
    with serving(directory=tmp_path) as client:
        trial = client.start(corridor(id="first", properties={"curriculum": "easy"}, max_steps=50))
        info = ended(client, trial)
        assert (trial, info.status, info.step) == ("first", "completed", 3)
        assert info.totals == {"player": 6.0}
        patient = client.start(corridor("patient", properties={"curriculum": "hard"}, answer_seconds=300))
        assert [each.id for each in client.trials(properties={"curriculum": "easy"})] == ["first"]
        assert [each.id for each in client.trials("ended")] == ["first"]
        reached(client, patient, lambda info: info.phase == "running")
        assert client.info(patient, observations=True).observations.keys() == {"player"}
        assert client.reward("first", Reward(seat="player", value=-1.0, step=2)) == {"player": -1.0}
        client.end(patient, "too slow", is_hard=True)
        assert (ended(client, patient).status, client.info(patient).reason) == ("abandoned", "too slow")
    judged = rlds_kit.open(tmp_path).as_amended("judgements")
    (episode,) = (each for each in judged.episodes if each.metadata.get("trial") == "first")
    assert episode.steps[1]["reward"] == -1.0


def test_g26_the_document_is_openapi_and_names_every_route() -> None:
    with serving() as client:
        document = httpx.get(f"{client._url}/openapi.json").json()
    validate(document, cls=OpenAPIV31SpecValidator)
    assert document["openapi"] == "3.1.0"
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert described == {(each.path, each.method) for each in OPERATIONS}
    assert {"StartTrial", "Act", "Join", "Observe", "Problem", "TrialInfo"} <= document["components"]["schemas"].keys()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("POST", "/v1/trials", {}, 400, "environment: "),
        (
            "POST",
            "/v1/trials",
            {"environment": "chess", "actors": {"a": {"implementation": "random"}}},
            400,
            "corridor",
        ),
        (
            "POST",
            "/v1/trials",
            {"environment": "corridor", "actors": {"a": {"implementation": "os:system"}}},
            400,
            "right",
        ),
        ("POST", "/v1/trials", {"environment": "corridor", "actors": {}, "more": 1}, 400, "more"),
        ("GET", "/v1/trials/none", None, 404, "there is no trial 'none'"),
        ("GET", "/v1/trials?phase=sleeping", None, 400, "expected one of initializing"),
        ("GET", "/v1/trials?property=easy", None, 400, "expected KEY=VALUE"),
        ("GET", "/v1/trials?filter=easy", None, 400, "expected the parameters"),
        ("GET", "/v1/watch?trial=none", None, 404, "there is no trial"),
        ("POST", "/v1/trials/none/end", {}, 404, "there is no trial"),
        ("POST", "/v1/trials/done/end", {}, 409, "expected a trial that runs"),
        ("POST", "/v1/trials/done/rewards", {"seat": "player", "value": 1, "step": 99}, 409, "steps 1 to 3"),
        ("POST", "/v1/trials/done/rewards", {"seat": "keeper", "value": 1}, 409, "keeper"),
        ("POST", "/v1/trials/done/messages", {"content": "hi", "sender": "keeper"}, 409, ""),
        ("POST", "/v1/trials", "x" * (1 << 20), 413, "bytes"),
        ("DELETE", "/v1/trials", None, 405, ""),
        ("GET", "/v2", None, 404, ""),
    ],
)
def test_g26_requests_are_refused_with_a_reason(
    shared: Client, method: str, path: str, body: Any, status: int, text: str
) -> None:
    answer = httpx.request(method, f"{shared._url}{path}", json=body, headers={"Authorization": f"Bearer {token()}"})
    assert answer.status_code == status, answer.text
    assert text in " ".join(answer.json()["problems"])


@pytest.fixture(scope="module")
def shared() -> Any:
    """A service with a trial that is over."""
    with serving() as client:
        ended(client, client.start(corridor(id="done")))
        yield client


def test_an_id_is_given_once(shared: Client) -> None:
    with pytest.raises(ServiceError, match="expected an id that no trial has") as caught:
        shared.start(corridor(id="done"))
    assert caught.value.status == 409


@pytest.mark.parametrize("role", [None, *Role])
def test_g26_tokens_may_do_what_their_role_says(shared: Client, role: Role | None) -> None:
    """Each operation, with each role, and without a token."""
    headers = {} if role is None else {"Authorization": f"Bearer {token(role)}"}
    for each in OPERATIONS:
        if each.name == "watch":
            continue  # the same check, and it does not end
        path = each.path.format(trial="none", service="none")
        status = httpx.request(each.method, f"{shared._url}{path}", headers=headers, content=b"?").status_code
        if each.role is None or (role is not None and role.includes(each.role)):
            assert status in {200, 400, 404}, each.name
        else:
            assert status == (401 if role is None else 403), each.name


@pytest.mark.parametrize("text", ["", "Bearer", "Bearer a.b", "Basic abc", "Bearer é.é", "expired"])
def test_other_tokens_are_refused(shared: Client, text: str) -> None:
    text = text.replace("expired", f"Bearer {token(seconds=-1)}")
    answer = httpx.get(f"{shared._url}/v1/trials", headers={b"Authorization": text.encode()})
    assert (answer.status_code, len(answer.json()["problems"])) == (401, 1)


def test_g26_requests_of_a_token_are_limited() -> None:
    """Those of others are not."""
    with serving(limit=Limit(per_second=0.001, burst=3)) as client:
        for _ in range(3):
            client.trials()
        with pytest.raises(ServiceError) as caught:
            client.trials()
        assert caught.value.status == 429
        with Client(client._url, token(name="ann")) as other:
            assert other.trials() == ()


def test_g25_metrics_and_health(shared: Client) -> None:
    health = httpx.get(f"{shared._url}/health").json()
    assert (health["status"], health["version"]) == ("ok", rlds_kit.__version__)
    answer = httpx.get(f"{shared._url}/metrics", headers={"Authorization": f"Bearer {token(Role.WATCHER)}"})
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["rlds_kit_trials", "ended"] >= 1
    assert samples["rlds_kit_trials_finished_total", "completed"] == 1
    assert samples["rlds_kit_tick_seconds_count",] == 3
    assert samples["rlds_kit_actor_seconds_count",] == 3
    assert samples["rlds_kit_waiting_seats",] == 0
    assert samples["rlds_kit_refused_messages_total",] >= 0
    assert samples["rlds_kit_dropped_states_total",] >= 0


def test_messages_between_seats_can_be_sent(shared: Client) -> None:
    trial = shared.start(corridor("patient", answer_seconds=300))
    reached(shared, trial, lambda info: info.phase == "running")
    shared.say(trial, Text(content="faster", sender="player", to=("player",)))
    shared.end(trial, is_hard=True)
