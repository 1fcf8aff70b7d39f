"""The floors that docs/architecture.md shows are those that `make lint` checks."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent


@pytest.mark.skipif(not (CHECKOUT / "docs").exists(), reason="a wheel holds no docs")
def test_table_and_picture_are_those_of_the_contracts() -> None:
    done = subprocess.run(
        [sys.executable, "docs/floors.py", "--check"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
