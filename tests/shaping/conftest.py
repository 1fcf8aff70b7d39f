"""A running server of language models."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.shaping.language import server as module


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server in another process."""
    with subprocess.Popen([sys.executable, str(module.__file__)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()
