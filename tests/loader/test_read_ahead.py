"""Batches that are read ahead, several of them with one call."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from rlds_kit.loader import read_ahead
from rlds_kit.loader.read_ahead import Batch, GatherAhead


class Clock(threading.local):
    """The seconds of each thread, which pass only where the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        """Seconds."""
        return self.now


def test_a_batch_is_read_ahead_when_the_one_before_it_was_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it finds the memory of the one before that: two large batches are in memory, not three."""
    clock = Clock()
    monkeypatch.setattr(read_ahead, "time", clock)
    begun: list[int] = []

    def gather(items: np.ndarray) -> Batch:
        begun.append(int(items[0]))
        return {"item": items}

    class Lazy(ThreadPoolExecutor):
        """Counts what was submitted whenever a result is requested."""

        submitted = 0

        def submit(self, *arguments: Any, **named: Any) -> "Future[Any]":
            self.submitted += 1
            future = super().submit(*arguments, **named)
            result = future.result

            def counted(timeout: float | None = None) -> Any:
                waiting.append(self.submitted)
                return result(timeout)

            future.result = counted  # type: ignore[method-assign]
            return future

    waiting: list[int] = []
    with Lazy(1) as executor:
        ahead = GatherAhead(gather, (np.array([number]) for number in range(4)), executor, group=1, ahead=1)
        taken = []
        for _ in range(4):
            taken.append(int(ahead.take()["item"][0]))
            clock.now += 1  # the caller uses the batch
    assert taken == begun == [0, 1, 2, 3]
    assert waiting == [1, 2]  # the others were read by the caller's thread, which would wait for them


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_caller_that_comes_back_at_once_reads_itself(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one batch is read ahead; another thread reads again when the caller took longer than it takes to wake that."""
    clock, own = Clock(), list[int]()
    monkeypatch.setattr(read_ahead, "time", clock)

    def gather(items: np.ndarray) -> Batch:
        if threading.current_thread() is threading.main_thread():
            own.append(int(items[0]))
        clock.now += 1
        return {"item": items}

    taken = []
    with ThreadPoolExecutor(1) as executor:
        batches = GatherAhead(gather, (np.array([number]) for number in range(9)), executor, group=1, ahead=ahead)
        for away in (9.0, 9.0, 2e-4, 2e-4, 2e-4, 9.0, 3e-4, 0.0, 0.0):
            clock.now += away
            taken.append(int(batches.take()["item"][0]))
    assert taken == [*range(9)]
    # Batch 2 was read ahead before it was known that the caller comes back at once.
    assert own == ([] if ahead == 2 else [0, 3, 4, 5, 8])


def test_the_first_batch_waits_for_no_other_one() -> None:
    """Groups grow from one batch to the size that is quick, and their batches come in order."""
    sizes: list[int] = []

    def gather(items: np.ndarray) -> Batch:
        sizes.append(len(items))
        return {"item": items}

    batches = [np.array([2 * number, 2 * number + 1]) for number in range(20)]
    with ThreadPoolExecutor(1) as executor:
        ahead = GatherAhead(gather, iter(batches), executor, group=8, ahead=2)
        taken = [ahead.take()["item"].tolist() for _ in batches]
    assert taken == [each.tolist() for each in batches]
    assert [size // 2 for size in sizes] == [1, 2, 4, 8, 5]
