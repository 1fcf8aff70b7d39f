"""The environments that can be made, and their arguments."""

import asyncio

from rlds_kit.trials.environments.playable import EnvironmentSpec
from tests.studio.api.studio import CORRIDOR, WALK, Studio
from tests.studio.studio_process import PATIENCE


def test_every_environment_of_gymnasium_and_of_the_modules_is_listed(studio: Studio) -> None:
    """Including those of the Arcade Learning Environment, which is installed."""
    found = studio.person().get("/api/environments")["environments"]
    assert {"CartPole-v1", "ALE/Breakout-v5", CORRIDOR} <= set(found)
    assert found == sorted(found)


def test_environments_that_import_what_an_argument_names_are_none(studio: Studio) -> None:
    """Those with which Gymnasium wraps environments of old Gym are not listed: a request never imports a module."""
    designer = studio.person()
    assert not [each for each in designer.get("/api/environments")["environments"] if each.startswith("GymV")]
    asked = {"name": "S", "environments": [{"name": "E", "environment": "GymV26Environment-v0"}]}
    designer.is_refused(422, "unknown_environment", "POST", "/api/studies", asked)


def test_r2_a_form_can_be_made_for_any_environment(studio: Studio) -> None:
    """The schema agrees with the environment's signature, for ids with and without a slash."""
    designer = studio.person()
    lake = designer.get("/api/environments/FrozenLake-v1/schema")["schema"]
    assert lake["properties"]["is_slippery"] == {"type": "boolean", "default": True}
    game = designer.get("/api/environments/ALE/Breakout-v5/schema")["schema"]
    assert game["properties"]["obs_type"]["enum"] == ["rgb", "grayscale", "ram"]
    corridor = designer.get(f"/api/environments/{CORRIDOR}/schema")["schema"]
    assert corridor["properties"] == {"trouble": {"type": "string", "default": ""}}


def test_schemas_are_known_after_a_worker_was_lost(small_studio: Studio) -> None:
    """Every inspecting process imports the modules that register environments."""
    designer = small_studio.person()
    designer.get("/api/environments")

    async def lose() -> None:
        await small_studio.state.inspector.close()

    assert small_studio.client.portal is not None
    small_studio.client.portal.call(lose)
    assert designer.get(f"/api/environments/{CORRIDOR}/schema")["schema"]["title"] == CORRIDOR


def test_who_wants_to_play_does_not_wait_for_who_tries_environments(small_studio: Studio) -> None:
    """An environment that hangs in an inspection delays other designers, but no game."""
    small_studio.person().get("/api/environments")
    inspector = small_studio.state.inspector

    async def ask() -> EnvironmentSpec:
        async with inspector._one_at_a_time:  # while an environment is inspected
            found: EnvironmentSpec = await asyncio.wait_for(inspector.spec_of(WALK), PATIENCE)
            return found

    assert small_studio.client.portal is not None
    assert small_studio.client.portal.call(ask).id.endswith(CORRIDOR)


def test_unknown_environments_have_no_schema(studio: Studio) -> None:
    """And a module that is named in the path is not imported."""
    designer = studio.person()
    for name in ("NoSuch-v0", "antigravity:X-v0", "a/b/c"):
        designer.is_refused(422, "unknown_environment", "GET", f"/api/environments/{name}/schema")


def test_what_needs_something_that_is_missing_says_what(studio: Studio) -> None:
    """The response has the environment's own error."""
    path = "/api/environments/rlds_kit_tests/Broken-v0/schema"
    error = studio.person().is_refused(422, "environment", "GET", path)
    assert "rlds_kit_tests_no_such_module" in error["message"]


def test_r1_environments_are_compared(studio: Studio) -> None:
    """All problems are listed, each with its place in the list."""
    designer = studio.person()
    asked = [
        {"name": "Walk", "environment": CORRIDOR},
        {"name": "Cart", "environment": "CartPole-v1"},
        {"name": "Walk on", "environment": CORRIDOR, "kwargs": {"trouble": "crash"}},
        {"name": "Broken", "environment": CORRIDOR, "kwargs": {"nonsense": 1}},
    ]
    found = designer.post("/api/environments/check", {"environments": asked})
    assert not found["compatible"]
    assert {each["environment"] for each in found["problems"]} == {1, 3}
    assert "nonsense" in next(each["message"] for each in found["problems"] if each["environment"] == 3)
    assert designer.post("/api/environments/check", {"environments": asked[::2]}) == {
        "compatible": True,
        "problems": [],
    }
    designer.is_refused(400, "invalid", "POST", "/api/environments/check", {"environments": "all"})
