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
COUNTED: Final = """
import asyncio
import tempfile
from pathlib import Path

from studio_side import contests
from studio_side.counted import agreeing
from studio_side.processes import serving

with tempfile.TemporaryDirectory() as folder:
    with serving(Path(folder)) as server:
        held = asyncio.run(contests.sessions(server, 24, 1.0, contests.COUNTED))
    print(held.sessions, agreeing(Path(folder)))
"""


def _printed(script: str) -> list[int]:
    """The numbers that a script prints that stands beside the benchmark."""
    folder = Path(__file__).parents[2] / "benchmarks"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [int(each) for each in done.stdout.split()]


@pytest.mark.thorough
def test_r44_every_step_is_measured_and_a_picture_of_atari_is_small() -> None:
    """Two kilobytes at most, and exact."""
    steps, size = _printed(MEASURED)
    assert steps == 20
    assert 0 < size <= 2048


@pytest.mark.thorough
def test_c51_24_sessions_with_four_collectors_count_what_their_recordings_say() -> None:
    """All at once, in a server of their own; how many steps a second that makes is for the benchmark to say."""
    assert _printed(COUNTED) == [24, 24]
