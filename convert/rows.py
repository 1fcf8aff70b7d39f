"""Columns seen as rows."""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, overload

from rlds_kit.convert.protocol import Row


class RowSequence(Sequence[Row], abc.ABC):
    """Rows that are created on access."""

    @abc.abstractmethod
    def row(self, number: int) -> Row:
        """The row of that number, from 0 to the length."""

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """A row, or a list of rows."""
        numbers = range(len(self))[index]
        return self.row(numbers) if isinstance(numbers, int) else [self.row(number) for number in numbers]


class Rows(RowSequence):
    """A view of columns as the fields of one step after the other; nothing is copied.

    Args:
      columns: by field name: an array `[rows, ...]`, a list, or a dict or tuple of columns.
      begin: for each field, the row of the view that its first value belongs to; 0 if it is not named.
      length: number of rows; a row lacks the fields whose columns do not reach it.

    Attributes:
      columns: as given.
      begin: as given.

    >>> rows = Rows({"observation": {"x": [1, 2]}, "info": [7]}, 2, {"info": 1})
    >>> list(rows)
    [{'observation': {'x': 1}}, {'observation': {'x': 2}, 'info': 7}]
    """

    def __init__(self, columns: Mapping[str, Any], length: int, begin: Mapping[str, int] | None = None) -> None:
        self.columns, self.begin, self._length = columns, begin or {}, length
        self._lengths = {name: length_of(column) for name, column in columns.items()}

    def __len__(self) -> int:
        return self._length

    def row(self, number: int) -> Row:
        """The fields that have a value there."""
        row = {}
        for name, column in self.columns.items():
            place = number - self.begin.get(name, 0)
            if 0 <= place < self._lengths[name]:
                row[name] = value_at(column, place)
        return row


def value_at(column: Any, row: int) -> Any:
    """The value of one row of a column, or of a nest of columns."""
    if isinstance(column, dict):
        return {name: value_at(each, row) for name, each in column.items()}
    if isinstance(column, tuple):
        return tuple(value_at(each, row) for each in column)
    return column[row]


def length_of(column: Any) -> int:
    """How many rows a column has; of a nest, the least."""
    if isinstance(column, dict | tuple):
        parts = column.values() if isinstance(column, dict) else column
        return min((length_of(each) for each in parts), default=0)
    return len(column)
