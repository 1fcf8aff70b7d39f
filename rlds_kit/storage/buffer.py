"""The rows of an open episode that are not on disk yet, column by column."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.errors import UnsupportedTypeError
from rlds_kit.storage import column as columns
from rlds_kit.storage import dtypes, value
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey, Leaf

_FIRST_CAPACITY: Final = 4
_SCALAR_BYTES: Final = 16
"""What one number costs in a list, roughly: for the memory limit only."""


class ArrayBuffer:
    """Arrays of one dtype and rank; copied into one block of memory for as long as their shapes agree."""

    def __init__(self, key: ColumnKey, expected_rows: int, pool: ArrayPool) -> None:
        self.key = key
        self.rows: list[int] = []
        self._expected_rows, self._pool = expected_rows, pool
        self._dense: np.ndarray | None = None
        self._items: list[np.ndarray] | None = None

    def append(self, row: int, item: np.ndarray) -> int:
        """Copies `item`; returns how many bytes that took."""
        dense, count = self._dense, len(self.rows)
        if dense is not None and count < len(dense) and item.shape == dense.shape[1:]:  # as nearly always
            dense[count] = item
        elif self._items is not None:
            self._items.append(np.array(item, order="C"))
        else:
            self._append_first(item)
        self.rows.append(row)
        return item.nbytes

    def drop_from(self, row: int) -> None:
        """Takes back what was appended for `row` and later ones."""
        while self.rows and self.rows[-1] >= row:
            self.rows.pop()
        if self._dense is not None:
            self._items = None
        elif self._items is not None:
            del self._items[len(self.rows) :]

    def _append_first(self, item: np.ndarray) -> None:
        """Of all, of another shape, or beyond the memory there is."""
        count = len(self.rows)
        if self._dense is None:
            self._dense = self._pool.take((max(_FIRST_CAPACITY, self._expected_rows), *item.shape), item.dtype)
        if item.shape != self._dense.shape[1:]:
            self._items = [*self._dense[:count].copy(), np.array(item, order="C")]
            self._dense = None
            return
        if count == len(self._dense):
            self._dense = np.concatenate((self._dense, np.empty_like(self._dense)))
        self._dense[count] = item

    def release(self) -> None:
        """Gives the memory back."""
        if self._dense is not None:
            self._pool.give(self._dense)
            self._dense = None

    def seal(self) -> Column:
        """The column of all rows so far. The buffer must not be used afterwards."""
        rows = np.array(self.rows, np.int64)
        if self._dense is not None:
            return Column(self.key, rows, self._dense[: len(rows)])
        items = self._items or []
        shapes = np.array([item.shape for item in items], np.int64).reshape(len(items), self.key.rank)
        return Column(self.key, rows, np.concatenate([item.reshape(-1) for item in items]), shapes)


class NumberBuffer:
    """Python and NumPy numbers, bool and None: immutable, so kept as they are."""

    def __init__(self, key: ColumnKey) -> None:
        self.key = key
        self.rows: list[int] = []
        self._items: list[Any] = []

    def append(self, row: int, item: object) -> int:
        """Keeps `item`; returns how many bytes that took."""
        self._items.append(item)
        self.rows.append(row)
        return _SCALAR_BYTES

    def drop_from(self, row: int) -> None:
        """Takes back what was appended for `row` and later ones."""
        while self.rows and self.rows[-1] >= row:
            self.rows.pop()
        del self._items[len(self.rows) :]

    def seal(self) -> Column:
        """The column of all rows so far."""
        rows = np.array(self.rows, np.int64)
        if self.key.kind == pb.NONE:
            return Column(self.key, rows, np.empty((len(rows), 0), np.uint8))
        return Column(self.key, rows, np.array(self._items, columns.storage_dtype(self.key)))


class BytesBuffer:
    """Text, bytes, big integers and trees, as bytes of varying length."""

    def __init__(self, key: ColumnKey) -> None:
        self.key = key
        self.rows: list[int] = []
        self._items: list[bytes] = []
        self._encode = _ENCODERS.get(key.kind, bytes)

    def append(self, row: int, item: object) -> int:
        """Keeps `item`; returns how many bytes that took."""
        data = self._encode(item)
        self._items.append(data)
        self.rows.append(row)
        return len(data) + _SCALAR_BYTES

    def drop_from(self, row: int) -> None:
        """Takes back what was appended for `row` and later ones."""
        while self.rows and self.rows[-1] >= row:
            self.rows.pop()
        del self._items[len(self.rows) :]

    def seal(self) -> Column:
        """The column of all rows so far."""
        rows = np.array(self.rows, np.int64)
        lengths = np.array([len(item) for item in self._items], np.int64)
        flat = np.frombuffer(b"".join(self._items), np.uint8)
        if bool((lengths == lengths[0]).all()):
            return Column(self.key, rows, flat.reshape(len(rows), int(lengths[0])))
        return Column(self.key, rows, flat, lengths.reshape(-1, 1))


_ENCODERS: Final[dict[int, Callable[[Any], bytes]]] = {
    pb.TEXT: value.encode_text,
    pb.NUMPY_TEXT: value.encode_text,
    pb.BIG_INT: value.encode_big_int,
}
"""Of other kinds the items are bytes already."""


Buffer = ArrayBuffer | NumberBuffer | BytesBuffer

_NUMBERS: Final = frozenset((pb.SCALAR, pb.BOOL, pb.INT, pb.FLOAT, pb.COMPLEX, pb.NONE))


def make_buffer(key: ColumnKey, expected_rows: int, pool: ArrayPool) -> Buffer:
    """An empty buffer for a column.

    Raises:
      UnsupportedTypeError: the dtype is not one that is recorded.
    """
    if key.dtype is not None:
        dtypes.name_of(key.dtype, key.path)
    if key.kind == pb.ARRAY:
        return ArrayBuffer(key, expected_rows, pool)
    if key.kind == pb.SCALAR and key.dtype is not None and key.dtype.hasobject:
        raise UnsupportedTypeError(key.path, key.dtype)
    return NumberBuffer(key) if key.kind in _NUMBERS else BytesBuffer(key)


_Placed: TypeAlias = list[tuple[Buffer, Any]]
"""Values and the columns they go to."""


class RowBuffer:
    """The columns of one open episode since its last block.

    Args:
      expected_rows: how many rows it is likely to get.
      max_bytes: how many bytes it gets at most, but for the last row.
      pool: where to get memory.
    """

    def __init__(self, expected_rows: int, max_bytes: int, pool: ArrayPool) -> None:
        self.nbytes = 0
        self._columns: dict[ColumnKey, Buffer] = {}
        self._by_identity: dict[int, Buffer] = {}
        self._attempt: tuple[int, int, _Placed, _Placed] | None = None
        self._rows, self._max_bytes, self._pool = expected_rows, max_bytes, pool

    def add(self, row: int, observed: Iterable[Leaf], acted: Iterable[Leaf]) -> None:
        """Copies in what was observed in `row` and what was done in the row before it: all of it, or nothing.

        Raises:
          UnsupportedTypeError: a dtype is not one that is recorded.
        """
        if self._attempt is not None and self._attempt[0] >= row:
            self.settle(row)
        # Whatever can fail comes first; then only an interrupt (Ctrl-C, SIGTERM) can come between two columns.
        here, before = self._placed(observed), self._placed(acted)
        nbytes = self.nbytes
        self._attempt = (row, nbytes, here, before)
        for buffer, item in here:
            nbytes += buffer.append(row, item)
        for buffer, item in before:
            nbytes += buffer.append(row - 1, item)
        self.nbytes = nbytes

    def settle(self, rows: int) -> None:
        """Takes back the last `add` if it was interrupted: if the episode has no more than `rows` rows without it."""
        if self._attempt is None:
            return
        row, nbytes, here, before = self._attempt
        if row >= rows:
            for buffer, _ in here:
                buffer.drop_from(row)
            for buffer, _ in before:
                buffer.drop_from(row - 1)
            self.nbytes = nbytes
        self._attempt = None

    def release(self) -> None:
        """Gives the memory back; columns that `seal` returned must not be used any more."""
        for buffer in self._columns.values():
            if isinstance(buffer, ArrayBuffer):
                buffer.release()

    def seal(self) -> list[Column]:
        """All columns that have rows."""
        return [buffer.seal() for buffer in self._columns.values() if buffer.rows]

    def _placed(self, leaves: Iterable[Leaf]) -> _Placed:
        placed = []
        for key, item in leaves:
            placed.append((self._by_identity.get(id(key)) or self._buffer(key, item), item))
        return placed

    def _buffer(self, key: ColumnKey, item: Any) -> Buffer:
        """The buffer of a column that is not known by this object."""
        buffer = self._columns.get(key)
        if buffer is None:
            buffer = self._columns[key] = make_buffer(key, self._expected_rows(key, item), self._pool)
            self._by_identity[id(key)] = buffer  # which keeps the key, so that no other gets its id
        return buffer

    def _expected_rows(self, key: ColumnKey, item: Any) -> int:
        size = item.nbytes if key.kind == pb.ARRAY else 0
        return min(self._rows, self._max_bytes // size + 1) if size else self._rows
