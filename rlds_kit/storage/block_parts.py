"""Splits blocks that are large even when compressed, because a reader of one row decodes a whole block."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import field_of

HEAVY_BYTES: Final = 384 << 10
"""Limit for the bytes of a compressed block; blocks of games have a tenth of it, those of cameras ten times as much."""
FEWEST_ROWS: Final = 4
"""Minimum rows of a part: frames compress well only together with the previous frame."""


def rows_of_parts(rows: range, row_bytes: float) -> Iterator[range]:
    """Splits the rows of a block into equal parts below the limit.

    Args:
      rows: of the block.
      row_bytes: of a row when compressed.

    >>> list(rows_of_parts(range(0, 64), 100.0)), list(rows_of_parts(range(0, 64), 10_000.0))
    ([range(0, 64)], [range(0, 32), range(32, 64)])
    """
    count = int(max(1, min(len(rows) * row_bytes // HEAVY_BYTES + 1, len(rows) // FEWEST_ROWS)))
    size = max(1, -(-len(rows) // count))
    for first in range(rows.start, rows.stop, size):
        yield range(first, min(first + size, rows.stop))


def acted_fields(rows: range, columns: Sequence[Column]) -> set[str]:
    """The fields of the action side of a step, which are stored in the block of the next observation."""
    if not rows.start:  # no row is before the first one
        return set(ACTED_FIELDS)
    early = {field_of(column.key.path) for column in columns if column.rows[0] < rows.start}
    return early | set(ACTED_FIELDS)


def cut(columns: Sequence[Column], acted: AbstractSet[str], begin: int | None, end: int | None) -> list[Column]:
    """The part of the columns that belongs to a block of rows `[begin, end)`; None: from the first, to the last."""
    parts = []
    for column in columns:
        behind = field_of(column.key.path) in acted
        first = int(column.rows[0]) if begin is None else begin - behind
        last = int(column.rows[-1]) + 1 if end is None else end - behind
        part = column.between(first, last)
        if len(part.rows):
            parts.append(_as_dense(part))
    return parts


def _as_dense(column: Column) -> Column:
    """A column whose shapes do not differ in these rows is stored without them."""
    if column.shapes is None or (column.shapes != column.shapes[0]).any():
        return column
    return Column(column.key, column.rows, column.values.reshape(len(column.rows), *column.shapes[0].tolist()))
