"""A studio in which agents are trained."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.api.studio import Studio, opened


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One for the tests of a file; each has people of its own."""
    with opened(tmp_path_factory.mktemp("studio"), tasks=("train", "train=CartPole-v1")) as made:
        yield made


@pytest.fixture
def recordings(studio: Studio) -> Path:
    """Of the task."""
    return studio.directory / "tasks" / "train"
