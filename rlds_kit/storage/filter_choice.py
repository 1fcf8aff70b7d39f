"""Chooses the filter and the compression level of a column."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import filters, noise_split, runs
from rlds_kit.storage.column_layout import MOST_FILTERED
from rlds_kit.storage.compression import FAST_LEVEL, NO_LEVEL, NOISE_LEVEL, THOROUGH_LEVEL, compress_each
from rlds_kit.storage.filters import BY_PLANES, Shape
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.policy import SMALL_BLOCK_BYTES
from rlds_kit.storage.predict import lines_of
from rlds_kit.storage.rows import Rows, are_equal

THOROUGH_RATIO: Final = 8
"""A higher level may pay off for data that shrink to less than an eighth (frames of a game), not for sensor noise."""
WORTH_THE_LEVEL: Final = 0.9
"""The share of the bytes of `FAST_LEVEL` that `THOROUGH_LEVEL` must stay below, as it takes two to four times as long:
with it, changes of frames of Ms. Pacman are a fifth smaller, those of Breakout larger."""
LIGHT_ROW: Final = 1 << 10
"""Rows up to this size are stored as they are if compression saves little: so they are read from any place at once, and
many times faster."""
LITTLE: Final = 0.25
"""The share of a column's bytes below which its compression does not pay off if its rows are light."""
MODEST: Final = 0.6
"""The share of a column's bytes below which its compression does not pay off if it is light and a small part of all
columns: together such columns may cost `BUDGET`."""
BUDGET: Final = 0.06
"""The share of the bytes of all columns that may be spent on columns that could be smaller."""
_MIN_SAMPLE_ROWS: Final = 4
_CHANGES: Final = frozenset((pb.XOR_RUNS, pb.SPARSE_XOR))
"""Filters that store what changed."""
_MIN_CHANGES_ROWS: Final = 16
"""Rows of a sample for filters that store what changed: changes of four frames of a game are so few that bitmaps seemed
smaller than runs in a quarter of the blocks of Space Invaders, though they are 1.4 times as large."""


class Choice(NamedTuple):
    """How to compress a column."""

    filter: int
    level: int


@dataclass(slots=True)
class _Chosen:
    """The choice for a column, the blocks from one trial to the next, and how many of them are left."""

    choice: Choice
    every: int
    left: int


_KNOWN: Final = BY_PLANES | {pb.IDENTITY}
"""Filters that suit all rows of a column."""
STORED: Final = Choice(pb.IDENTITY, NO_LEVEL)
"""Neither filtered nor compressed."""
REPEATED: Final = Choice(pb.REPEAT, FAST_LEVEL)
"""One row stands for all."""
PREDICTION: Final = Choice(pb.PREDICT, NOISE_LEVEL)
SPLIT_PREDICTION: Final = Choice(pb.PREDICT_SPLIT, NOISE_LEVEL)


