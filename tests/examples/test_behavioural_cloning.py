"""The example that clones a CartPole demonstrator."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "behavioural_cloning.py"


@pytest.mark.thorough
@pytest.mark.skipif(not EXAMPLE.exists(), reason="a wheel holds no examples")
def test_clones_reach_the_return_of_the_demonstrator(sweep: Callable[[int], int]) -> None:
    """With each seed, three in all, the clone's mean return over 50 episodes is at least 80 % of the demonstrator's."""
    pytest.importorskip("torch")
    seeds = ["0", "1", "2"][: sweep(3)]
    command = [sys.executable, "-W", "error", str(EXAMPLE), "--seeds", *seeds]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == seeds
    for _, theirs, ours, _ in rows:
        assert float(theirs) > 400
        assert float(ours) >= 0.8 * float(theirs)
