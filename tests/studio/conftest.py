"""What tests of the studio share: databases of both kinds, and an end to each test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.studio import postgres

HERE: Final = Path(__file__).parent
SECONDS: Final = 300
"""For a test and its fixtures. They talk to other processes and threads, which may never answer."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """No test of the studio hangs; without pytest-timeout there is no such limit."""
    for item in items:
        if item.path.is_relative_to(HERE) and config.pluginmanager.hasplugin("timeout"):
            item.add_marker(pytest.mark.timeout(SECONDS))


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """A PostgreSQL of this test run."""
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
