"""Designers edit keys, names and the default action: these are validated, versioned, shown and recorded."""

from typing import Any

import pytest

import rlds_kit
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.replay.action_names import action_names
from tests.studio.api.studio import CORRIDOR, Studio
from tests.studio.api.window import playing

TABLE = {
    "actions": [{"name": "back", "keys": ["KeyJ"]}, {"name": "Ünward", "keys": ["KeyK", "ArrowUp+Space"]}],
    "default": 1,
}


def body(controls: Any = None, **more: Any) -> dict[str, Any]:
    """A study, as a form sends it."""
    environment = {"name": "Walk", "environment": CORRIDOR, "turn": "press", "controls": controls}
    return {"v": 1, "name": "Walks", "environments": [environment], **more}


def test_keys_are_edited_versioned_seen_and_recorded(studio: Studio) -> None:
    """The window shows the names, the new keys act, the old ones do not, and the episode contains the table."""
    designer = studio.person()
    environment = body()["environments"][0]
    known = designer.post("/api/environments/controls", {"environment": environment})["controls"]
    assert [row["keys"] for row in known["actions"]] == [["ArrowLeft"], ["ArrowRight"]]
    made = designer.post("/api/studies", body())["study"]
    assert made["environments"][0]["controls"] is None
    changed = body(TABLE, version=1)
    changed["environments"][0]["id"] = made["environments"][0]["id"]
    study = designer.put(f"/api/studies/{made['id']}", changed)["study"]
    assert study["environments"][0] == {**made["environments"][0], "controls": TABLE}  # still the same environment
    versions = [designer.get(f"/api/studies/{made['id']}?version={version}")["content"] for version in (1, 2)]
    assert [each["environments"][0]["controls"] for each in versions] == [None, TABLE]
    designer.put(f"/api/studies/{made['id']}/state", {"enabled": True})

    player = studio.person(Role.PARTICIPANT)
    asked = {"study": study["id"], "environment": study["environments"][0]["id"]}
    with playing(studio, player.post("/api/sessions", asked)["token"]) as window:
        welcome = window.until("welcome")
        assert {(tuple(each["keys"]), each["name"]) for each in welcome["controls"]["chords"]} == {
            (("KeyJ",), "back"),
            (("KeyK",), "Ünward"),
            (("ArrowUp", "Space"), "Ünward"),
        }
        window.begin()
        window.say("keys", held={"ArrowLeft": 1.0})  # the old key has no action now, so there is no step
        window.say("keys", held={})
        window.press("KeyK", 1)
        window.press("KeyJ", 2)
        assert window.end()["steps"] == 2
    directory = studio.directory / "recordings" / study["id"] / study["environments"][0]["id"]
    (episode,) = [each for each in rlds_kit.open(directory).episodes if each.metadata.get("status") == "completed"]
    assert [int(step["action"]) for step in list(episode.steps)[:-1]] == [1, 0]
    assert episode.metadata["controls"] == {"player": {**TABLE, "first": 0}}
    assert action_names(episode) == ("back", "Ünward")


def row(*keys: str, name: str = "n") -> dict[str, Any]:
    """An action."""
    return {"name": name, "keys": list(keys)}


@pytest.mark.parametrize(
    ("actions", "default", "named"),
    [
        ([row("KeyW"), row("Escape")], 0, ["controls.actions.0.keys.0", "controls.actions.1.keys.0", "KeyW", "Escape"]),
        ([row("KeyJ", name=""), row("KeyK", name="x" * 81)], 0, ["actions.0.name", "actions.1.name"]),
        ([row("KeyJ"), row("KeyJ")], 0, ["KeyJ for the actions 0, 1"]),
        ([row("ArrowUp+Space"), row("Space+ArrowUp")], 0, ["ArrowUp+Space for the actions 0, 1"]),
        ([row("KeyJ"), row("KeyK")], 2, ["actions 0 to 1, got 2"]),
        ([row("KeyJ", name="a\nb"), row("KeyJ+KeyJ")], -1, ["actions.0.name", "actions.1.keys.0", "controls.default"]),
    ],
)
def test_bad_tables_are_refused_by_the_name_of_every_field(
    studio: Studio, actions: Any, default: int, named: list[str]
) -> None:
    """The error lists all problems of a table at once."""
    asked = body({"actions": actions, "default": default})
    error = studio.person().is_refused(400, "invalid", "POST", "/api/studies", asked)
    assert [each for each in named if each not in error["message"]] == []
    assert error["where"].startswith("environments.0.controls")


def test_a_table_of_other_actions_is_refused(studio: Studio) -> None:
    """A table with a missing row, and one for an environment whose actions are continuous."""
    designer = studio.person()
    short = body({"actions": TABLE["actions"][:1], "default": 0})  # type: ignore[index]
    error = designer.is_refused(422, "environments", "POST", "/api/studies", short)
    assert "a row for each of the 2 actions, got 1" in error["message"]
    smooth = body(TABLE)
    smooth["environments"][0]["environment"] = "Pendulum-v1"
    error = designer.is_refused(422, "environments", "POST", "/api/studies", smooth)
    assert "expected no table of keys" in error["message"]


def test_only_designers_may_ask_for_keys(studio: Studio) -> None:
    """Because the request makes an environment."""
    asked = {"environment": body()["environments"][0]}
    studio.person(Role.PARTICIPANT).is_refused(403, "forbidden", "POST", "/api/environments/controls", asked)
    wanted = {"environment": {**body()["environments"][0], "environment": "Pendulum-v1"}}
    assert studio.person().post("/api/environments/controls", wanted)["controls"] is None


def test_a_change_of_keys_is_checked(studio: Studio) -> None:
    """Even if the environment itself does not change."""
    designer = studio.person()
    made = designer.post("/api/studies", body())["study"]
    changed = body({"actions": TABLE["actions"][:1], "default": 0}, version=1)  # type: ignore[index]
    changed["environments"][0]["id"] = made["environments"][0]["id"]
    designer.is_refused(422, "environments", "PUT", f"/api/studies/{made['id']}", changed)
