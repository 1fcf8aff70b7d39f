"""The benchmark of the studio measures what it says; how long things take is for it to say, not for tests."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("ale_py")

MEASURED: Final = """
from studio_side.environments import SMALL
from studio_side.overhead import overhead

measured = overhead(SMALL, sessions=2, rounds=10)
print(len(measured.milliseconds), measured.picture)
"""


@pytest.mark.thorough
def test_r44_every_step_is_measured_and_a_picture_of_atari_is_small() -> None:
    """Two kilobytes at most, and exact."""
    folder = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    steps, size = map(int, done.stdout.split())
    assert steps == 20
    assert 0 < size <= 2048
