"""Tasks that run in this process and in others at the same time."""

import multiprocessing
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from queue import SimpleQueue
from typing import Any

import pytest

from rlds_kit.base.executor import WorkerDiedError, on_this_and_processes
from rlds_kit.base.executor.processes import Worker
from rlds_kit.base.executor.run import Outcome, notify
from rlds_kit.base.executor.shared import _serve


def _square(number: int) -> tuple[int, int]:
    time.sleep(0.02)  # so that the others get some
    notify(number)
    return number * number, os.getpid()


def _die_elsewhere(home: int) -> int:
    for _ in range(1000):
        notify(0)
        if os.getpid() != home:
            os._exit(3)
        time.sleep(0.01)
    return home


def _fail_elsewhere(home: int) -> int:
    for _ in range(1000):
        notify(0)
        if os.getpid() != home:
            raise KeyError(home)
        time.sleep(0.01)
    return home


def test_this_process_works_too() -> None:
    """Each part is done once; all notifications arrive here; several runs have the same processes."""
    amounts: list[int] = []
    with on_this_and_processes(2) as run:
        while True:  # until the other process has started
            found = list(run(_square, range(20), notify=amounts.append))
            assert sorted(square for square, _ in found) == [n * n for n in range(20)]
            assert sum(amounts) == sum(range(20))
            amounts.clear()
            processes = {process for _, process in found}
            assert os.getpid() in processes
            if len(processes) > 1:
                break
        assert {process for _, process in run(_square, range(20))} == processes


def test_one_worker_is_this_process() -> None:
    """Nothing is started, also where there is but one part."""
    for workers, parts in ((1, 5), (4, 1)):
        with on_this_and_processes(workers) as run:
            assert {process for _, process in run(_square, range(parts))} == {os.getpid()}


def test_the_others_may_end_after_one_run() -> None:
    """They do while the caller goes on."""
    with on_this_and_processes(3, 2, runs_once=True) as run:
        processes = multiprocessing.active_children()
        assert len(processes) == 2
        assert len(list(run(_square, range(20)))) == 20
        for each in processes:
            each.join(60)
            assert each.exitcode == 0


def _loaded(_: int) -> tuple[int, bool]:
    time.sleep(0.02)
    return os.getpid(), "wave" in sys.modules


def test_modules_are_imported_before_there_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the others alone; nothing waits for processes that get no work."""
    monkeypatch.delitem(sys.modules, "wave", raising=False)  # another test of this process may have imported it
    with on_this_and_processes(2, 1, ["wave"]) as run:
        found = set[tuple[int, bool]]()
        while len(found) < 2:
            found |= set(run(_loaded, range(20)))
    assert {(process == os.getpid(), is_loaded) for process, is_loaded in found} == {(True, False), (False, True)}
    with on_this_and_processes(3, 9, ["wave"]) as run:
        assert list(run(_loaded, [0])) == [(os.getpid(), False)]


def test_a_process_that_died_interrupts_the_others() -> None:
    """The error comes while this process works."""
    with on_this_and_processes(2) as run, pytest.raises(WorkerDiedError, match="died with exit code 3"):
        list(run(_die_elsewhere, [os.getpid()] * 2))


def _die_at_three_elsewhere(task: tuple[int, int]) -> int:
    number, home = task
    for _ in range(1000):
        notify(1)
        if os.getpid() != home:
            if number == 3:
                os._exit(4)
            return number
        time.sleep(0.01)
    return number


def test_who_died_is_named_with_its_part() -> None:
    """Not with the one that it was given ahead."""
    with on_this_and_processes(2) as run, pytest.raises(WorkerDiedError, match=r"worked on \(3, \d+\) died"):
        list(run(_die_at_three_elsewhere, [(number, os.getpid()) for number in range(10)]))


@contextmanager
def _served(waiting: deque[Any]) -> Iterator[tuple[Worker, Callable[[Any], Any]]]:
    """A worker without a process that works on part 0; a function sends a message for it, and waits for its effect."""
    worker = Worker.__new__(Worker)
    worker._task, worker.parts = _square, [0]
    worker.pipe, process = multiprocessing.Pipe()
    (stop, theirs), messages = multiprocessing.Pipe(), SimpleQueue[Any]()
    thread = threading.Thread(target=_serve, args=([worker], _square, waiting, messages, theirs), daemon=True)
    thread.start()

    def send(message: Any) -> None:
        process.send(message)
        messages.get(timeout=60)

    yield worker, send
    stop.send(None)
    thread.join()
    for each in (worker.pipe, process, stop):
        each.close()


def test_one_part_is_given_ahead() -> None:
    """As long as there are parts for all; the last ones are left to the first that is idle."""
    with _served(deque([1, 2, 3, 4, 5])) as (worker, send):
        for message, parts in (
            (7, [0, 1]),
            (7, [0, 1]),
            (Outcome(0), [1, 2]),
            (7, [1, 2]),
            (Outcome(0), [2, 3]),  # no more than two are left for two processes
            (Outcome(0), [3]),
            (7, [3]),
            (Outcome(0), [4]),
        ):
            send(message)
            assert worker.parts == parts


def test_a_large_part_is_not_given_ahead() -> None:
    """A process that works does not receive, and a pipe holds little."""
    large = bytes(1 << 22)
    waiting: deque[Any] = deque([large, 2, 3, 4, 5])
    with _served(waiting) as (worker, send):
        send(7)
        assert worker.parts == [0]
        assert list(waiting) == [large, 2, 3, 4, 5]


def test_nothing_is_given_after_an_error() -> None:
    """Also where a process has a part that it was given ahead."""
    waiting: deque[Any] = deque(range(1, 9))
    with _served(waiting) as (worker, send):
        send(7)
        send(Outcome(error=KeyError()))
        assert worker.parts == [1]
        send(7)
        assert (worker.parts, list(waiting)) == ([1], [])


def test_an_error_elsewhere_comes_here() -> None:
    """With its class, and afterwards the executor can be used again."""
    with on_this_and_processes(2) as run:
        with pytest.raises(KeyError, match=str(os.getpid())):
            list(run(_fail_elsewhere, [os.getpid()] * 2))
        assert len(list(run(_square, range(3)))) == 3


def test_a_run_may_end_early() -> None:
    """Its processes are stopped, also in the middle of a task."""
    with on_this_and_processes(3) as run:
        with closing(run(_square, range(20))) as reports:  # type: ignore[type-var]  # a generator
            next(reports)
        assert len(list(run(_square, range(3)))) == 3
