"""Buffers the rows of an open episode that are not on disk yet."""

from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.buffer import ArrayBuffer, Buffer, BytesBuffer, make_buffer
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey, Leaves

_SCALAR_BYTES: Final = 16
"""Approximate memory of one number in a list, for the memory limit only."""
_MOST_LAYOUTS: Final = 64
"""Maximum number of cached layouts: the keys of infos may differ at every step."""


class _Layout:
    """The columns of rows with the same structure: which are copied, which encoded, and which stored unchanged."""

    __slots__ = ("arrays", "buffers", "encoded", "keys", "nbytes")

    def __init__(self, keys: list[ColumnKey], buffers: list[Buffer]) -> None:
        self.keys, self.buffers = keys, buffers
        self.arrays = [(at, each) for at, each in enumerate(buffers) if isinstance(each, ArrayBuffer)]
        self.encoded = [(at, each.encode) for at, each in enumerate(buffers) if isinstance(each, BytesBuffer)]
        self.nbytes = _SCALAR_BYTES * (len(buffers) - len(self.arrays))


class _Run:
    """Consecutive rows of one layout: all values of each, None where an array was copied."""

    __slots__ = ("items", "layout", "rows")

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.rows: list[int] = []
        self.items: list[list[Any]] = []

    def spread(self) -> None:
        """Moves the values to their columns. Can be repeated after an interruption: it first removes moved values."""
        for buffer, *items in zip(self.layout.buffers, *self.items, strict=True):
            if not isinstance(buffer, ArrayBuffer):
                buffer.drop_from(self.rows[0])
                buffer.items.extend(items)
                buffer.rows.extend(self.rows)


class _Side:
    """The observation side or the action side of rows. `DeclaredFields` guarantees that no column belongs to both.

    Values are stored row by row as long as rows have the same structure, and are then moved to their columns together,
    which is much faster.
    """

    def __init__(self) -> None:
        self.run: _Run | None = None

    def add(self, row: int, layout: _Layout, items: list[Any]) -> int:
        """Adds a row; returns its bytes."""
        run = self.run
        if run is None or run.layout is not layout:
            self.spread()
            run = self.run = _Run(layout)
        nbytes = layout.nbytes
        for at, buffer in layout.arrays:
            nbytes += buffer.append(row, items[at])
            items[at] = None
        for at, encode in layout.encoded:
            items[at] = data = encode(items[at])
            nbytes += len(data)
        run.items.append(items)
        run.rows.append(row)
        return nbytes

    def spread(self) -> None:
        """Moves the stored values to their columns."""
        run = self.run
        if run is not None and run.rows:
            run.spread()
        self.run = None

    def drop_from(self, row: int, layout: _Layout) -> None:
        """Removes `row` and later rows of a layout, which may have been added only partly."""
        for _, buffer in layout.arrays:
            buffer.drop_from(row)
        if self.run is not None:
            while self.run.rows and self.run.rows[-1] >= row:
                self.run.rows.pop()
            del self.run.items[len(self.run.rows) :]


_Attempt: TypeAlias = tuple[int, int, _Layout, _Layout]
"""A row that is being added, the bytes without it, and the layouts of its two sides."""


class RowBuffer:
    """The columns of one open episode since its last block.

    Args:
      expected_rows: how many rows it is likely to get.
      max_bytes: maximum bytes, except for the last row.
      pool: for memory.

    Attributes:
      nbytes: bytes of all rows.
      attempt: the row that was added last, completely or partly; None after `settle`.
    """

    def __init__(self, expected_rows: int, max_bytes: int, pool: ArrayPool) -> None:
        self.nbytes = 0
        self._columns: dict[ColumnKey, Buffer] = {}
        self._layouts: dict[tuple[int, ...], _Layout] = {}
        self._observed, self._acted = _Side(), _Side()
        self.attempt: _Attempt | None = None
        self._rows, self._max_bytes, self._pool = expected_rows, max_bytes, pool

    def add(self, row: int, observed: Leaves, acted: Leaves) -> None:
        """Copies the observation of `row` and the action of the previous row: both completely, or nothing.

        Args:
          row: its number.
          observed: owned by the buffer from now on; must not be used any more.
          acted: likewise.

        Raises:
          UnsupportedTypeError: a dtype is not supported.
        """
        if self.attempt is not None and self.attempt[0] >= row:
            self.settle(row)
        # Everything that can fail comes first; after that only a signal handler (Ctrl-C, SIGTERM) can raise between two
        # columns.
        here, before = self._layout(self._observed, observed), self._layout(self._acted, acted)
        self.attempt = attempt = (row, self.nbytes, here, before)
        try:
            nbytes = self._observed.add(row, here, observed.items)
            if before.keys:
                nbytes += self._acted.add(row - 1, before, acted.items)
        except Exception:
            if self.attempt is attempt:
                raise
        if self.attempt is attempt:
            self.nbytes += nbytes
        else:  # a signal handler flushed, which called `settle`
            self._take_back(attempt)

    def settle(self, rows: int) -> None:
        """Undoes the last `add` if it was interrupted: if its row is not among the episode's `rows` rows."""
        attempt = self.attempt
        if attempt is not None and attempt[0] >= rows and self.attempt is attempt:  # no signal handler has done this
            self._take_back(attempt)
        self.attempt = None

    def _take_back(self, attempt: _Attempt) -> None:
        row, self.nbytes, here, before = attempt
        self._observed.drop_from(row, here)
        self._acted.drop_from(row - 1, before)

    def forms(self) -> tuple[()]:
        """None: this block is encoded alone."""
        return ()

    def encoded(self, _choose: FilterChoice) -> None:
        """Nothing: this block is encoded alone."""

    def release(self) -> None:
        """Returns the memory to the pool; columns that `seal` returned must not be used any more."""
        for buffer in self._columns.values():
            if isinstance(buffer, ArrayBuffer):
                buffer.release()

    def seal(self) -> list[Column]:
        """Returns all columns that have rows. Nothing can be added afterwards."""
        self._observed.spread()
        self._acted.spread()
        columns, numbers, rows = list[Column](), list[int](), np.empty(0, np.int64)
        for buffer in self._columns.values():
            if buffer.rows != numbers:  # most columns have the same rows
                numbers, rows = buffer.rows, np.array(buffer.rows, np.int64)
                rows.setflags(write=False)  # columns share it
            if numbers:
                columns.append(buffer.seal(rows))
        return columns

    def _layout(self, side: _Side, leaves: Leaves) -> _Layout:
        run = side.run
        if run is not None and (run.layout.keys is leaves.keys or run.layout.keys == leaves.keys):
            return run.layout
        identities = tuple(map(id, leaves.keys))
        layout = self._layouts.get(identities)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            buffers = [self._buffer(key, item) for key, item in leaves]
            layout = self._layouts[identities] = _Layout(leaves.keys, buffers)  # has the keys, so ids stay valid
        return layout

    def _buffer(self, key: ColumnKey, item: Any) -> Buffer:
        """The buffer of a column."""
        buffer = self._columns.get(key)
        if buffer is None:
            buffer = self._columns[key] = make_buffer(key, self._expected_rows(key, item), self._pool)
        return buffer

    def _expected_rows(self, key: ColumnKey, item: Any) -> int:
        size = item.nbytes if key.kind == pb.ARRAY else 0
        return min(self._rows, self._max_bytes // size + 1) if size else self._rows
