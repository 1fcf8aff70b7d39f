"""Rows of all lanes are copied alike with the C extension and without it."""

import copy
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import batch_buffer
from rlds_kit.storage.array_form import native
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_buffer import _Values as Values
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.leaf import ColumnKey, Leaves

CAPACITY, LANES = 4, 3
EVERY: Final = np.ones(LANES, np.bool_)
SHAPES: Final = [(), (2,)]
KEYS: Final = [
    ColumnKey(name, 0, np.dtype(dtype), len(shape)) for name in "ab" for dtype in ("f4", "i8") for shape in SHAPES
]
BOOLS: Final = st.lists(st.booleans(), min_size=LANES, max_size=LANES).map(np.array)


def _columns(keys: list[ColumnKey], presents: list[bool]) -> dict[ColumnKey, Values]:
    return {
        key: Values(
            np.zeros((CAPACITY, LANES, *SHAPES[key.rank]), key.dtype),
            np.zeros((CAPACITY, LANES), np.bool_) if has_flags else None,
        )
        for key, has_flags in zip(keys, presents, strict=True)
    }


@st.composite
def _leaves(draw: st.DrawFn, keys: list[ColumnKey]) -> list[BatchLeaf]:
    """Of some columns, most of them of the form that the column has."""
    found = []
    for key in draw(st.permutations(keys)):
        if draw(st.integers(0, 9)) == 0:
            continue
        shape = SHAPES[key.rank] if draw(st.integers(0, 29)) else (3,)
        values: np.ndarray = draw(st.integers(1, 99)) + np.arange(LANES * int(np.prod(shape))).reshape(LANES, *shape)
        values = values.astype(key.dtype if draw(st.integers(0, 29)) else np.float64)
        if draw(st.integers(0, 29)) == 0:
            values = np.asfortranarray(np.repeat(values, 2, axis=0))[::2]
        found.append(BatchLeaf(key, values, draw(BOOLS) if draw(st.booleans()) else None))
    return found


@given(st.data())
def test_both_copy_the_same_row(data: st.DataObject) -> None:
    """To some lanes or all, wherever they are; what C leaves to NumPy does not lie in one piece."""
    keys = data.draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    columns = _columns(keys, [data.draw(st.integers(0, 3)) > 0 for _ in keys])
    others = copy.deepcopy(columns)
    leaves = data.draw(_leaves(data.draw(st.sampled_from([keys, keys, KEYS[:3]]))))
    places = np.array(data.draw(st.lists(st.integers(0, CAPACITY - 1), min_size=LANES, max_size=LANES)))
    lanes = np.flatnonzero(data.draw(BOOLS)) if data.draw(st.booleans()) else None
    expected = batch_buffer.put_leaves_in_python(others, leaves, lanes, places, EVERY)
    found = batch_buffer.put_leaves(columns, leaves, lanes, places, EVERY)
    if found != expected:
        assert found == -1
        assert not all(leaf.values.flags.c_contiguous for leaf in leaves)
    elif expected >= 0:
        for column, other in zip(columns.values(), others.values(), strict=True):
            assert column.array.tobytes() == other.array.tobytes()
            assert (column.present is None) == (other.present is None)
            if column.present is not None and other.present is not None:
                assert column.present.tobytes() == other.present.tobytes()


@pytest.mark.parametrize("put_leaves", [batch_buffer.put_leaves, batch_buffer.put_leaves_in_python])
def test_a_row_may_lack_columns_that_have_flags_only(put_leaves: Any) -> None:
    """The others need flags from this row on."""
    leaf = BatchLeaf(KEYS[1], np.ones((LANES, 2), np.float32))
    places = np.zeros(LANES, np.int64)
    assert put_leaves(_columns(KEYS[:2], [True, False]), [leaf], None, places, EVERY) == 8
    assert put_leaves(_columns(KEYS[:2], [False, False]), [leaf], None, places, EVERY) == -1
    assert put_leaves(_columns(KEYS[1:2], [False]), [leaf._replace(mask=EVERY)], None, places, EVERY) == -1
    assert put_leaves(_columns(KEYS[1:2], [True]), [leaf], None, places + CAPACITY, EVERY) == -1


