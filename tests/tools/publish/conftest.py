"""Fixtures of the tests of publishing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Hub, running_hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub on this machine."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "rlds_kit_cache"))
    with running_hub(monkeypatch, tmp_path / "cache") as running:
        yield running
