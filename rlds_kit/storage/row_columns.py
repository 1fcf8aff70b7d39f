"""Converts the values of a field in some rows to columns, as a recorder does."""

from collections.abc import Mapping
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.branch import Branch
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import Leaves
from rlds_kit.storage.row_buffer import RowBuffer

_BUFFER_BYTES: Final = 1 << 30


def row_columns(path: str, values: Mapping[int, Any], spec: specs.Spec | None = None) -> list[Column]:
    """The columns of values by row, in ascending order; `spec` is None where nothing is declared for the path.

    >>> [(column.key.path, column.rows.tolist()) for column in row_columns("info", {3: {"a": 1}, 5: {"a": 2}})]
    [('info/a', [3, 5])]
    """
    buffer, branch = RowBuffer(len(values), _BUFFER_BYTES, ArrayPool(0)), Branch(path, spec)
    for row, value in values.items():
        buffer.add(row, branch.leaves(value), Leaves([], []))
    return buffer.seal()
