"""A pool reuses memory, also for slightly smaller arrays, and stores no more than its limit."""

import numpy as np

from rlds_kit.storage.array_pool import MIN_BYTES, ArrayPool


def test_memory_is_used_for_smaller_arrays_too() -> None:
    """Of at least half the size; what is returned is the whole memory."""
    pool = ArrayPool()
    first = pool.take((4, MIN_BYTES), np.dtype(np.uint8))
    pool.give(first)
    second = pool.take((2, MIN_BYTES // 8), np.dtype(np.float64))  # half of it
    assert np.shares_memory(first, second)
    assert second.flags.c_contiguous
    pool.give(second)
    third = pool.take((4, MIN_BYTES), np.dtype(np.uint8))
    assert np.shares_memory(first, third)
    pool.give(third)
    assert not np.shares_memory(first, pool.take((MIN_BYTES,), np.dtype(np.uint8)))


def test_no_more_is_kept_than_the_limit() -> None:
    """And nothing that is small."""
    pool = ArrayPool(limit=MIN_BYTES)
    one, other = (pool.take((MIN_BYTES,), np.dtype(np.uint8)) for _ in range(2))
    pool.give(one)
    pool.give(other)
    assert np.shares_memory(one, pool.take((MIN_BYTES,), np.dtype(np.uint8)))
    assert not np.shares_memory(other, pool.take((MIN_BYTES,), np.dtype(np.uint8)))
    pool.give(small := np.zeros(8, np.uint8))
    assert not np.shares_memory(small, pool.take((8,), np.dtype(np.uint8)))


def test_a_size_that_is_not_used_any_more_makes_room() -> None:
    """Episodes of another environment may have frames of another size."""
    pool = ArrayPool(limit=8 * MIN_BYTES)
    for old in [pool.take((MIN_BYTES,), np.dtype(np.uint8)) for _ in range(8)]:
        pool.give(old)
    new = pool.take((4 * MIN_BYTES,), np.dtype(np.uint8))
    pool.give(new)
    assert np.shares_memory(new, pool.take((4 * MIN_BYTES,), np.dtype(np.uint8)))
    kept = [pool.take((MIN_BYTES,), np.dtype(np.uint8)) for _ in range(5)]
    assert sum(each.base is not None for each in kept) == 4
