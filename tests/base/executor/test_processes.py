"""Processes that run tasks: reports, notifications, errors, and death."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from rlds_kit.base.executor import ExecutorError, WorkerDiedError, on_processes, serially
from rlds_kit.base.executor.run import attempt, notify


def _square(number: int) -> tuple[int, int]:
    notify(number)
    return number * number, os.getpid()


def _die_at_two(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


class _OddError(Exception):
    """An error that a pickle does not restore."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} is not {other}")


def _fail(number: int) -> int:
    raise _OddError(number, 0)


def test_processes_serve_several_runs() -> None:
    """The tasks of both runs have the same processes; notifications arrive in this one."""
    amounts: list[int] = []
    with on_processes(2) as run:
        first = sorted(run(_square, range(20), notify=amounts.append))
        second = sorted(run(_square, range(20)))
    assert [square for square, _ in first] == [square for square, _ in second] == [n * n for n in range(20)]
    assert sum(amounts) == sum(range(20))
    assert {process for _, process in first + second} == {process for _, process in first}
    assert os.getpid() not in {process for _, process in first}


def _notify_often(number: int) -> int:
    for _ in range(number):
        notify(1)
    return number


def test_notifications_are_summed() -> None:
    """What a task reports in quick succession arrives in few messages, and all of it before its outcome."""
    amounts: list[int] = []
    with on_processes(1) as run:
        for done, report in enumerate(run(_notify_often, [5_000] * 3, notify=amounts.append), 1):
            assert (sum(amounts), report) == (5_000 * done, 5_000)
    assert len(amounts) < 1_000


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_a_process_that_died_is_named_and_replaced() -> None:
    """The message has the part and the signal; the executor can be used again."""
    with on_processes(1) as run:
        with pytest.raises(WorkerDiedError, match=r"worked on 2 died of signal SIGKILL.*run the same command again"):
            list(run(_die_at_two, [1, 2, 3]))
        assert list(run(_die_at_two, [3])) == [3]


def test_a_run_may_end_early() -> None:
    """Its processes are stopped, also in the middle of a task."""
    with on_processes(2) as run:
        with closing(run(_square, range(20))) as reports:  # type: ignore[type-var]  # a generator
            next(reports)
        assert len(list(run(_square, range(3)))) == 3


def test_an_error_that_no_pickle_restores_keeps_its_text() -> None:
    """Its class is named, and a note has the traceback of the worker."""
    error = attempt(_fail, 1).error
    assert isinstance(error, ExecutorError)
    assert str(error) == "_OddError: 1 is not 0"
    assert "in _fail" in error.__notes__[0]


def test_the_serial_executor_notifies_too(tmp_path: Path) -> None:
    """It is this process that runs its tasks."""
    amounts: list[int] = []
    with serially() as run:
        assert list(run(_square, [2, 3], shared=tmp_path, notify=amounts.append)) == [
            (4, os.getpid()),
            (9, os.getpid()),
        ]
    assert amounts == [2, 3]
