"""Studios for tests of the server, on databases of both kinds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio import postgres
from tests.studio.api.studio import Studio, opened


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def studio(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio of a module; its tests use people and studies of their own."""
    database = None
    if request.param == "postgresql":
        cluster: postgres.Cluster = request.getfixturevalue("cluster")
        database = cluster.new_database()
    with opened(tmp_path_factory.mktemp("studio"), database=database) as made:
        yield made


@pytest.fixture
def small_studio(tmp_path: Path) -> Iterator[Studio]:
    """A studio for one test, on SQLite."""
    with opened(tmp_path / "studio") as made:
        yield made
