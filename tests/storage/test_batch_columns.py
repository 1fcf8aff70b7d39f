"""Rows of all lanes are copied alike with the C extension and without it."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import batch_columns
from rlds_kit.storage.array_form import native
from rlds_kit.storage.batch_columns import BatchColumn
from rlds_kit.storage.batch_leaves import BatchLeaf
from rlds_kit.storage.leaf import ColumnKey
from tests.storage.batch_rows import BOOLS, CAPACITY, EVERY, KEYS, LANES, SHAPES


def _columns(keys: list[ColumnKey], presents: list[bool]) -> dict[ColumnKey, BatchColumn]:
    return {
        key: BatchColumn(
            np.zeros((CAPACITY, LANES, *SHAPES[key.rank]), key.dtype),
            np.zeros((CAPACITY, LANES), np.bool_) if has_flags else None,
        )
        for key, has_flags in zip(keys, presents, strict=True)
    }


def _require_equal(columns: dict[ColumnKey, BatchColumn], others: dict[ColumnKey, BatchColumn]) -> None:
    """Values and flags, byte for byte."""
    for column, other in zip(columns.values(), others.values(), strict=True):
        assert column.array.tobytes() == other.array.tobytes()
        assert (column.present is None) == (other.present is None)
        if column.present is not None and other.present is not None:
            assert column.present.tobytes() == other.present.tobytes()


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
    expected = batch_columns.put_leaves_in_python(others, leaves, lanes, places, EVERY)
    found = batch_columns.put_leaves(columns, leaves, lanes, places, EVERY)
    if found != expected:
        assert found == -1
        assert not all(leaf.values.flags.c_contiguous for leaf in leaves)
    elif expected >= 0:
        _require_equal(columns, others)


@pytest.mark.parametrize("put_leaves", [batch_columns.put_leaves, batch_columns.put_leaves_in_python])
def test_a_row_may_lack_columns_that_have_flags_only(put_leaves: Any) -> None:
    """The others need flags from this row on."""
    leaf = BatchLeaf(KEYS[1], np.ones((LANES, 2), np.float32))
    places = np.zeros(LANES, np.int64)
    assert put_leaves(_columns(KEYS[:2], [True, False]), [leaf], None, places, EVERY) == 8
    assert put_leaves(_columns(KEYS[:2], [False, False]), [leaf], None, places, EVERY) == -1
    assert put_leaves(_columns(KEYS[1:2], [False]), [leaf._replace(mask=EVERY)], None, places, EVERY) == -1
    assert put_leaves(_columns(KEYS[1:2], [True]), [leaf], None, places + CAPACITY, EVERY) == -1


@pytest.mark.skipif(native is None, reason="needs the C extension")
def test_what_is_no_row_is_refused() -> None:
    """With an error, where Python would fail too."""
    places, leaf = np.zeros(LANES, np.int64), (KEYS[0], np.ones(LANES, np.float32), None)
    columns: Any = _columns(KEYS[:1], [False])
    refused: list[Any] = [[leaf], columns, None]
    for bad in refused:
        with pytest.raises(TypeError):
            batch_columns.put_leaves(bad, [leaf[:2]], None, places, EVERY)  # type: ignore[list-item]
    with pytest.raises(TypeError):
        batch_columns.put_leaves(columns, 3, None, places, EVERY)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable"):
        batch_columns.put_leaves(columns, [([], *leaf[1:])], None, places, EVERY)  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        batch_columns.put_leaves({KEYS[0]: object()}, [leaf], None, places, EVERY)  # type: ignore[dict-item,list-item]
