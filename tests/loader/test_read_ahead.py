"""Batches that are read ahead, several of them with one call."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from rlds_kit.loader.read_ahead import Batch, GatherAhead


def test_a_batch_is_read_ahead_when_the_one_before_it_was_returned() -> None:
    """So that it finds the memory of the one before that: two large batches are in memory, not three."""
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
        taken = [int(ahead.take()["item"][0]) for _ in range(4)]
    assert taken == begun == [0, 1, 2, 3]
    assert waiting == [1, 2, 3, 4]


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