@given(st.data())
def test_both_copy_the_same_row_into_columns(data: st.DataObject) -> None:
    """Of all lanes; also values of another form, or none at all."""
    keys = data.draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    columns = _columns(keys, [data.draw(st.booleans()) for _ in keys])
    others = copy.deepcopy(columns)
    values = tuple(data.draw(_values(key)) for key in keys)
    places = np.array(data.draw(st.lists(st.integers(0, CAPACITY), min_size=LANES, max_size=LANES)))
    masks = data.draw(_masks(len(keys)))
    expected = batch_buffer.put_columns_in_python(tuple(others.values()), values, masks, places, EVERY)
    found = batch_buffer.put_columns(tuple(columns.values()), values, masks, places, EVERY)
    assert found == expected
    if expected >= 0:
        for column, other in zip(columns.values(), others.values(), strict=True):
            assert column.array.tobytes() == other.array.tobytes()
            assert (column.present is None) == (other.present is None)
            if column.present is not None and other.present is not None:
                assert column.present.tobytes() == other.present.tobytes()


def _masks(count: int) -> st.SearchStrategy[batch_buffer.Masks]:
    """Of so many values."""
    return st.none() | st.lists(st.none() | BOOLS, min_size=count, max_size=count).map(tuple)


@st.composite
def _values(draw: st.DrawFn, key: ColumnKey) -> Any:
    """Of a column, or of another form."""
    values: np.ndarray = draw(st.integers(1, 99)) + np.arange(LANES * 2).reshape(LANES, 2)[:, : max(1, 2 * key.rank)]
    fitting = values.reshape(LANES, *SHAPES[key.rank]).astype(key.dtype)
    odd = (fitting.astype(">f8"), np.ma.masked_array(fitting), fitting.tolist(), None, fitting[:2])
    return fitting if draw(st.integers(0, 9)) else draw(st.sampled_from(odd))


@given(st.data())
def test_a_row_copied_again_is_what_copying_it_anew_gives(data: st.DataObject) -> None:
    """Among rows of other columns, of some lanes, and of one lane; or it is left to `put`."""
    one, other = (batch_buffer.BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20)) for _ in range(2))
    places, known = np.zeros(LANES, np.int64), dict[tuple[int, ...], RowKeys]()
    for _ in range(data.draw(st.integers(1, 8))):
        chosen = data.draw(st.sampled_from([(0, 1), (0, 1), (0,), (1, 2)]))
        keys = known.setdefault(chosen, RowKeys(tuple(KEYS[at] for at in chosen), (KEYS[4],)))
        values = tuple(data.draw(_values(key)) for key in (*keys.observed, *keys.acted))
        masks = data.draw(_masks(len(values)))
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


def test_a_row_is_copied_again() -> None:
    """Into known columns; not if others would need flags."""
    buffer = batch_buffer.BatchBuffer(LANES, 8, ArrayPool(1 << 20), ArrayPool(1 << 20))
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


@pytest.mark.skipif(native is None, reason="needs the C extension")
def test_what_is_no_row_is_refused() -> None:
    """With an error, where Python would fail too."""
    places, leaf = np.zeros(LANES, np.int64), (KEYS[0], np.ones(LANES, np.float32), None)
    columns: Any = _columns(KEYS[:1], [False])
    refused: list[Any] = [[leaf], columns, None]
    for bad in refused:
        with pytest.raises(TypeError):
            batch_buffer.put_leaves(bad, [leaf[:2]], None, places, EVERY)  # type: ignore[list-item]
    with pytest.raises(TypeError):
        batch_buffer.put_leaves(columns, 3, None, places, EVERY)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable"):
        batch_buffer.put_leaves(columns, [([], *leaf[1:])], None, places, EVERY)  # type: ignore[list-item]
    for wrong, masks in (((), None), ((leaf[1], leaf[1]), None), ([leaf[1]], None), ((leaf[1],), ())):
        with pytest.raises(TypeError, match="a tuple of columns, one with an array for each, and one with masks"):
            batch_buffer.put_columns((columns[KEYS[0]],), wrong, masks, places, EVERY)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        batch_buffer.put_columns((object(),), (leaf[1],), None, places, EVERY)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        batch_buffer.put_leaves({KEYS[0]: object()}, [leaf], None, places, EVERY)  # type: ignore[dict-item,list-item]
