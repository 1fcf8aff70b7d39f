"""Orders of samples: any part of an order can be computed without the parts before it."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from rlds_kit.loader.permutation import permuted

FIRST_SHARE: Final = 64
"""The first piece is this many times smaller than the others: its episodes may be short, and cost time each."""


class Order(Protocol):
    """A permutation of `range(size)` for every epoch."""

    def items(self, epoch: int, begin: int, end: int) -> np.ndarray:
        """Returns `[end - begin]` int64: the samples at these positions of an epoch."""

    def pieces(self, epoch: int, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Divides positions `[begin, end)` into pieces of at most `limit` that are efficient to read together."""


@dataclass(frozen=True, slots=True)
class InOrder:
    """The order in which samples were recorded, in every epoch."""

    size: int

    def items(self, epoch: int, begin: int, end: int) -> np.ndarray:
        """The positions themselves, in every epoch."""
        del epoch
        return np.arange(begin, end)

    def pieces(self, epoch: int, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Divides positions into pieces of `limit`: neighbours are read together anyway."""
        del epoch
        return _growing_pieces(begin, end, limit)


@dataclass(frozen=True, slots=True)
class GlobalOrder:
    """A permutation of all samples, without a buffer: every sample may come anywhere."""

    size: int
    seed: int

    def items(self, epoch: int, begin: int, end: int) -> np.ndarray:
        """The epoch's permutation of the positions."""
        return permuted(np.arange(begin, end), self.size, self.seed, epoch)

    def pieces(self, epoch: int, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Divides positions into pieces of `limit`: all divisions are equivalent."""
        del epoch
        return _growing_pieces(begin, end, limit)


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """The samples in runs of `run` neighbours: runs in random order, the samples of `mix` such runs shuffled together.

    Every run is read once, and `mix` runs are in memory at a time.
    """

    size: int
    seed: int
    run: int
    mix: int

    def items(self, epoch: int, begin: int, end: int) -> np.ndarray:
        """The samples of each group of runs, shuffled."""
        parts = [np.empty(0, np.int64)]
        for group, first, last in self._groups(epoch, begin, end):
            members = self._members(epoch, group)
            inside = np.arange(max(begin, first), min(end, last)) - first
            parts.append(members[permuted(inside, len(members), self.seed, epoch, group)])
        return np.concatenate(parts)

    def pieces(self, epoch: int, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
        """Makes each group of runs a piece, independent of `limit`: its size was chosen when the order was created."""
        del limit
        for _, first, last in self._groups(epoch, begin, end):
            yield max(begin, first), min(end, last)

    @property
    def _runs(self) -> int:
        return -(-self.size // self.run)

    def _groups(self, epoch: int, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Number and positions `[first, last)` of each group that has positions in `[begin, end)`."""
        full = self.run * self.mix
        missing, short = self._short_group(epoch)
        for group in range(begin // full, -(-self._runs // self.mix)):
            # The group with the short run has fewer samples, so later groups begin before their multiple of `full`.
            first = group * full - (missing if group > short else 0)
            last = min(self.size, (group + 1) * full - (missing if group >= short else 0))
            if first >= end or begin >= end:
                return
            if last > begin:
                yield group, first, last

    @functools.lru_cache(maxsize=8)  # noqa: B019  keyed by value: equal orders share an entry
    def _short_group(self, epoch: int) -> tuple[int, int]:
        """How much shorter the last run of the data is than the others, and the group that contains it."""
        if not self._runs:
            return 0, 0
        order = permuted(np.arange(self._runs), self._runs, self.seed, epoch)
        return self._runs * self.run - self.size, int(np.flatnonzero(order == self._runs - 1)[0]) // self.mix

    def _members(self, epoch: int, group: int) -> np.ndarray:
        """The samples of a group, run by run."""
        runs = permuted(
            np.arange(group * self.mix, min(self._runs, (group + 1) * self.mix)), self._runs, self.seed, epoch
        )
        samples = (runs[:, None] * self.run + np.arange(self.run)).reshape(-1)
        return samples[samples < self.size]


def _growing_pieces(begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Pieces that double in size, starting small, so that the first batch does not wait for a whole piece."""
    first, size = begin, -(-limit // FIRST_SHARE)
    while first < end:
        yield first, min(end, first + size)
        first, size = first + size, min(limit, 2 * size)
