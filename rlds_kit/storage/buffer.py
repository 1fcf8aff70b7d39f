"""Buffers for the values of one column that are not on disk yet."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import UnsupportedTypeError
from rlds_kit.spec import dtypes, value
from rlds_kit.storage import column as columns
from rlds_kit.storage.array_form import put_row
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey

_FIRST_CAPACITY: Final = 4


class ArrayBuffer:
    """A buffer for arrays of one dtype and rank; they are copied into one array as long as their shapes agree."""

    def __init__(self, key: ColumnKey, expected_rows: int, pool: ArrayPool) -> None:
        self.key = key
        self.rows: list[int] = []
        self._expected_rows, self._pool = expected_rows, pool
        self._dense: np.ndarray | None = None
        self._row_bytes = 0
        self._items: list[np.ndarray] | None = None

    def append(self, row: int, item: np.ndarray) -> int:
        """Copies `item`; returns how many bytes that took."""
        dense, count = self._dense, len(self.rows)
        if dense is not None and put_row(dense, count, item):  # the usual case
            self.rows.append(row)
            return self._row_bytes
        if self._items is not None:
            self._items.append(np.array(item, order="C"))
        else:
            self._append_other(item)
        self.rows.append(row)
        return item.nbytes

    def drop_from(self, row: int) -> None:
        """Removes the values of `row` and later rows."""
        while self.rows and self.rows[-1] >= row:
            self.rows.pop()
        if self._items is not None:
            del self._items[len(self.rows) :]

    def _append_other(self, item: np.ndarray) -> None:
        """Appends the first array, one of another shape, one beyond the capacity, or one that is not contiguous."""
        count = len(self.rows)
        if self._dense is None:
            self._row_bytes = item.nbytes
            self._dense = self._pool.take((max(_FIRST_CAPACITY, self._expected_rows), *item.shape), item.dtype)
        if item.shape != self._dense.shape[1:]:
            items = [*self._dense[:count].copy(), np.array(item, order="C")]
            self._dense, self._items = None, items  # one statement: no signal handler runs in between
            return
        if count == len(self._dense):
            self._dense = np.concatenate((self._dense, np.empty_like(self._dense)))
        if not put_row(self._dense, count, item):
            self._dense[count] = item

    def release(self) -> None:
        """Returns the memory to the pool."""
        if self._dense is not None:
            self._pool.give(self._dense)
            self._dense = None

    def seal(self, rows: np.ndarray) -> Column:
        """The column of all values; `rows` are their rows, `[n]` int64. The buffer must not be used afterwards."""
        if self._dense is not None:
            return Column(self.key, rows, self._dense[: len(rows)])
        items = self._items or []
        shapes = np.array([item.shape for item in items], np.int64).reshape(len(items), self.key.rank)
        return Column(self.key, rows, np.concatenate([item.reshape(-1) for item in items]), shapes)


class _ItemBuffer:
    """A buffer that stores values in a list."""

    def __init__(self, key: ColumnKey) -> None:
        self.key = key
        self.rows: list[int] = []
        self.items: list[Any] = []

    def drop_from(self, row: int) -> None:
        """Removes the values of `row` and later rows."""
        while self.rows and self.rows[-1] >= row:
            self.rows.pop()
        del self.items[len(self.rows) :]


class NumberBuffer(_ItemBuffer):
    """A buffer for Python and NumPy numbers, bool and None, which are immutable and need no copy."""

    def seal(self, rows: np.ndarray) -> Column:
        """The column of all values; `rows` are their rows, `[n]` int64."""
        if self.key.kind == pb.NONE:
            return Column(self.key, rows, np.empty((len(rows), 0), np.uint8))
        return Column(self.key, rows, np.array(self.items, columns.storage_dtype(self.key)))


class BytesBuffer(_ItemBuffer):
    """A buffer for text, bytes, big integers and trees, as bytes of varying length."""

    def __init__(self, key: ColumnKey) -> None:
        super().__init__(key)
        self.encode: Callable[[Any], bytes] = _ENCODERS.get(key.kind, bytes)

    def seal(self, rows: np.ndarray) -> Column:
        """The column of all values; `rows` are their rows, `[n]` int64."""
        lengths = np.array([len(item) for item in self.items], np.int64)
        flat = np.frombuffer(b"".join(self.items), np.uint8)
        if bool((lengths == lengths[0]).all()):
            return Column(self.key, rows, flat.reshape(len(rows), int(lengths[0])))
        return Column(self.key, rows, flat, lengths.reshape(-1, 1))


_ENCODERS: Final[dict[int, Callable[[Any], bytes]]] = {
    pb.TEXT: value.encode_text,
    pb.NUMPY_TEXT: value.encode_text,
    pb.BIG_INT: value.encode_big_int,
}
"""Values of other kinds are already bytes."""


Buffer = ArrayBuffer | NumberBuffer | BytesBuffer

_NUMBERS: Final = frozenset((pb.SCALAR, pb.BOOL, pb.INT, pb.FLOAT, pb.COMPLEX, pb.NONE))


def make_buffer(key: ColumnKey, expected_rows: int, pool: ArrayPool) -> Buffer:
    """An empty buffer for a column.

    Raises:
      UnsupportedTypeError: the dtype is not one that is recorded.
    """
    _require_supported(key)
    if key.kind == pb.ARRAY:
        return ArrayBuffer(key, expected_rows, pool)
    return NumberBuffer(key) if key.kind in _NUMBERS else BytesBuffer(key)


def column_of(key: ColumnKey, rows: np.ndarray, items: Sequence[Any]) -> Column:
    """The column of values that are no arrays.

    >>> column_of(ColumnKey("task", pb.TEXT, None, 1), np.arange(2), ["go", "up"]).values.tolist()
    [[103, 111], [117, 112]]
    """
    if key.kind in _NUMBERS:
        buffer: NumberBuffer | BytesBuffer = NumberBuffer(key)
        buffer.items = list(items)
    else:
        buffer = BytesBuffer(key)
        encoded = {item: buffer.encode(item) for item in set(items)}  # few differ: the task of each step
        if len(encoded) == 1:
            (data,) = encoded.values()
            return Column(key, rows, np.frombuffer(data * len(rows), np.uint8).reshape(len(rows), len(data)))
        buffer.items = [encoded[item] for item in items]
    return buffer.seal(rows)


def stored(key: ColumnKey, item: Any) -> np.ndarray:  # any value of this column
    """A copy of a value in the form in which its column stores it: for text and the like, its bytes.

    Raises:
      UnsupportedTypeError: the dtype is not one that is recorded.

    >>> stored(ColumnKey("info/name", pb.TEXT, None, 1), "ada").tolist()
    [97, 100, 97]
    """
    _require_supported(key)
    if key.kind == pb.NONE:
        return np.empty(0, np.uint8)
    if key.kind == pb.ARRAY or key.kind in _NUMBERS:
        return np.array(item, columns.storage_dtype(key), order="C")
    return np.frombuffer(_ENCODERS.get(key.kind, bytes)(item), np.uint8)


def _require_supported(key: ColumnKey) -> None:
    if key.dtype is not None:
        dtypes.name_of(key.dtype, key.path)
    if key.kind == pb.SCALAR and key.dtype is not None and key.dtype.hasobject:
        raise UnsupportedTypeError(key.path, key.dtype)
