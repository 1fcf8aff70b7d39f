"""Environments of dm_env in studies: only those that the configured modules offer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.api.studio import CORRIDOR, MODULES, Studio, opened

CATCH = "tests.studio.play.catch"


@pytest.fixture(scope="module")
def catching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio whose modules have functions that make environments of dm_env."""
    directory: Path = tmp_path_factory.mktemp("studio")
    with opened(directory, modules=(*MODULES, CATCH)) as made:
        yield made


def test_r25_a_study_has_an_environment_of_dm_env(catching: Studio) -> None:
    """It is listed, has a schema without the seed, and is inspected; its id determines its interface."""
    designer = catching.person()
    listed = designer.get("/api/environments")["environments"]
    assert [each for each in listed if ":" in each] == [f"{CATCH}:seeded", f"{CATCH}:unseeded"]
    assert designer.get(f"/api/environments/{CATCH}:seeded/schema")["schema"]["properties"] == {}
    given = {"name": "Catch", "environment": f"{CATCH}:seeded", "turn": "press"}
    made = designer.post("/api/studies", {"name": "S", "environments": [given]})["study"]
    assert made["environments"][0]["interface"] == "dm_env"
    both = designer.post("/api/environments/check", {"environments": [given, {"name": "C", "environment": CORRIDOR}]})
    assert not both["compatible"]


@pytest.mark.parametrize(
    "asked",
    ["os:getcwd", f"{CATCH}:Catch", f"{CATCH}:np", "tests.studio.postgres:new", "tests.studio.api.studio:opened"],
)
def test_what_no_module_offers_is_refused(catching: Studio, asked: str) -> None:
    """A request never imports a module or calls a function that is not declared as a maker of environments."""
    study = {"name": "S", "environments": [{"name": "E", "environment": asked}]}
    catching.person().is_refused(422, "unknown_environment", "POST", "/api/studies", study)


def test_an_interface_that_is_not_that_of_the_id_is_refused(catching: Studio) -> None:
    """Else it would be ambiguous which environment to make."""
    environments = [{"name": "E", "environment": f"{CATCH}:seeded", "interface": "gymnasium"}]
    study = {"name": "S", "environments": environments}
    error = catching.person().is_refused(400, "invalid", "POST", "/api/studies", study)
    assert "dm_env" in error["message"]
