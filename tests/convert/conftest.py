"""What tests of conversions share."""

import os
from pathlib import Path

import pytest

from benchmarks.side_by_side.venvs import ENVLOGGER, PeerMissingError, python_of


@pytest.fixture(scope="session")
def envlogger_python(request: pytest.FixtureRequest) -> Path:
    """An interpreter with EnvLogger 1.2, in a virtual environment that is made once and kept in pytest's cache."""
    cache = request.config.cache
    if cache is None:
        pytest.skip("the virtual environment is kept in pytest's cache, which is switched off")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")  # each its own: two must not make the same
    try:
        return python_of(ENVLOGGER, Path(cache.mkdir(f"peers-{worker}")))
    except PeerMissingError as error:
        pytest.skip(f"EnvLogger {error}")
