"""Prefetching: samples in a given order, decoded by threads ahead of the consumer."""

import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.nests import concatenated, map_arrays
from rlds_kit.loader.pool import Pool, Run
from rlds_kit.storage.array_pool import ArrayPool

Batch: TypeAlias = dict[str, Any]
"""Field name to an array, or a nest of arrays, with a leading dimension of samples."""


class Readable(Protocol):
    """Samples that can be read in two steps: loading, which threads share, and gathering."""

    def cache(self, limit: int) -> FieldCache:
        """Creates a cache of small fields with this many bytes; nothing is read yet."""

    def pool(self, items: np.ndarray, memory: ArrayPool | None = None, cache: FieldCache | None = None) -> Pool:
        """Creates a pool for the steps of samples, in reused memory if possible; nothing is loaded yet."""

    def batch(self, pool: Pool, items: np.ndarray) -> Batch:
        """Gathers samples from a completely loaded pool."""

    def random_access(self, memory: int) -> "RandomAccess | None":
        """Returns how batches of any samples are read with a cache of this many bytes; None: pools are quicker."""


Gather: TypeAlias = Callable[[np.ndarray], Batch]
"""Reads the samples of some numbers as one batch."""


@dataclass(frozen=True, slots=True)
class RandomAccess:
    """How batches of any samples are read without pools.

    Attributes:
      gather: reads samples.
      memory: bytes of batches that may be read ahead.
      is_copied: whether all values are copied out of files or a cache; else some blocks are decoded for each batch.
    """

    gather: Gather
    memory: int
    is_copied: bool


GATHERED: Final = 1 << 11
"""Samples that are read together, if batches are smaller: what one call costs is then little for each."""
GATHERED_BYTES: Final = 4 << 20
"""Maximum bytes of batches that are read together: they are parts of one array, which stays in memory as long as one of
them does."""
GATHERED_BATCHES: Final = 4
"""If blocks are decoded for batches, so many are read together even if they have more bytes, because some have blocks
in common: a caller that keeps one of them keeps the memory of all."""
_WAKING_SECONDS: Final = 250e-6
"""What it takes on a virtual machine to wake a thread that reads, and to be woken by it. A caller that uses a batch for
less time than this gains nothing if the next one is read meanwhile."""


