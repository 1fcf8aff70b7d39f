"""Decodes the steps of an episode as columns: those of one layout together, the others one by one."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.convert.byte_rows import byte_rows
from rlds_kit.convert.envlogger.layout import (
    CONTINUES,
    INTEGER_BYTES,
    Constant,
    Integer,
    Items,
    Node,
    Numbers,
    layout_of,
    numbers_in,
)
from rlds_kit.storage.array_rows import Nest
from rlds_kit.storage.reusable_memory import field_memory

_FEWEST: Final = 8
"""Steps of one layout that are worth decoding together."""
_MOST: Final = 8
"""Layouts of one length that are cached: first, middle and last steps have one each."""
_PROBE: Final = 4 * _FEWEST
"""Steps at the begin of an episode that show whether it has few layouts, before large steps are copied."""


class OtherLayoutError(Exception):
    """The steps have too many layouts, or values that cannot form columns."""


class Layouts:
    """The layouts of steps so far, by the length of their records."""

    def __init__(self) -> None:
        self._known: dict[int, list[_Layout]] = {}

    def stretches(self, records: Sequence[bytes]) -> list["Stretch"]:
        """The records in consecutive stretches of one layout each.

        Raises:
          OtherLayoutError: there are too many.
        """
        if len(records) > _PROBE:
            self.stretches(records[:_PROBE])
        found, seen = list[Stretch](), 0
        for length, run in itertools.groupby(records, len):
            alike = list(run)
            rows = byte_rows(alike, len(alike), length)
            while len(rows):
                layout = self._layout(rows[:1])
                count = layout.fitting(rows)
                found.append(Stretch(layout.node, rows[:count]))
                rows, seen = rows[count:], seen + count
                if len(found) > _MOST + seen // _FEWEST:
                    raise OtherLayoutError
        return found

    def _layout(self, row: np.ndarray) -> "_Layout":
        known = self._known.setdefault(row.shape[1], [])
        found = next((each for each in known if each.fitting(row)), None)
        if found is None:
            found = _Layout(row[0])
            if len(known) >= _MOST:
                known.clear()
            known.append(found)
        return found


class _Layout:
    """A layout, and the constant bytes of its records."""

    def __init__(self, row: np.ndarray) -> None:
        self.node = layout_of(row.tobytes())
        is_constant, is_varint = np.ones(len(row), np.bool_), np.zeros(len(row), np.bool_)
        for each in numbers_in(self.node):
            is_constant[each.begin : each.end] = False
            is_varint[each.begin : each.end] = isinstance(each, Numbers) and each.is_varint
        self._constant, self._varint = np.flatnonzero(is_constant), np.flatnonzero(is_varint)
        self._row, self._continues = row[self._constant], row[self._varint] >= CONTINUES

    def fitting(self, rows: np.ndarray) -> int:
        """The number of consecutive rows, from the first on, that have this layout."""
        count, some = 0, _FEWEST
        while count < len(rows):
            part = rows[count : count + some]
            fits = (part[:, self._constant] == self._row).all(axis=1)
            fits &= ((part[:, self._varint] >= CONTINUES) == self._continues).all(axis=1)
            if not fits.all():
                return count + int(np.argmin(fits))
            count, some = count + len(part), 4 * some  # so that few bytes are compared unnecessarily
        return count


class Stretch:
    """Consecutive steps of one layout.

    Attributes:
      node: the layout.
      rows: `[steps, bytes]`.
    """

    def __init__(self, node: Node, rows: np.ndarray) -> None:
        self.node, self.rows = node, rows

    def __len__(self) -> int:
        return len(self.rows)

    def divided(self, count: int) -> list["Stretch"]:
        """The first steps, and the others if there are any."""
        parts = (Stretch(self.node, rows) for rows in (self.rows[:count], self.rows[count:]))
        return [each for each in parts if len(each)]

    def column(self, node: Node) -> Nest:
        """The values of a part of the layout: as `decode` returns them, one for each step."""
        match node:
            case Constant(value):
                return repeated(value, len(self))
            case Numbers():
                return self._numbers(node)
            case Integer(begin, end):
                return _integers(self.rows[:, begin:end])
            case Items(kind, items):
                columns = {key: self.column(each) for key, each in items.items()}
                if kind is dict:
                    return columns
                if kind is tuple:
                    return tuple(columns.values())
                return [[_at(each, row) for each in columns.values()] for row in range(len(self))]

    def _numbers(self, node: Numbers) -> Nest:
        stored = self.rows[:, node.begin : node.end]
        raw = _varints(stored) if node.is_varint and node.count == 1 else stored.view(node.stored)
        shape = (len(self), *(node.shape or ()))
        if node.shape and raw.dtype == node.dtype and raw.dtype.itemsize == 1:
            return raw.reshape(shape)  # a view, as of frames: `joined` copies it if there are other stretches
        values = field_memory.empty(shape, np.dtype(node.dtype))
        values.reshape(len(self), -1)[:] = raw.reshape(len(self), -1)
        if node.shape is None:
            return values.tolist() if node.dtype is np.bool_ else values
        return values if node.shape else [np.array(each) for each in values]


def _integers(stored: np.ndarray) -> list[int]:
    """The values of Python's integers `[n, bytes]`."""
    whole = np.empty((len(stored), INTEGER_BYTES), np.uint8)
    whole[:] = np.where(stored[:, :1] >= CONTINUES, 0xFF, 0)  # the sign
    whole[:, INTEGER_BYTES - stored.shape[1] :] = stored
    numbers: list[int] = whole.view(">i8")[:, 0].tolist()
    return numbers


def _varints(stored: np.ndarray) -> np.ndarray:
    """The values `[n]` of varints `[n, bytes]` of at most 9 bytes."""
    shifts = np.arange(0, 7 * stored.shape[1], 7, dtype=np.uint64)
    low = (stored & (CONTINUES - 1)).astype(np.uint64)
    return np.asarray(np.bitwise_or.reduce(low << shifts, axis=1))


def repeated(value: Any, count: int) -> Nest:
    """A column of one value."""
    if isinstance(value, np.ndarray) and value.ndim and value.dtype != np.object_:
        return np.broadcast_to(value, (count, *value.shape))
    if isinstance(value, np.generic):
        return np.full(count, value)
    return [value] * count


def _at(column: Nest, row: int) -> Any:
    if isinstance(column, dict):
        return {name: _at(each, row) for name, each in column.items()}
    if isinstance(column, tuple):
        return tuple(_at(each, row) for each in column)
    return column[row]


def joined(parts: Sequence[Nest]) -> Nest:
    """Columns one after the other.

    Raises:
      OtherLayoutError: they are not alike.

    >>> joined([{"x": np.arange(2)}, {"x": np.arange(1)}])
    {'x': array([0, 1, 0])}
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if any(type(each) is not type(first) for each in parts):
        raise OtherLayoutError
    if isinstance(first, dict):
        if any(each.keys() != first.keys() for each in parts):
            raise OtherLayoutError
        return {name: joined([each[name] for each in parts]) for name in first}
    if isinstance(first, tuple):
        if any(len(each) != len(first) for each in parts):
            raise OtherLayoutError
        return tuple(joined([each[place] for each in parts]) for place in range(len(first)))
    if isinstance(first, np.ndarray):
        if any((each.dtype, each.shape[1:]) != (first.dtype, first.shape[1:]) for each in parts):
            raise OtherLayoutError
        return field_memory.concatenate(parts)
    return [value for each in parts for value in each]
