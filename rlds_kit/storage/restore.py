"""Restores the recorded values from columns, and stacks them to arrays."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.storage.column import Column, storage_dtype
from rlds_kit.storage.column_layout import ColumnLayout
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey
from rlds_kit.storage.reusable_memory import field_memory
from rlds_kit.storage.rows import Rows


def exact(column: Column) -> list[Any]:
    """The value of each row as it was recorded: Python's own types, NumPy scalars, 0-d and n-d arrays."""
    return _EXACT[column.key.kind](column)


def _arrays(column: Column) -> list[np.ndarray]:
    # A copy of each value, so that a reference to a row does not keep its whole block in memory, and 0-d arrays stay
    # arrays. The dtype is passed again, because elements of arrays of text or big-endian numbers lose it.
    return [np.array(item, column.values.dtype) for item in column.items()]


def _chunks(column: Column) -> list[bytes]:
    data = column.values.tobytes()
    lengths = np.full(len(column.rows), column.values.shape[-1]) if column.shapes is None else column.shapes[:, 0]
    ends = np.cumsum(lengths).tolist()
    return [data[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]


def _trees(column: Column) -> list[Any]:
    is_of_empty_dicts = column.shapes is None and column.values.shape[1] == len(EMPTY_DICT)
    if is_of_empty_dicts and (column.values == np.frombuffer(EMPTY_DICT, np.uint8)).all():  # as most infos are
        return [{} for _ in column.rows]
    return [value.decode(pb.Value.FromString(data)) for data in _chunks(column)]


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
    pb.TREE: _trees,
    pb.NUMPY_TEXT: lambda column: [np.str_(value.decode_text(data)) for data in _chunks(column)],
    pb.NUMPY_BYTES: lambda column: [np.bytes_(data) for data in _chunks(column)],
}

NUMERIC: Final = frozenset((pb.ARRAY, pb.SCALAR, pb.BOOL, pb.INT, pb.FLOAT, pb.COMPLEX))


Allocate: TypeAlias = Callable[[str, tuple[int, ...], np.dtype[Any]], np.ndarray]
"""Allocates an uninitialized array for the leaf of a path."""


