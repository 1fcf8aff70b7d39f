"""Shared fixtures of the studio's tests: databases of both kinds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio import postgres


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A PostgreSQL server for this test run."""
    if reason := postgres.why_not():
        pytest.skip(reason)
    with postgres.running() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studio.db'}"
    found: postgres.Cluster = request.getfixturevalue("cluster")
    return found.new_database()
