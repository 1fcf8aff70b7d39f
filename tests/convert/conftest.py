"""What tests of conversions share."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.side_by_side.venvs import ENVLOGGER, PeerMissingError, python_of


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process is inside."""
    fcntl = pytest.importorskip("fcntl", reason="EnvLogger has no wheel for Windows")
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed, or its process ends
        yield


@pytest.fixture(scope="session")
def envlogger_python(request: pytest.FixtureRequest) -> Path:
    """An interpreter with EnvLogger 1.2, in a virtual environment that is created once and stored in pytest's cache."""
    cache = request.config.cache
    if cache is None:
        pytest.skip("the virtual environment is kept in pytest's cache, which is switched off")
    place = Path(cache.mkdir("peers"))
    try:
        with locked(place / "lock"):  # processes of one run share it, and the first makes it
            return python_of(ENVLOGGER, place)
    except PeerMissingError as error:
        pytest.skip(f"EnvLogger {error}")
