"""Rows of an episode that are given as arrays: one value for each row, in nests as the fields of a row are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Nest: TypeAlias = Any
"""An array `[rows, ...]`, a list of one value for each row, or a dict or tuple of these."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """One side of consecutive rows: the observation side, or the action side.

    Attributes:
      columns: the values of each field.
      length: number of rows; a row lacks the fields whose columns do not reach it.
      begin: for each field, the row that its first value belongs to, counted from the first of these rows; 0 if it is
        not named.

    >>> rows = ArrayRows({"observation": {"x": [1, 2]}, "info": [7]}, 2, {"info": 1})
    >>> rows.range_of("observation"), rows.range_of("info")
    (range(0, 2), range(1, 2))
    """

    columns: Mapping[str, Nest]
    length: int
    begin: Mapping[str, int] = field(default_factory=dict)

    def range_of(self, name: str) -> range:
        """The rows that have a value of a field."""
        begin = self.begin.get(name, 0)
        return range(begin, max(begin, min(begin + length_of(self.columns[name]), self.length)))


def value_at(column: Nest, row: int) -> Any:
    """The value of one row of a column, or of a nest of columns.

    >>> value_at({"x": [1, 2], "y": ("ab", [3, 4])}, 1)
    {'x': 2, 'y': ('b', 4)}
    """
    if isinstance(column, dict):
        return {name: value_at(each, row) for name, each in column.items()}
    if isinstance(column, tuple):
        return tuple(value_at(each, row) for each in column)
    return column[row]


def length_of(column: Nest) -> int:
    """How many rows a column has; of a nest, the least.

    >>> length_of({"x": [1, 2], "y": ([1], [2, 3, 4])})
    1
    """
    if isinstance(column, dict | tuple):
        parts = column.values() if isinstance(column, dict) else column
        return min((length_of(each) for each in parts), default=0)
    return len(column)
