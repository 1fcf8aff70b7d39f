"""Rows that are copied again are what copying them anew gives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.leaf import Leaves
from tests.storage.batch_rows import BOOLS, KEYS, LANES, masks_of, values_of


@given(st.data())
def test_a_row_copied_again_is_what_copying_it_anew_gives(data: st.DataObject) -> None:
    """Among rows of other columns, of some lanes, and of one lane; or it is left to `put`."""
    one, other = (BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20)) for _ in range(2))
    places, known = np.zeros(LANES, np.int64), dict[tuple[int, ...], RowKeys]()
    for _ in range(data.draw(st.integers(1, 8))):
        chosen = data.draw(st.sampled_from([(0, 1), (0, 1), (0,), (1, 2)]))
        keys = known.setdefault(chosen, RowKeys(tuple(KEYS[at] for at in chosen), (KEYS[4],)))
        values = tuple(data.draw(values_of(key)) for key in (*keys.observed, *keys.acted))
        masks = data.draw(masks_of(len(values)))
        are_fitting = all(type(each) is np.ndarray and each.shape[:1] == (LANES,) for each in values)
        if not are_fitting:
            assert one.put_again(keys, values, masks, places) == -1
            one.clean(places)
            continue
        sides = zip((*keys.observed, *keys.acted), values, masks or [None] * len(values), strict=True)
        leaves = [BatchLeaf(*each) for each in sides]
        row, lanes = BatchLeaves(leaves[:-1], leaves[-1:]), np.arange(LANES)
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
                copied = one.put_again(keys, values, masks, places)
                if copied < 0:
                    one.clean(places)
                    copied = one.put(row, None, places)
                assert other.put(row, None, places) == copied
        places = places + np.isin(np.arange(LANES), lanes)
    for lane, rows in enumerate(places.tolist()):
        for found, expected in zip(one.columns(lane, range(rows), 0), other.columns(lane, range(rows), 0), strict=True):
            assert found.key == expected.key
            assert found.rows.tolist() == expected.rows.tolist()
            assert found.values.tobytes() == expected.values.tobytes()


def test_a_column_that_a_repeated_row_adds_is_known() -> None:
    """After an interruption, a row may be copied to the same place once more, with other columns."""
    buffer = BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20))
    places, values, keys = np.zeros(LANES, np.int64), np.ones(LANES, np.float32), RowKeys(tuple(KEYS[:1]), ())
    buffer.put(BatchLeaves([BatchLeaf(KEYS[0], values)]), None, places)
    assert buffer.put_again(keys, (values,), None, places) == 4
    buffer.put(BatchLeaves([BatchLeaf(KEYS[0], values), BatchLeaf(KEYS[2], values.astype("i8"))]), None, places)
    assert buffer.put_again(keys, (values,), None, places + 1) == -1


def test_a_row_is_copied_again() -> None:
    """Into known columns; not if others would need flags."""
    buffer = BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20))
    places, values = np.zeros(LANES, np.int64), np.ones(LANES, np.float32)
    keys, both = RowKeys(tuple(KEYS[:1]), ()), RowKeys((KEYS[0], KEYS[2]), ())
    assert buffer.put_again(keys, (values,), None, places) == -1
    buffer.put(BatchLeaves([BatchLeaf(KEYS[0], values)]), None, places)
    assert buffer.put_again(keys, (values,), None, places + 1) == 4
    buffer.put(BatchLeaves([BatchLeaf(KEYS[0], values), BatchLeaf(KEYS[2], values.astype("i8"))]), None, places + 2)
    assert (
        buffer.put_again(keys, (values,), None, places + 3) == 4
    )  # the second column has flags, as its first rows lack it
    assert buffer.put_again(both, (values, values.astype("i8")), None, places + 4) == 12
    (_, column) = buffer.columns(0, range(5), 0)
    assert column.rows.tolist() == [2, 4]
