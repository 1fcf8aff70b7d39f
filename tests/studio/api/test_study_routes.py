"""Making, reading, changing, enabling and disabling studies."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.seating import Together
from tests.studio.api.studio import CORRIDOR, WALK, Studio, refused


def environment(**changes: Any) -> dict[str, Any]:
    """An environment of a study, as a form sends it."""
    return {"name": "Walk", "environment": CORRIDOR, "turn": "press", **changes}


def content(*environments: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A study, as a form sends it."""
    return {"v": 1, "name": "Walks", "environments": list(environments or (environment(),)), **changes}


def test_r1_a_study_reads_back_as_it_was_made(studio: Studio) -> None:
    """Over HTTP as in the database: texts, order and settings of the environments."""
    designer = studio.person()
    first = environment(instructions="→", kwargs={"trouble": ""}, fps=30.0, max_steps=7)
    asked = content(first, environment(name="Walk on", turn="hold"), description="d", instructions="# Ünïcode 🎮")
    made = designer.post("/api/studies", asked)["study"]
    found = designer.get(f"/api/studies/{made['id']}")["study"]
    assert found == made
    assert {name: found[name] for name in ("name", "description", "instructions")} == {
        "name": "Walks",
        "description": "d",
        "instructions": "# Ünïcode 🎮",
    }
    alone = {"seats": [], "together": asdict(Together())}
    assert [{**each, "id": None} for each in found["environments"]] == [
        {"id": None, "interface": "gymnasium", "controls": None, **alone, **first},
        {
            "id": None,
            "interface": "gymnasium",
            "name": "Walk on",
            "environment": CORRIDOR,
            "turn": "hold",
            "instructions": "",
            "kwargs": {},
            "fps": 15.0,
            "max_steps": None,
            "controls": None,
            **alone,
        },
    ]
    assert (found["version"], found["enabled"], found["is_own"], found["can_edit"]) == (1, False, True, True)


@pytest.mark.parametrize("version", [0, -1, 2**31, 2**63 - 1, 2**63, 10**40, True, 1.0, "1"])
def test_versions_that_cannot_be_are_refused(studio: Studio, version: Any) -> None:
    """Including those that no database can store."""
    designer = studio.person()
    made = designer.post("/api/studies", content())["study"]
    designer.is_refused(400, "invalid", "PUT", f"/api/studies/{made['id']}", content(version=version))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400])
def test_numbers_that_cannot_be_sent_again_are_refused(studio: Studio, number: str) -> None:
    """Else the list of studies could not be shown to any account any more."""
    designer = studio.person()
    text = json.dumps(content(environment(environment="CartPole-v1", kwargs={"sutton_barto_reward": "@"})))
    headers = {"Authorization": f"Bearer {designer.token}"}
    answer = studio.client.post("/api/studies", content=text.replace('"@"', number), headers=headers)
    refused(answer, 400, "invalid")
    assert designer.get("/api/studies")["studies"] == []


def test_r1_environments_of_other_spaces_are_refused_with_a_reason(studio: Studio) -> None:
    """The error names the environment, the field, and both values; no study is made."""
    designer = studio.person()
    asked = content(environment(), environment(name="Cart", environment="CartPole-v1"))
    error = designer.is_refused(422, "environments", "POST", "/api/studies", asked)
    assert error["where"].startswith("environments.1.")
    assert "Cart has" in error["message"]
    assert "Walk has" in error["message"]
    assert designer.get("/api/studies")["studies"] == []


@pytest.mark.parametrize(
    ("given", "status", "code", "where"),
    [
        (environment(environment="NoSuch-v0"), 422, "unknown_environment", "environment"),
        (environment(environment="os:getcwd"), 422, "unknown_environment", "environment"),
        (environment(environment="os.path:join:x"), 400, "invalid", "environments.0.environment"),
        (environment(kwargs={"nonsense": 1}), 422, "environments", "environments.0"),
        (environment(kwargs={"render_mode": "human"}), 400, "invalid", "environments.0.kwargs"),
        (environment(fps=0), 400, "invalid", "environments.0.fps"),
        (environment(fps=61), 400, "invalid", "environments.0.fps"),
        (environment(turn="fast"), 400, "invalid", "environments.0.turn"),
        (environment(max_steps=0), 400, "invalid", "environments.0.max_steps"),
        (environment(interface="pettingzoo"), 422, "interface", "interface"),
        (environment(id="0" * 32), 404, "not_found", ""),
    ],
)
def test_r3_environments_that_cannot_be_are_refused(
    studio: Studio, given: dict[str, Any], status: int, code: str, where: str
) -> None:
    """The error names the place."""
    error = studio.person().is_refused(status, code, "POST", "/api/studies", content(given))
    assert error["where"] == where


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": 3}, "name"),
        ({"environments": []}, "environments"),
        ({"instructions": "x" * 50_001}, "instructions"),
        ({"owner": "me"}, "owner"),
        ({"v": 2}, "v"),
    ],
)
def test_r3_malformed_studies_are_refused(studio: Studio, changes: dict[str, Any], where: str) -> None:
    """The error names the field; fields of the server cannot be set."""
    error = studio.person().is_refused(400, "invalid", "POST", "/api/studies", content(**changes))
    assert error["where"] == where


