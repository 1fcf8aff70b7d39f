"""Batches that are read ahead, several of them with one call."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from rlds_kit.loader.read_ahead import Batch, GatherAhead


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
