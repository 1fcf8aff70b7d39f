"""The values of one step of many environments that step together: one array for each column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rlds_kit.storage.leaf import ColumnKey


class BatchLeaf(NamedTuple):
    """One column of a batch.

    Attributes:
      key: the column of each value.
      values: `[lanes, *shape]`, in the dtype in which the column is stored.
      mask: `[lanes]` bool, which lanes have a value; None: all.
    """

    key: ColumnKey
    values: np.ndarray
    mask: np.ndarray | None = None


class BatchLeaves(NamedTuple):  # made for each row, in a third of the time of a frozen dataclass
    """One row of every lane.

    Attributes:
      observed: the columns of the observation side.
      acted: the columns of the action that led to it; not used for lanes in which this row is the first one.
    """

    observed: Sequence[BatchLeaf] = ()
    acted: Sequence[BatchLeaf] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """The columns of rows of one form: one object for all of them.

    Attributes:
      observed: those of the observation side.
      acted: those of the action that led to it.
    """

    observed: tuple[ColumnKey, ...]
    acted: tuple[ColumnKey, ...]


def row_bytes(leaves: Sequence[BatchLeaf]) -> int:
    """Bytes of one lane.

    >>> row_bytes([BatchLeaf(ColumnKey("x", 0, np.dtype("f4"), 1), np.zeros((64, 3), "f4"))])
    12
    """
    return sum(values.nbytes // len(values) for _, values, _ in leaves)
