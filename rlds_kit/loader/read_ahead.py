"""Samples in a given order, decoded by threads ahead of the one who takes them."""

import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from rlds_kit.loader.kept import Kept
from rlds_kit.loader.nests import concatenated
from rlds_kit.loader.pool import Pool, Run
from rlds_kit.storage.array_pool import ArrayPool

Batch: TypeAlias = dict[str, Any]
"""Field name to an array, or a nest of arrays, with a leading dimension of samples."""


class Readable(Protocol):
    """Samples that can be read in two steps: loading, which threads share, and gathering."""

    def kept(self, limit: int) -> Kept:
        """What to keep of small fields in so many bytes; nothing is read yet."""

    def pool(self, items: np.ndarray, memory: ArrayPool | None = None, kept: Kept | None = None) -> Pool:
        """An empty pool for what samples need, in memory that others gave back if there is some."""

    def batch(self, pool: Pool, items: np.ndarray) -> Batch:
        """Samples from a pool in which all that they need is loaded."""


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
    """Takes samples piece by piece: while one piece is taken from, the next is decoded.

    Args:
      samples: where from.
      pieces: the numbers of the samples, in order; each piece is in memory as a whole.
      executor: does the decoding.
      kept: of the samples: what was read of small fields before.
    """

    def __init__(self, samples: Readable, pieces: Iterator[np.ndarray], executor: Executor, kept: Kept) -> None:
        self._samples, self._pieces, self._executor, self._kept = samples, pieces, executor, kept
        self._queue: deque[_Piece] = deque()
        self._memory = ArrayPool()
        self._read_next()

    def take(self, count: int) -> Batch:
        """The next samples; there must be as many.

        Raises:
          DamagedError: one of them is damaged.
          SpecError: a value is of another dtype or shape than its field.
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
            # Memory fresh from the system costs as much as decoding into it; one pool's is kept for the next.
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
                pool = self._samples.pool(items, self._memory, self._kept)
                runs = pool.runs()
                fetching = self._executor.submit(pool.fetch, runs)  # begun before all that wait for it
                loading = [self._executor.submit(_load, fetching, pool, run) for run in runs]
                self._queue.append(_Piece(items, pool, loading))
                return
