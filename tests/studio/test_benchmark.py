"""The benchmark of the studio measures what it claims to; its times are not tested here."""

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
    """Each picture has at most two kilobytes, and is exact."""
    folder = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    steps, size = map(int, done.stdout.split())
    assert steps == 20
    assert 0 < size <= 2048
