"""Rows of a few lanes that fit into columns, or do not."""

from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from rlds_kit.storage.batch_columns import Masks
from rlds_kit.storage.leaf import ColumnKey

CAPACITY, LANES = 4, 3
EVERY: Final = np.ones(LANES, np.bool_)
SHAPES: Final = [(), (2,)]
KEYS: Final = [
    ColumnKey(name, 0, np.dtype(dtype), len(shape)) for name in "ab" for dtype in ("f4", "i8") for shape in SHAPES
]
DISCOUNT: Final = ColumnKey("discount", 0, np.dtype(np.float64), 0)
BOOLS: Final = st.lists(st.booleans(), min_size=LANES, max_size=LANES).map(np.array)


def masks_of(count: int) -> st.SearchStrategy[Masks]:
    """Of so many values."""
    return st.none() | st.lists(st.none() | BOOLS, min_size=count, max_size=count).map(tuple)


@st.composite
def values_of(draw: st.DrawFn, key: ColumnKey) -> Any:
    """Of a column, or of another form."""
    values: np.ndarray = draw(st.integers(1, 99)) + np.arange(LANES * 2).reshape(LANES, 2)[:, : max(1, 2 * key.rank)]
    fitting = values.reshape(LANES, *SHAPES[key.rank]).astype(key.dtype)
    odd = (
        fitting.astype(">f8"),
        fitting.astype(fitting.dtype.newbyteorder()),
        np.ma.masked_array(fitting),
        fitting.tolist(),
        None,
        fitting[:2],
        fitting[:, np.newaxis],
    )
    return fitting if draw(st.integers(0, 9)) else draw(st.sampled_from(odd))
