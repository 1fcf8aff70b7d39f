"""Views of columns as rows."""

import abc
import functools
from collections.abc import Sequence
from typing import Self, overload

from rlds_kit.convert.protocol import Row
from rlds_kit.storage.array_rows import ArrayRows, value_at


class RowSequence(Sequence[Row], abc.ABC):
    """Rows that are created on access."""

    @abc.abstractmethod
    def row(self, number: int) -> Row:
        """The row of this number, below the length."""

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """A row, or a list of rows."""
        numbers = range(len(self))[index]
        return self.row(numbers) if isinstance(numbers, int) else [self.row(number) for number in numbers]


class Rows(ArrayRows, RowSequence):
    """A view of columns as the fields of one step after the other; nothing is copied.

    >>> rows = Rows({"observation": {"x": [1, 2]}, "info": [7]}, 2, {"info": 1})
    >>> list(rows)
    [{'observation': {'x': 1}}, {'observation': {'x': 2}, 'info': 7}]
    """

    @classmethod
    def of(cls, rows: ArrayRows) -> Self:
        """A view of rows."""
        return cls(rows.columns, rows.length, rows.begin)

    def without_empty_end(self, length: int) -> "Rows":
        """Only the first rows, if later ones have no fields."""
        is_empty = not any(self.row(number) for number in range(length, self.length))
        return Rows(self.columns, length, self.begin) if is_empty and length < self.length else self

    def __len__(self) -> int:
        return self.length

    def row(self, number: int) -> Row:
        """The fields with a value in a row."""
        return {
            name: value_at(self.columns[name], number - within.start)
            for name, within in self._ranges.items()
            if number in within
        }

    @functools.cached_property
    def _ranges(self) -> dict[str, range]:
        return {name: self.range_of(name) for name in self.columns}