class FilterChoice:
    """Chooses a column's filter and level by a trial, which is repeated only occasionally.

    The best choice for a field seldom changes, and a trial costs one compression per candidate. Of light rows, whose
    blocks cost little besides, each trial that confirms the choice doubles the number of blocks until the next one.
    """

    TRY_EVERY: Final = 32
    TRY_LIGHT_EVERY: Final = 512  # at most
    SAMPLE_BYTES: Final = 1 << 18
    LIGHT_SAMPLE_BYTES: Final = 1 << 16  # light rows are many, and more filters are tried on them

    def __init__(self) -> None:
        self._chosen: dict[ColumnKey, _Chosen] = {}
        self._row_bytes: dict[ColumnKey, float] = {}  # of a row, compressed as well as it can be
        self._spent: dict[ColumnKey, float] = {}  # bytes of a row that compression would save

    def __call__(self, key: ColumnKey, rows: Rows, dtype: np.dtype[Any], shape: Shape) -> Choice:
        """The choice for `rows`, `[n, bytes]`, n >= 1, each a value of a dtype and shape."""
        if are_equal(rows):
            return REPEATED
        chosen = self._chosen.get(key)
        if chosen is None or chosen.left == 0:
            choice = self._try(key, rows, dtype, shape)
            is_confirmed = chosen is not None and chosen.choice == choice and rows.shape[1] <= LIGHT_ROW
            every = min(2 * chosen.every, self.TRY_LIGHT_EVERY) if chosen and is_confirmed else self.TRY_EVERY
            chosen = self._chosen[key] = _Chosen(choice, every, every)
        chosen.left -= 1
        return _readable(chosen.choice, rows, shape)

    def known(self, key: ColumnKey, nbytes: int = SMALL_BLOCK_BYTES) -> Choice | None:
        """The choice for light rows that are not all equal; None if it needs a trial, or a look at them.

        Args:
          key: of the column.
          nbytes: of the rows, however many blocks they are in: until the next trial, they count as blocks of
            `SMALL_BLOCK_BYTES`, rounded up.
        """
        chosen = self._chosen.get(key)
        if chosen is None or chosen.left == 0 or chosen.choice.filter not in _KNOWN:
            return None
        blocks = -(-nbytes // SMALL_BLOCK_BYTES)
        chosen.left = max(0, chosen.left - blocks)
        return chosen.choice

    def _try(self, key: ColumnKey, rows: Rows, dtype: np.dtype[Any], shape: Shape) -> Choice:
        sample_bytes = self.LIGHT_SAMPLE_BYTES if rows.shape[1] <= LIGHT_ROW else self.SAMPLE_BYTES
        count = max(_MIN_SAMPLE_ROWS, sample_bytes // max(1, rows.shape[1]))

        def filtered(number: int, part: Rows) -> list[memoryview]:
            return [each.reshape(-1).data for each in filters.APPLY[number](part, dtype.itemsize, shape)]

        def expected(choices: Collection[Choice]) -> dict[Choice, float]:
            """The bytes of all rows, extrapolated from a sample; the first row has no previous one, and counts once."""
            samples = [rows[-max(count, _MIN_CHANGES_ROWS if each.filter in _CHANGES else 0) :] for each in choices]
            tried = [
                (filtered(choice.filter, part), choice.level)
                for choice, sample in zip(choices, samples, strict=True)
                for part in (sample[:1], sample)
            ]
            sizes = iter([len(frame) for frame in compress_each(tried)])
            found = dict[Choice, float]()
            for choice, sample in zip(choices, samples, strict=True):
                first, whole = next(sizes), next(sizes)
                found[choice] = first + (whole - first) * (len(rows) - 1) / (len(sample) - 1)
            return found

        numbers = filters.candidates(dtype.kind, dtype.itemsize)
        choices = dict.fromkeys(_readable(Choice(number, FAST_LEVEL), rows, shape) for number in numbers)
        sizes = expected(choices)
        best = min(sizes, key=sizes.__getitem__)
        if self._is_for_speed(key, sizes[best] / len(rows), rows.shape[1]):
            return STORED
        if sizes[best] * THOROUGH_RATIO < rows.nbytes:
            parts = filtered(best.filter, rows)  # of all rows: later ones resemble earlier ones
            fast, thorough = map(len, compress_each([(parts, FAST_LEVEL), (parts, THOROUGH_LEVEL)]))
            return best._replace(level=THOROUGH_LEVEL) if thorough < WORTH_THE_LEVEL * fast else best
        if _may_be_image(dtype, shape):  # prediction alone takes longer than all other work for frames of a game
            sizes |= expected((SPLIT_PREDICTION, PREDICTION))
        return min(sizes, key=sizes.__getitem__)

    def _is_for_speed(self, key: ColumnKey, compressed: float, row_bytes: int) -> bool:
        """Whether a column is stored as it is although a row of it can be compressed to so many bytes."""
        self._row_bytes[key], self._spent[key] = compressed, 0
        saved = row_bytes - compressed
        if row_bytes > LIGHT_ROW or saved >= row_bytes * MODEST:
            return False
        if saved < row_bytes * LITTLE:
            return True
        if saved + sum(self._spent.values()) > BUDGET * sum(self._row_bytes.values()):
            return False
        self._spent[key] = saved
        return True


def _may_be_image(dtype: np.dtype[Any], shape: Shape) -> bool:
    return dtype == np.uint8 and len(shape) > 1


def _readable(choice: Choice, rows: Rows, shape: Shape) -> Choice:
    """The choice, or another one if readers might reject its result, which can be too large for tiny rows."""
    match choice.filter:
        case pb.XOR_RUNS if rows.shape[1] < runs.WIDE:
            return choice._replace(filter=pb.SPARSE_XOR)
        case pb.PREDICT_SPLIT:
            most = len(rows) * lines_of(shape).height + noise_split.at_most(rows.size)
            return choice if most <= MOST_FILTERED * rows.size else choice._replace(filter=pb.PREDICT)
    return choice
