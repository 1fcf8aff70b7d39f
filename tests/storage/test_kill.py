"""SIGKILL at any moment: every durable row can be read, the cut episode is INCOMPLETE, nothing is merged."""

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.repetitions import repetitions
from tests.storage.killing import Tally, kill_one, kill_one_of_two

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")

KILLS: Final = repetitions(18, least=9)
"""Of each of four kinds."""


def _all(kills: Iterable[Callable[[], Tally]]) -> Tally:
    """Runs kills two at a time: most of each is waiting for Python to start."""
    total = Tally()
    with ThreadPoolExecutor(2) as pool:
        for tally in pool.map(lambda kill: kill(), kills):
            total.add(tally)
    return total


@pytest.mark.sweep
def test_kills_of_a_process_with_one_environment(tmp_path: Path) -> None:
    """Rows that a recorder of one environment reported as durable can be read after its process was killed."""
    total = _all(partial(kill_one, tmp_path / str(seed), seed, 1) for seed in range(KILLS))
    assert total.kills == KILLS
    assert total.durable_rows > 0 < total.cut


def test_kills_of_a_process_that_records_columns(tmp_path: Path) -> None:
    """The same of environments that step together, whose rows are recorded as columns."""
    total = _all(partial(kill_one, tmp_path / str(seed), seed, 1 + seed % 8, "columns") for seed in range(KILLS))
    assert total.kills == KILLS
    assert total.durable_rows > 0 < total.cut


@pytest.mark.thorough
def test_kills_of_a_process_with_a_vector_of_environments(tmp_path: Path) -> None:
    """Rows that a recorder of eight interleaved episodes reported as durable can be read after a kill."""
    total = _all(partial(kill_one, tmp_path / str(seed), seed, 8) for seed in range(100, 100 + KILLS))
    assert total.kills == KILLS
    assert total.durable_rows > 0 < total.cut


@pytest.mark.thorough
def test_kills_of_one_of_two_processes_in_one_directory(tmp_path: Path) -> None:
    """A killed process does no harm to another one that records into the same directory."""
    total = _all(partial(kill_one_of_two, tmp_path / str(seed), seed) for seed in range(200, 200 + KILLS))
    assert total.kills == KILLS
    assert total.whole > 0 < total.cut
