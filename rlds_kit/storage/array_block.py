"""Blocks that are cut from columns: how rows that come as arrays are passed to the writer thread."""

from collections.abc import Iterator, Sequence

import numpy as np

from rlds_kit.storage.array_columns import Sides
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.column import Column
from rlds_kit.storage.policy import FlushPolicy


class ArrayBlock:
    """The rows of a block: copies of a part of columns.

    Args:
      columns: of these rows.
      pool: for memory; the caller of the constructor and of `release` holds its lock.

    Attributes:
      nbytes: of all rows.
    """

    def __init__(self, columns: Sequence[Column], pool: ArrayPool) -> None:
        self._columns = [_copied(column, pool) for column in columns]
        self._pool = pool
        self.nbytes = bytes_of(self._columns)

    def seal(self) -> list[Column]:
        """The columns."""
        return self._columns

    def release(self) -> None:
        """Returns the memory to the pool."""
        for column in self._columns:
            self._pool.give(column.values)


def bytes_of(columns: Sequence[Column]) -> int:
    """Bytes of the values."""
    return sum(column.values.nbytes for column in columns)


def rows_of_blocks(rows: range, sides: Sides, policy: FlushPolicy) -> Iterator[range]:
    """The rows of each block that is cut from these rows.

    >>> list(rows_of_blocks(range(5), Sides([], []), FlushPolicy(block_rows=2)))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    row_bytes = (bytes_of(sides.observed) + bytes_of(sides.acted)) // max(1, len(rows))
    size = policy.rows_of_block(row_bytes)
    for begin in range(rows.start, rows.stop, size):
        yield range(begin, min(begin + size, rows.stop))


def columns_in(rows: range, sides: Sides) -> list[Column]:
    """The part of columns in a block; the action of a step is stored with the observation after it."""
    parts = [column.between(rows.start, rows.stop) for column in sides.observed]
    parts += [column.between(rows.start - 1, rows.stop - 1) for column in sides.acted]
    return [part for part in parts if len(part.rows)]


def _copied(column: Column, pool: ArrayPool) -> Column:
    values = pool.take(column.values.shape, column.values.dtype)
    np.copyto(values, column.values)
    return Column(column.key, column.rows, values, column.shapes)
