"""The columns of a buffer of many lanes, and how a row of all of them is copied there: in C for all columns at once."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from rlds_kit.storage.array_form import native, put_lanes, turn
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.leaf import ColumnKey

_HEAVY: Final = 1 << 12
"""Bytes of a value from which on the values of each lane are copied by themselves: that takes no longer, and less
memory. Those of smaller ones lie apart in many pages."""
Places = np.ndarray
"""`[lanes]` int64, the number of rows of each lane: where its next row goes."""
Masks = tuple[np.ndarray | None, ...] | None
"""Of each value, `[lanes]` bool, which lanes have it, or None; None: all have all."""


class BatchColumn:
    """The values of one column.

    Attributes:
      array: `[capacity, lanes, *shape]`: so a row of all lanes is in one piece, and copied fast.
      present: `[capacity, lanes]` bool; None: every row has a value.
      by_lane: `[lanes, rows, *shape]`, the first rows of each lane; None: they were not turned.
    """

    __slots__ = ("array", "by_lane", "present")

    def __init__(self, array: np.ndarray, present: np.ndarray | None) -> None:
        self.array, self.present = array, present
        self.by_lane: np.ndarray | None = None

    def of(self, lane: int, begin: int, stop: int) -> np.ndarray:
        """The values of a lane, in one piece."""
        if self.by_lane is None:
            return np.ascontiguousarray(self.array[begin:stop, lane])
        return self.by_lane[lane, begin:stop]


def turn_columns(columns: Sequence[BatchColumn], rows: int, pool: ArrayPool) -> None:
    """Copies the first rows of columns so that those of each lane follow each other, unless one is heavy."""
    light = [column for column in columns if column.array[0, 0].nbytes < _HEAVY]
    arrays = [pool.take((column.array.shape[1], rows, *column.array.shape[2:]), column.array.dtype) for column in light]
    turn(tuple((column.array, by_lane) for column, by_lane in zip(light, arrays, strict=True)))
    for column, by_lane in zip(light, arrays, strict=True):
        column.by_lane = by_lane


def put_leaves_in_python(
    columns: dict[ColumnKey, BatchColumn],
    leaves: Sequence[BatchLeaf],
    lanes: np.ndarray | None,
    places: Places,
    every: np.ndarray,
) -> int:
    """Copies a row of some lanes into columns that have the form of its values, and of its flags of presence.

    Args:
      columns: the known ones.
      leaves: of the row.
      lanes: that have it; None: all.
      places: where it is copied to.
      every: the flags of a value that all lanes have.

    Returns:
      Bytes of one lane; -1: the row needs another column, form of a column, or flags of presence. Then some columns may
      have been copied, and all must be copied again.
    """
    always = nbytes = 0
    for key, values, mask in leaves:
        column = columns.get(key)
        if column is None or not _is_put(column, values, lanes, mask, places, every):
            return -1
        always += column.present is None
        nbytes += values.nbytes // len(values)
    has_all = len(leaves) == len(columns)
    return nbytes if has_all or always == sum(column.present is None for column in columns.values()) else -1


def _is_put(
    column: BatchColumn,
    values: np.ndarray,
    lanes: np.ndarray | None,
    mask: np.ndarray | None,
    places: Places,
    every: np.ndarray,
) -> bool:
    """Copies values into a column, and their flags if it has some; returns whether it has the form for both."""
    if not put_lanes(column.array, places, lanes, values):
        return False
    if column.present is None:
        return mask is None
    return put_lanes(column.present, places, lanes, every if mask is None else mask)


put_leaves: Final[
    Callable[[dict[ColumnKey, BatchColumn], Sequence[BatchLeaf], np.ndarray | None, Places, np.ndarray], int]
] = getattr(native, "put_leaves", put_leaves_in_python)
