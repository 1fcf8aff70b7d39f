"""Columns back to the values that were given, and to stacked arrays."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage import value
from rlds_kit.storage.column import Column


def exact(column: Column) -> list[Any]:
    """Each row's value as it was given: Python's own types, NumPy scalars, 0-d and n-d arrays."""
    return _EXACT[column.key.kind](column)


def _arrays(column: Column) -> list[np.ndarray]:
    # A copy of each, so that a row that is kept does not keep its whole block, and 0-d arrays stay arrays.
    return [np.array(item) for item in column.items()]


def _chunks(column: Column) -> list[bytes]:
    data = column.values.tobytes()
    lengths = np.full(len(column.rows), column.values.shape[-1]) if column.shapes is None else column.shapes[:, 0]
    ends = np.cumsum(lengths).tolist()
    return [data[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def _tree(data: bytes) -> Any:  # any recorded value
    return value.decode(pb.Value.FromString(data))


_EXACT: Final[dict[int, Callable[[Column], list[Any]]]] = {
    pb.ARRAY: _arrays,
    pb.SCALAR: lambda column: list(column.values),
    pb.BOOL: lambda column: column.values.tolist(),
    pb.INT: lambda column: column.values.tolist(),
    pb.FLOAT: lambda column: column.values.tolist(),
    pb.COMPLEX: lambda column: column.values.tolist(),
    pb.BIG_INT: lambda column: [value.decode_big_int(data) for data in _chunks(column)],
    pb.TEXT: lambda column: [value.decode_text(data) for data in _chunks(column)],
    pb.BYTES: _chunks,
    pb.NONE: lambda column: [None] * len(column.rows),
    pb.TREE: lambda column: [_tree(data) for data in _chunks(column)],
    pb.NUMPY_TEXT: lambda column: [np.str_(value.decode_text(data)) for data in _chunks(column)],
    pb.NUMPY_BYTES: lambda column: [np.bytes_(data) for data in _chunks(column)],
}

NUMERIC: Final = frozenset((pb.ARRAY, pb.SCALAR, pb.BOOL, pb.INT, pb.FLOAT, pb.COMPLEX))


def stack(columns: Sequence[Column], begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """The values of one leaf in rows `[begin, end)` as one array.

    Args:
      columns: every column of the leaf that touches these rows; no row has a value in two of them.
      begin: first row.
      end: one past the last row.

    Returns:
      `[end - begin, *shape]` of the values' dtype, with zeros where there is none; an object array of the exact values
      where they have no common dtype and shape. And `[end - begin]` bool, which rows have a value.
    """
    present = np.zeros(end - begin, np.bool_)
    parts = [column.between(begin, end) for column in columns]
    parts = [part for part in parts if len(part.rows)]
    for part in parts:
        present[part.rows - begin] = True
    dtype = _common_dtype(parts)
    shapes = {part.values.shape[1:] for part in parts}
    if dtype is None or len(shapes) != 1 or any(part.shapes is not None for part in parts):
        return _stack_objects(parts, begin, end), present
    if bool(present.all()) and len({part.key for part in parts}) == 1:
        return np.concatenate([part.values for part in parts]), present
    stacked = np.zeros((end - begin, *shapes.pop()), dtype)
    for part in parts:
        stacked[part.rows - begin] = part.values
    return stacked, present


def _common_dtype(columns: Sequence[Column]) -> np.dtype[Any] | None:
    """A dtype that holds every value of every column exactly, or None."""
    if not columns or any(column.key.kind not in NUMERIC for column in columns):
        return None
    dtypes = {column.values.dtype for column in columns}
    if len(dtypes) == 1:
        return dtypes.pop()
    if any(dtype.kind not in "biufc" for dtype in dtypes):
        return None
    common = np.result_type(*dtypes)
    exactly = all(np.can_cast(dtype, common, "safe") and _holds(common, dtype) for dtype in dtypes)
    return common if exactly else None


def _holds(common: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    # NumPy calls int64 to float64 safe although 2**53 + 1 does not survive it.
    return dtype.kind not in "iu" or common.kind in "iu" or dtype.itemsize * 2 <= common.itemsize


def _stack_objects(parts: Sequence[Column], begin: int, end: int) -> np.ndarray:
    stacked = np.empty(end - begin, object)
    for part in parts:
        for row, item in zip(part.rows.tolist(), exact(part), strict=True):
            stacked[row - begin] = item
    return stacked