def empty(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Allocates a new array for every leaf; a large one in memory of an earlier one that is not used any more."""
    return field_memory.empty(shape, dtype)


class Stack:
    """Stacks the values of one leaf in rows `[begin, end)` to one array, column by column.

    Columns are copied as they come, so that only one block of a long episode is in memory at a time.

    Args:
      begin: first row.
      end: one past the last.
      allocate: allocates the array for dense values.
    """

    def __init__(self, begin: int, end: int, allocate: Allocate = empty) -> None:
        self._begin, self._end, self._allocate = begin, end, allocate
        self._present = np.zeros(end - begin, np.bool_)
        self._after = 0  # rows from here on have no value yet
        self._key: ColumnKey | None = None
        self._dense: np.ndarray | None = None
        self._rows: Rows | None = None  # the same as bytes
        self._others: list[Column] = []

    def add(self, column: Column) -> None:
        """Adds the rows of a column; no row may have a value in two columns."""
        part = column.between(self._begin, self._end)
        if not len(part.rows):
            return
        rows = part.rows - self._begin
        if part.shapes is None and self._fits(part.key, part.values.shape[1:]) and self._dense is not None:
            self._dense[slice(rows[0], rows[-1] + 1) if len(rows) == rows[-1] - rows[0] + 1 else rows] = part.values
        else:
            self._others.append(part)
        self._present[rows] = True
        self._after = max(self._after, int(rows[-1]) + 1)

    def rows_for(self, column: ColumnLayout, until: int) -> tuple[Rows, int] | None:
        """Returns the memory into which the rows of a column are decoded, so that they need not be copied.

        The caller must fill them, or not use the stack.

        Args:
          column: with rows of the stack.
          until: one past the last row that is requested; later ones get zeros.

        Returns:
          `[rows, bytes]`, at least one row, and the first of these rows, counted from the column's first; None if the
          column must be copied.
        """
        begin, end = max(column.first_row, self._begin), min(column.end_row, self._end)
        first, wanted, last = begin - self._begin, min(end, until) - self._begin, end - self._begin
        if not column.is_plain or first >= wanted:
            return None
        if not self._fits(column.key, column.shape) or self._dense is None:
            return None
        if first < self._after and np.count_nonzero(self._present[first:last]):  # takes a tenth of the time of `any`
            return None
        if self._rows is None:
            self._rows = self._dense.reshape(len(self._dense), -1).view(np.uint8)
        self._present[first:last] = True
        self._after = max(self._after, last)
        if wanted < last:
            self._rows[wanted:last] = 0
        return self._rows[first:wanted], begin - column.first_row

    def _fits(self, key: ColumnKey, shape: tuple[int, ...]) -> bool:
        """Whether values can be copied into the dense array; the first suitable ones allocate it."""
        if self._key is None and key.kind in NUMERIC:
            self._key = key
            self._dense = self._allocate(key.path, (self._end - self._begin, *shape), storage_dtype(key))
        return self._dense is not None and key == self._key and shape == self._dense.shape[1:]

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value, which is possible even if columns cover the rows."""
        return not np.count_nonzero(self._present)

    @property
    def present(self) -> np.ndarray:
        """`[end - begin]` bool, which rows have a value."""
        return self._present

    @property
    def dense(self) -> Column | None:
        """All rows, those without a value too, if all values have one kind, dtype and shape; else None."""
        if self._dense is None or self._key is None or self._others:
            return None
        return Column(self._key, np.arange(self._begin, self._end), self._dense)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """The stacked values, and which rows have one.

        Returns:
          `[end - begin, *shape]` with zeros where there is no value; an object array of the exact values where they
          have no common dtype and shape. And `[end - begin]` bool.
        """
        if self._dense is not None and not self._others:
            if np.count_nonzero(self._present) < len(self._present):
                self._dense[~self._present] = np.zeros((), self._dense.dtype)  # for text, the empty text
            return self._dense, self._present
        parts = [*self._first_parts(), *self._others]
        dtype = _common_dtype(parts)
        shapes = {part.values.shape[1:] for part in parts}
        if dtype is None or len(shapes) != 1 or any(part.shapes is not None for part in parts):
            return self._objects(parts), self._present
        stacked = np.zeros((self._end - self._begin, *shapes.pop()), dtype)
        for part in parts:
            stacked[part.rows - self._begin] = part.values
        return stacked, self._present

    def exact(self) -> tuple[np.ndarray, np.ndarray]:
        """The value of each row as it was recorded, for any mixture of types.

        Returns:
          `[end - begin]` objects, None where there is no value; and `[end - begin]` bool.
        """
        return self._objects([*self._first_parts(), *self._others]), self._present

    def _first_parts(self) -> list[Column]:
        """The values that were already copied, as a column."""
        if self._dense is None or self._key is None:
            return []
        mine = self._present.copy()
        for other in self._others:
            mine[other.rows - self._begin] = False
        rows = np.flatnonzero(mine)
        return [Column(self._key, rows + self._begin, self._dense[rows])]

    def _objects(self, parts: Sequence[Column]) -> np.ndarray:
        stacked = np.empty(self._end - self._begin, object)
        for part in parts:
            stacked[part.rows - self._begin] = np.fromiter(exact(part), object, len(part.rows))
        return stacked


def _common_dtype(columns: Sequence[Column]) -> np.dtype[Any] | None:
    """A dtype that represents every value of every column exactly, or None."""
    if not columns or any(column.key.kind not in NUMERIC for column in columns):
        return None
    dtypes = {column.values.dtype for column in columns}
    if len(dtypes) == 1:
        return dtypes.pop()
    if any(dtype.kind not in "biufc" for dtype in dtypes):
        return None
    common = np.result_type(*dtypes)
    return common if all(survives(column.values, common) for column in columns) else None


def exact_array(value: object) -> np.ndarray | None:
    """Converts a number, an array, or a list or tuple of these to an equal array; None if there is none.

    >>> exact_array([1, 2.5]), exact_array([[1], [2, 3]]) is None, exact_array(None) is None
    (array([1. , 2.5]), True, True)
    """
    if isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        found = np.asarray(value)
        return found if found.dtype.kind in "biufc" else None
    if not isinstance(value, list | tuple) or not value:
        return None
    items = [exact_array(item) for item in value]
    known = [item for item in items if item is not None]
    if len(known) < len(items) or len({item.shape for item in known}) > 1:
        return None
    common = np.result_type(*known)
    return np.stack(known, dtype=common) if all(survives(item, common) for item in known) else None


def survives(values: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Whether a cast preserves every value. NumPy considers int64 to float64 safe, but 2**53 + 1 changes."""
    if values.dtype.kind in "iu" and dtype.kind in "fc":
        wide, bits = values.astype(dtype).real, 8 * values.dtype.itemsize - (values.dtype.kind == "i")
        with np.errstate(all="ignore"):  # the result for floats beyond the integer range depends on the processor
            return bool((wide < 2.0**bits).all() and np.array_equal(wide.astype(values.dtype), values))
    return np.can_cast(values.dtype, dtype, "safe")
