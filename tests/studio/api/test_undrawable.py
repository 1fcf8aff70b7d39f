"""Environments that need a missing package: designers get an error, participants never reach it."""

from typing import Any

import pytest

from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.studies import StudyEnvironment
from tests.studio.api.broken_environments import ADVICE
from tests.studio.api.studio import CORRIDOR, Person, Studio
from tests.studio.api.window import URL, Window, headers_of

UNDRAWABLE = "rlds_kit_tests/Undrawable-v0"
UNMADE = "rlds_kit_tests/Unmade-v0"


def errors(studio: Studio, player: Person, environment: str, *, own: bool) -> list[str]:
    """All errors that a player of a study with such an environment receives, until no more arrive."""
    owner = player if own else studio.person()
    study = studio.study(owner, StudyEnvironment(name="Dark", environment=environment, turn="press"))
    asked = {"study": study.id, "environment": study.content.environments[0].id}
    token = player.post("/api/sessions", asked)["token"]
    told: list[str] = []
    with studio.client.websocket_connect(URL, headers=headers_of(player)) as socket:
        window = Window(socket)
        window.say("hello", token=token)
        while "last" not in told:
            said: Any = window._next()
            assert isinstance(said, dict)
            told += [str(said.get("message", "")), str(said.get("reason", ""))]
            if said["type"] == "error" or said.get("code") == "ended":
                told.append("last")
    return told


@pytest.mark.parametrize("environment", [UNDRAWABLE, UNMADE])
def test_a_study_is_drawn_before_it_is_made(studio: Studio, environment: str) -> None:
    """The error for the study's maker names the missing package and the environment."""
    designer = studio.person()
    given = [{"name": "Walk", "environment": CORRIDOR}, {"name": "Dark", "environment": environment}]
    error = designer.is_refused(422, "environments", "POST", "/api/studies", {"name": "S", "environments": given})
    assert error["where"] == "environments.1"
    assert ADVICE in error["message"]
    (problem,) = designer.post("/api/environments/check", {"environments": given})["problems"]
    assert (problem["environment"], ADVICE in problem["message"]) == (1, True)


def test_a_study_is_drawn_before_it_is_opened(studio: Studio) -> None:
    """A package may have been removed since the study was made."""
    designer = studio.person()
    dark = StudyEnvironment(name="Dark", environment=UNDRAWABLE)
    study = studio.study(designer, dark, is_enabled=False)
    error = designer.is_refused(422, "environments", "PUT", f"/api/studies/{study.id}/state", {"enabled": True})
    assert ADVICE in error["message"]
    assert not designer.get(f"/api/studies/{study.id}")["study"]["enabled"]
    designer.put(f"/api/studies/{study.id}/state", {"enabled": False})
    opened = studio.study(designer, is_enabled=False)
    assert designer.put(f"/api/studies/{opened.id}/state", {"enabled": True})["study"]["enabled"]


@pytest.mark.parametrize("environment", [UNDRAWABLE, UNMADE])
def test_participants_never_see_advice_on_installations(studio: Studio, environment: str) -> None:
    """Their error says whom to inform; the designer sees the error itself."""
    told = errors(studio, studio.person(Role.PARTICIPANT), environment, own=False)
    assert not [each for each in told if "pip" in each or "Dependency" in each]
    assert [each for each in told if "the person who invited you" in each]
    assert [each for each in errors(studio, studio.person(), environment, own=True) if ADVICE in each]
