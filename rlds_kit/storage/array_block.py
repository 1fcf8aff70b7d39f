"""Blocks that are cut from columns: how rows that come as arrays are passed to the writer thread."""

from collections.abc import Iterator, Sequence

import numpy as np

from rlds_kit.storage.array_columns import SideColumns
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
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
        self.nbytes = sum(column.values.nbytes for column in self._columns)

    def seal(self) -> list[Column]:
        """The columns."""
        return self._columns

    def forms(self) -> tuple[()]:
        """None: this block is encoded alone."""
        return ()

    def encoded(self, _choose: FilterChoice) -> None:
        """Nothing: this block is encoded alone."""

    def release(self) -> None:
        """Returns the memory to the pool."""
        for column in self._columns:
            self._pool.give(column.values)


def rows_of_blocks(rows: range, nbytes: int, policy: FlushPolicy) -> Iterator[range]:
    """The rows of each block that is cut from rows of so many bytes.

    >>> list(rows_of_blocks(range(5), 1000, FlushPolicy(block_rows=2)))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    size = policy.rows_of_block(nbytes // max(1, len(rows)))
    for begin in range(rows.start, rows.stop, size):
        yield range(begin, min(begin + size, rows.stop))


def columns_in(rows: range, observed: SideColumns, acted: SideColumns) -> list[Column]:
    """The part of columns in a block; the action of a step is stored with the observation after it."""
    return observed.between(rows.start, rows.stop) + acted.between(rows.start - 1, rows.stop - 1)


def _copied(column: Column, pool: ArrayPool) -> Column:
    values = pool.take(column.values.shape, column.values.dtype)
    np.copyto(values, column.values)
    return Column(column.key, column.rows, values, column.shapes)
