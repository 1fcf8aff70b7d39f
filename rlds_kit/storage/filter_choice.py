"""Which filter suits a column, and how hard to compress it."""

from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.storage import filters, runs, split
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.column_layout import MOST_FILTERED
from rlds_kit.storage.compression import FAST_LEVEL, NOISE_LEVEL, THOROUGH_LEVEL, compress
from rlds_kit.storage.filters import Rows, Shape
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.predict import lines_of

THOROUGH_RATIO: Final = 8
"""What shrinks to less than an eighth (frames of a game) is worth a closer look; sensor noise is not."""
_MIN_SAMPLE_ROWS: Final = 4
_SMALL_ROW: Final = 256
"""Below so many bytes one comparison of everything is quicker than one for each row."""


class Choice(NamedTuple):
    """How to compress a column."""

    filter: int
    level: int


PREDICTION: Final = Choice(pb.PREDICT, NOISE_LEVEL)
SPLIT_PREDICTION: Final = Choice(pb.PREDICT_SPLIT, NOISE_LEVEL)
_SMALLER: Final[dict[int, int]] = {pb.PREDICT_SPLIT: pb.PREDICT, pb.XOR_RUNS: pb.SPARSE_XOR}
"""What to take in place of filters whose result may be too large."""


class FilterChoice:
    """Picks a column's filter and level by trying, and tries again only now and then.

    What suits a field seldom changes, and trying costs a compression per candidate.
    """

    TRY_EVERY: Final = 32
    SAMPLE_BYTES: Final = 1 << 18

    def __init__(self) -> None:
        self._chosen: dict[ColumnKey, tuple[Choice, int]] = {}

    def __call__(self, key: ColumnKey, rows: Rows, dtype: np.dtype[Any], shape: Shape) -> Choice:
        """What to do with `rows`, `[n, bytes]`, n >= 1, each a value of a dtype and shape."""
        if _all_equal(rows):
            return Choice(pb.REPEAT, FAST_LEVEL)
        choice, left = self._chosen.get(key, (None, 0))
        if choice is None or left == 0:
            choice, left = self._try(rows, dtype, shape), self.TRY_EVERY
        self._chosen[key] = (choice, left - 1)
        return choice if _may_be_read(choice, rows, shape) else choice._replace(filter=_SMALLER[choice.filter])

    def _try(self, rows: Rows, dtype: np.dtype[Any], shape: Shape) -> Choice:
        sample = rows[-max(_MIN_SAMPLE_ROWS, self.SAMPLE_BYTES // max(1, rows.shape[1])) :]

        def size(choice: Choice, part: Rows) -> int:
            parts = filters.APPLY[choice.filter](part, dtype.itemsize, shape)
            return len(compress([each.reshape(-1).data for each in parts], choice.level))

        def expected(choice: Choice) -> float:
            """The first row has nothing before it: it is counted once, however few rows the sample has."""
            first = size(choice, sample[:1])
            return first + (size(choice, sample) - first) * (len(rows) - 1) / (len(sample) - 1)

        choices = [Choice(number, FAST_LEVEL) for number in filters.candidates(dtype.kind, dtype.itemsize)]
        sizes = {choice: expected(choice) for choice in choices if _may_be_read(choice, rows, shape)}
        best = min(sizes, key=sizes.__getitem__)
        if sizes[best] * THOROUGH_RATIO < rows.nbytes:
            return Choice(best.filter, THOROUGH_LEVEL)
        if _may_be_image(dtype, shape):  # predicting takes longer than frames of a game take altogether
            sizes |= {choice: expected(choice) for choice in (SPLIT_PREDICTION, PREDICTION)}
        return min(sizes, key=sizes.__getitem__)


def _may_be_image(dtype: np.dtype[Any], shape: Shape) -> bool:
    return dtype == np.uint8 and len(shape) > 1


def _may_be_read(choice: Choice, rows: Rows, shape: Shape) -> bool:
    """Whether readers are sure to take what a filter makes: of tiny rows it may be more than they expect at most."""
    match choice.filter:
        case pb.XOR_RUNS:
            return rows.shape[1] >= runs.WIDE
        case pb.PREDICT_SPLIT:
            return len(rows) * lines_of(shape).height + split.at_most(rows.size) <= MOST_FILTERED * rows.size
    return True


def _all_equal(rows: Rows) -> bool:
    if rows.shape[1] < _SMALL_ROW:
        return bool((rows[1:] == rows[:-1]).all())
    return all(np.array_equal(rows[0], row) for row in rows[:0:-1])  # the last row differs soonest
