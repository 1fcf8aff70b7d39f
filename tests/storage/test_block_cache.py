"""The cache of decoded columns: as many bytes as it was given, those of small columns counted in full."""

import numpy as np
import pytest

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.block_cache import ColumnStore, weight
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey

KEY = ColumnKey("x", pb.ARRAY, np.dtype(np.uint8), 1)
DENSE = Column(KEY, np.arange(64), np.zeros((64, 1), np.uint8))
RAGGED = Column(KEY, np.arange(64), np.zeros(64, np.uint8), np.ones((64, 1), np.int64))


@pytest.mark.parametrize("column", [DENSE, RAGGED])
def test_all_that_a_column_takes_is_counted(column: Column) -> None:
    """Its numbers of rows and its shapes take more than the values of a small field."""
    arrays = [column.rows, column.values, *([] if column.shapes is None else [column.shapes])]
    assert weight(column) > sum(array.nbytes for array in arrays)


@pytest.mark.parametrize("column", [DENSE, RAGGED])
def test_no_more_columns_than_there_is_room_for(column: Column) -> None:
    """The blocks not used for longest are dropped first."""
    store = ColumnStore(limit=5 * weight(column))
    for position in range(9):
        store.add_columns(("shard", position), {0: column})
        store.columns(("shard", 0))
    assert [position for position in range(9) if store.columns(("shard", position))] == [0, 5, 6, 7, 8]


def test_a_column_that_would_drop_most_others_is_not_kept() -> None:
    """One that takes over a quarter of the limit is read again when it is wanted again."""
    store = ColumnStore(limit=3 * weight(DENSE))
    store.add_columns(("shard", 0), {0: DENSE})
    assert not store.columns(("shard", 0))


def test_the_same_column_counts_once() -> None:
    """Two threads may have decoded it at once."""
    store = ColumnStore(limit=5 * weight(DENSE))
    for _ in range(9):
        store.add_columns(("shard", 0), {0: DENSE})
    store.add_columns(("shard", 1), {0: DENSE})
    assert store.columns(("shard", 0)).keys() == store.columns(("shard", 1)).keys() == {0}
