"""A studio with a crowd."""

from collections.abc import Iterator

import pytest

from tests.studio.api.studio import Studio
from tests.studio.crowd.crowds import a_crowd


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with a crowd; its tests bring people of their own."""
    with a_crowd(tmp_path_factory.mktemp("walks")) as studio:
        yield studio
