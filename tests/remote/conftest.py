"""A dataset, a server that has it, and a cache of each test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rlds_kit.remote import retry
from tests.remote.datasets import record
from tests.remote.server import Server, list_files, serving

SHARDS = 4


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of several shards, without a writer."""
    directory = record(tmp_path_factory.mktemp("recorded") / "noise", SHARDS)
    list_files(directory)
    return directory


@pytest.fixture
def server(recorded: Path) -> Iterator[Server]:
    """Serves it."""
    with serving(recorded) as running:
        yield running


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RLDS_KIT_CACHE_BYTES", raising=False)
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No retry waits."""
    monkeypatch.setattr(retry, "WAITS", (0.0,) * 4)
