"""What `--executor`, `--workers` and `--address` choose."""

import os

import click
import pytest

from rlds_kit.base.executor.run import notify
from rlds_kit.cli.executor_options import executor_of


def _where(number: int) -> int:
    """The process that runs a task."""
    notify(number)
    return os.getpid()


def test_serial_runs_tasks_here() -> None:
    heard: list[int] = []
    with executor_of("serial", None, "local") as run:
        assert set(run(_where, range(3), notify=heard.append)) == {os.getpid()}
    assert heard == [0, 1, 2]


def test_processes_run_tasks_elsewhere() -> None:
    """In as many processes as there are workers."""
    with executor_of("processes", 1, "local") as run:
        (where,) = set(run(_where, range(3)))
    assert where != os.getpid()


@pytest.mark.thorough
def test_beam_runs_tasks_in_a_pipeline() -> None:
    """With one worker it is in this process, and no notification comes from it."""
    pytest.importorskip("apache_beam")
    heard: list[int] = []
    with executor_of("beam", 1, "local") as run:
        assert set(run(_where, range(3), notify=heard.append)) == {os.getpid()}
    assert heard == []


def test_serial_has_no_workers() -> None:
    with pytest.raises(click.BadParameter, match="expected none with --executor serial"):
        executor_of("serial", 2, "local")