def test_r2_a_change_makes_a_version_and_old_ones_can_be_read(studio: Studio) -> None:
    """An unchanged environment has the same id, and so the same episodes."""
    designer = studio.person()
    study = studio.study(designer, WALK)
    kept = study.content.environments[0].id
    asked = content(environment(id=kept, name="Renamed"), environment(), name="Two walks", version=1)
    changed = designer.put(f"/api/studies/{study.id}", asked)["study"]
    assert (changed["version"], changed["name"], changed["enabled"]) == (2, "Two walks", True)
    assert [each["name"] for each in changed["environments"]] == ["Renamed", "Walk"]
    assert changed["environments"][0]["id"] == kept
    old = designer.get(f"/api/studies/{study.id}?version=1")
    assert (old["version"], old["content"]["name"]) == (1, "S")
    designer.is_refused(409, "stale", "PUT", f"/api/studies/{study.id}", asked)


@pytest.mark.parametrize(("version", "status"), [("3", 404), ("x", 400), ("-1", 400), ("٣", 400), ("9" * 30, 400)])
def test_versions_that_are_not_there(studio: Studio, version: str, status: int) -> None:
    """Text is an error of the request, an unknown number is not found."""
    designer = studio.person()
    study = studio.study(designer)
    code = {400: "invalid", 404: "not_found"}[status]
    designer.is_refused(status, code, "GET", f"/api/studies/{study.id}?version={version}")


def test_r4_enabling_lets_others_in(studio: Studio) -> None:
    """Before that, and again after it was disabled, a participant gets an error that says so."""
    designer, player = studio.person(), studio.person(Role.PARTICIPANT)
    study = studio.study(designer, is_enabled=False)
    path = f"/api/studies/{study.id}"
    assert "not open now" in player.is_refused(403, "forbidden", "GET", path)["message"]
    assert designer.put(f"{path}/state", {"enabled": True})["study"]["enabled"]
    assert player.get(path)["study"]["can_play"]
    assert study.id in [each["id"] for each in player.get("/api/studies")["studies"]]
    designer.put(f"{path}/state", {"enabled": False})
    player.is_refused(403, "forbidden", "GET", path)
    assert study.id not in [each["id"] for each in player.get("/api/studies")["studies"]]
    designer.is_refused(400, "invalid", "PUT", f"{path}/state", {"enabled": "yes"})


def test_environments_of_a_running_study_are_tried_only_when_they_change(studio: Studio) -> None:
    """A change of texts does not make them again; a new environment is tried before it is accepted."""
    designer = studio.person()
    study = studio.study(designer, WALK)
    kept = study.content.environments[0].id
    broken = content(environment(id=kept, kwargs={"nonsense": 1}), version=1)
    designer.is_refused(422, "environments", "PUT", f"/api/studies/{study.id}", broken)
    assert designer.get(f"/api/studies/{study.id}")["study"]["version"] == 1


def test_a_visitor_reads_what_a_study_is_called_before_anybody_asks_for_a_name(studio: Studio) -> None:
    """A visitor with the link of an enabled study gets its name; for a disabled one, only that it is disabled."""
    designer = studio.person()
    study, closed = studio.study(designer, name="Two lakes"), studio.study(designer, name="Secret", is_enabled=False)
    found = studio.client.get(f"/api/open-studies/{study.id}").json()["study"]
    assert found == {"id": study.id, "name": "Two lakes", "description": ""}
    error = refused(studio.client.get(f"/api/open-studies/{closed.id}"), 403, "forbidden")
    assert "not open now" in error["message"]
    assert "Secret" not in error["message"]
    refused(studio.client.get(f"/api/open-studies/{'0' * 32}"), 404, "not_found")
    refused(studio.client.get(f"/api/studies/{study.id}"), 401, "login")
