"""Prefetching: samples in a given order, decoded by threads ahead of the consumer."""

import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from rlds_kit.loader.field_cache import FieldCache
from rlds_kit.loader.nests import concatenated
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