def groups_ahead(batch_size: int, sample_bytes: int, access: RandomAccess, workers: int) -> tuple[int, int]:
    """Returns how many batches are read together, at least one, and how many such groups fit into the memory.

    Args:
      batch_size: samples of a batch.
      sample_bytes: of a sample.
      access: to the samples.
      workers: threads that read; each reads a group.

    >>> groups_ahead(256, 800, RandomAccess(np.copy, 32 << 20, is_copied=True), workers=2)
    (8, 20)
    >>> groups_ahead(256, 98304, RandomAccess(np.copy, 128 << 20, is_copied=False), workers=2)
    (2, 2)
    """
    fitting, limit = access.memory // sample_bytes // batch_size, GATHERED_BYTES // sample_bytes // batch_size
    if access.is_copied:
        group = max(1, min(GATHERED // batch_size, limit, fitting // 2))
        return group, fitting // group
    # In memory are a group for each thread, and what was not returned yet of the group before. Two at least: with one,
    # nothing is read until a batch is returned.
    threads, limit = max(2, workers), max(limit, GATHERED_BATCHES)
    group = max(1, min(GATHERED // batch_size, limit, (fitting + 1) // (threads + 1)))
    return group, (fitting + 1 - group) // group


class GatherAhead:
    """Reads batches by the numbers of their samples: for samples that are read from anywhere as fast as in order.

    Args:
      gather: reads samples.
      items: the numbers of the samples of each batch, in order.
      executor: that reads.
      group: batches that are read together; at the beginning fewer, so that the first one does not wait for others.
      ahead: groups that are read ahead. If it is 0 or 1, one is read ahead after each batch, but for one that the
        caller requested at once: after the batch before, or after the beginning.
    """

    def __init__(self, gather: Gather, items: Iterator[np.ndarray], executor: Executor, group: int, ahead: int) -> None:
        self._gather, self._executor, self._is_lazy = gather, executor, ahead <= 1
        self._groups = self._grouped(items, group)
        self._queue: deque[Future[list[Batch]]] = deque()
        self._ready: deque[Batch] = deque()
        # When the caller got the latest group, in seconds. Now, because the caller may still have a batch of the epoch
        # before: beside that and the first one of this epoch, one that is read ahead would need new memory.
        self._returned = time.perf_counter()
        for _ in range(0 if self._is_lazy else ahead):
            self._read_next()

    @staticmethod
    def _grouped(items: Iterator[np.ndarray], most: int) -> Iterator[list[np.ndarray]]:
        size = 1
        while group := [*itertools.islice(items, size)]:
            yield group
            size = min(2 * size, most)

    def take(self) -> Batch:
        """The next batch; there must be one.

        Raises:
          DamagedError: data of a sample are damaged.
          SpecError: a value has another dtype or shape than its field.
        """
        if not self._ready:
            is_back_at_once = self._is_lazy and time.perf_counter() - self._returned < _WAKING_SECONDS
            self._ready.extend(self._queue.popleft().result() if self._queue else self._read(next(self._groups)))
            # Only now, so that it finds the memory of the batch before: the caller drops that one for the one returned.
            if not is_back_at_once:
                self._read_next()
            self._returned = time.perf_counter()
        return self._ready.popleft()

    def _read_next(self) -> None:
        for group in self._groups:
            self._queue.append(self._executor.submit(self._read, group))
            return

    def _read(self, group: list[np.ndarray]) -> list[Batch]:
        if len(group) == 1:
            return [self._gather(group[0])]
        batch = self._gather(np.concatenate(group))
        ends = np.cumsum([len(items) for items in group]).tolist()
        bounds = zip([0, *ends[:-1]], ends, strict=True)
        return [map_arrays(lambda array, part=slice(*each): array[part], batch) for each in bounds]


@dataclass(slots=True)
class _Piece:
    items: np.ndarray
    pool: Pool
    loading: list[Future[None]]
    taken: int = 0

    @property
    def left(self) -> int:
        return len(self.items) - self.taken


def _load(fetching: Future[None], pool: Pool, run: Run) -> None:
    fetching.result()
    pool.load(run)


class ReadAhead:
    """Reads samples piece by piece: while one piece is consumed, the next is decoded.

    Args:
      samples: to read.
      pieces: the numbers of the samples, in order; each piece is in memory as a whole.
      executor: for decoding.
      cache: of small fields of the samples.
    """

    def __init__(self, samples: Readable, pieces: Iterator[np.ndarray], executor: Executor, cache: FieldCache) -> None:
        self._samples, self._pieces, self._executor, self._cache = samples, pieces, executor, cache
        self._queue: deque[_Piece] = deque()
        self._memory = ArrayPool()
        self._read_next()

    def take(self, count: int) -> Batch:
        """The next samples; at least this many must be left.

        Raises:
          DamagedError: data of a sample are damaged.
          SpecError: a value has another dtype or shape than its field.
        """
        parts = []
        while count:
            piece = self._current()
            items = piece.items[piece.taken : piece.taken + count]
            parts.append(self._samples.batch(piece.pool, items))
            piece.taken += len(items)
            count -= len(items)
        batch: Batch = concatenated(parts)
        return batch

    def _current(self) -> _Piece:
        if not self._queue[0].left:
            # Newly allocated memory costs as much as decoding into it, so the memory of one pool is reused for the
            # next.
            self._memory = ArrayPool(limit=sys.maxsize)
            self._queue.popleft().pool.give_back(self._memory)
        piece = self._queue[0]
        for future in piece.loading:
            future.result()
        piece.loading.clear()
        if len(self._queue) == 1:
            self._read_next()
        return piece

    def _read_next(self) -> None:
        for items in self._pieces:
            if len(items):
                pool = self._samples.pool(items, self._memory, self._cache)
                runs = pool.runs()
                # Submitted before the tasks that wait for it: tasks start in this order, so they cannot block it.
                fetching = self._executor.submit(pool.fetch, runs)
                loading = [self._executor.submit(_load, fetching, pool, run) for run in runs]
                self._queue.append(_Piece(items, pool, loading))
                return
