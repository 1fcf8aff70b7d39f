"""Which filter suits a column, and how hard to compress it."""

from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.storage import filters
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.compression import FAST_LEVEL, THOROUGH_LEVEL, compressor
from rlds_kit.storage.filters import Rows
from rlds_kit.storage.leaf import ColumnKey

THOROUGH_RATIO: Final = 8
"""What shrinks to less than an eighth (frames of a game) is worth a closer look; sensor noise is not."""
_MIN_SAMPLE_ROWS: Final = 4
_SMALL_ROW: Final = 256
"""Below so many bytes one comparison of everything is quicker than one for each row."""


class Choice(NamedTuple):
    """How to compress a column."""

    filter: int
    level: int


class FilterChoice:
    """Picks a column's filter and level by trying, and tries again only now and then.

    What suits a field seldom changes, and trying costs a compression per candidate.
    """

    TRY_EVERY: Final = 32
    SAMPLE_BYTES: Final = 1 << 18

    def __init__(self) -> None:
        self._chosen: dict[ColumnKey, tuple[Choice, int]] = {}

    def __call__(self, key: ColumnKey, rows: Rows, dtype: np.dtype[Any]) -> Choice:
        """What to do with `rows`, `[n, bytes]`, n >= 1."""
        if _all_equal(rows):
            return Choice(pb.REPEAT, FAST_LEVEL)
        choice, left = self._chosen.get(key, (None, 0))
        if choice is None or left == 0:
            choice, left = self._try(rows, dtype), self.TRY_EVERY
        self._chosen[key] = (choice, left - 1)
        return choice

    def _try(self, rows: Rows, dtype: np.dtype[Any]) -> Choice:
        sample = rows[-max(_MIN_SAMPLE_ROWS, self.SAMPLE_BYTES // max(1, rows.shape[1])) :]

        def size(candidate: int, part: Rows) -> int:
            filtered = filters.APPLY[candidate](part, dtype.itemsize)
            return len(compressor(FAST_LEVEL).compress(filtered.reshape(-1).data))

        def expected(candidate: int) -> float:
            """The first row has nothing before it: it is counted once, however few rows the sample has."""
            first = size(candidate, sample[:1])
            return first + (size(candidate, sample) - first) * (len(rows) - 1) / (len(sample) - 1)

        sizes = {candidate: expected(candidate) for candidate in filters.candidates(dtype.kind, dtype.itemsize)}
        best = min(sizes, key=sizes.__getitem__)
        return Choice(best, THOROUGH_LEVEL if sizes[best] * THOROUGH_RATIO < rows.nbytes else FAST_LEVEL)


def _all_equal(rows: Rows) -> bool:
    if rows.shape[1] < _SMALL_ROW:
        return bool((rows[1:] == rows[:-1]).all())
    return all(np.array_equal(rows[0], row) for row in rows[:0:-1])  # the last row differs soonest
