"""Rows that a log copies into a buffer are what copying them anew gives."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_columns import Masks
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.row_log import BEGIN, RowLog, log_row
from tests.storage.batch_rows import BOOLS, DISCOUNT, KEYS, LANES, masks_of, values_of

NO = np.zeros(LANES, np.bool_)


def _logged(
    buffer: BatchBuffer, keys: RowKeys, values: tuple[Any, ...], masks: Masks, places: np.ndarray, over: np.ndarray = NO
) -> int:
    """Copies a row into the columns of a buffer, with discounts of 0 where an episode is over; returns its bytes."""
    columns = buffer.columns_of(keys)
    log = RowLog(places, NO, 1, after_end=BEGIN)
    return -1 if columns is None else log_row(log._arrays, columns, values, masks, over, NO)


@given(st.data())
def test_a_row_of_a_log_is_what_copying_it_anew_gives(data: st.DataObject) -> None:
    """Among rows of other columns, of some lanes, and of one lane; or it is left to `put`, and has changed nothing."""
    one, other = (BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20)) for _ in range(2))
    places, known = np.zeros(LANES, np.int64), dict[tuple[int, ...], RowKeys]()
    for _ in range(data.draw(st.integers(1, 8))):
        chosen = data.draw(st.sampled_from([(0, 1), (0, 1), (0,), (1, 2)]))
        keys = known.setdefault(chosen, RowKeys(tuple(KEYS[at] for at in chosen), (KEYS[4], DISCOUNT)))
        values = tuple(data.draw(values_of(key)) for key in (*keys.observed, KEYS[4]))
        masks = data.draw(masks_of(len(values)))
        over = data.draw(BOOLS)
        are_fitting = all(
            type(each) is np.ndarray and each.shape[:1] == (LANES,) and each.ndim == key.rank + 1
            for key, each in zip((*keys.observed, KEYS[4]), values, strict=True)
        )
        if not are_fitting:
            assert _logged(one, keys, values, masks, places, over) == -1
            continue
        sides = zip((*keys.observed, KEYS[4]), values, masks or [None] * len(values), strict=True)
        leaves = [*(BatchLeaf(*each) for each in sides), BatchLeaf(DISCOUNT, np.where(over, 0.0, 1.0))]
        row, lanes = BatchLeaves(leaves[:-2], leaves[-2:]), np.arange(LANES)
        match data.draw(st.integers(0, 4)):
            case 0:
                lanes = np.flatnonzero(data.draw(BOOLS))
                for buffer in (one, other):
                    buffer.put(row, lanes, places)
            case 1:
                lanes = lanes[:1]
                both = [Leaves([each.key for each in side], [each.values[0] for each in side]) for side in row]
                for buffer in (one, other):
                    buffer.put_row(0, both[0], both[1], places)
            case _:
                copied = _logged(one, keys, values, masks, places, over)
                if copied < 0:
                    copied = one.put(row, None, places) * LANES
                assert other.put(row, None, places) * LANES == copied
        places = places + np.isin(np.arange(LANES), lanes)
    for lane, rows in enumerate(places.tolist()):
        for found, expected in zip(one.columns(lane, range(rows), 0), other.columns(lane, range(rows), 0), strict=True):
            assert found.key == expected.key
            assert found.rows.tolist() == expected.rows.tolist()
            assert found.values.tobytes() == expected.values.tobytes()


def _row(*numbers: int) -> BatchLeaves:
    """A row with these of the columns, and discounts."""
    observed = [BatchLeaf(KEYS[number], np.ones(LANES, KEYS[number].dtype)) for number in numbers]
    return BatchLeaves(observed, [BatchLeaf(DISCOUNT, np.ones(LANES))])


def test_a_column_that_a_repeated_row_adds_is_known() -> None:
    """After an interruption, a row may be copied to the same place once more, with other columns."""
    buffer = BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20))
    places, values, keys = np.zeros(LANES, np.int64), np.ones(LANES, np.float32), RowKeys((KEYS[0],), (DISCOUNT,))
    buffer.put(_row(0), None, places)
    assert _logged(buffer, keys, (values,), None, places) == 12 * LANES
    buffer.put(_row(0, 2), None, places)
    assert buffer.columns_of(keys) is None


def test_a_row_is_copied_into_known_columns() -> None:
    """Not if others would need flags."""
    buffer = BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20))
    places, values = np.zeros(LANES, np.int64), np.ones(LANES, np.float32)
    keys, both = RowKeys((KEYS[0],), (DISCOUNT,)), RowKeys((KEYS[0], KEYS[2]), (DISCOUNT,))
    assert buffer.columns_of(keys) is None
    buffer.put(_row(0), None, places)
    assert _logged(buffer, keys, (values,), None, places + 1) == 12 * LANES
    assert buffer.columns_of(RowKeys((KEYS[0],), ())) is None  # rows without discounts
    buffer.put(_row(0, 2), None, places + 2)
    # The second column has flags, as its first rows lack it.
    assert _logged(buffer, keys, (values,), None, places + 3) == 12 * LANES
    assert _logged(buffer, both, (values, values.astype("i8")), None, places + 4) == 20 * LANES
    (_, column, discounts) = buffer.columns(0, range(5), 0)
    assert column.rows.tolist() == [2, 4]
    assert discounts.rows.tolist() == [0, 1, 2, 3]
