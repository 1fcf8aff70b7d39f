"""Divides the columns of an episode into blocks of other sizes."""

from collections.abc import Iterator, Sequence

import numpy as np

from rlds_kit.storage.block_parts import acted_fields, cut
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey


def regrouped(
    blocks: Iterator[tuple[range, list[Column]]], block_rows: int, block_bytes: int
) -> Iterator[tuple[range, list[Column]]]:
    """Divides columns into blocks of other sizes; an action stays in the block of the next observation.

    Args:
      blocks: rows and columns of each block, in order.
      block_rows: of each block but the last.
      block_bytes: maximum bytes of a block, which may then have fewer rows.
    """
    waiting: list[Column] = []
    acted: set[str] = set()
    rows = range(0)
    for source_rows, columns in blocks:
        acted |= acted_fields(source_rows, columns)
        waiting += columns
        rows = range(rows.start, source_rows.stop)
        size = _rows_that_fit(waiting, len(rows), block_rows, block_bytes)
        while len(rows) > size:
            if len(waiting) > len(columns):
                waiting = _merged(waiting)
            at = rows.start + size
            yield range(rows.start, at), cut(waiting, acted, None, at)
            waiting, rows = cut(waiting, acted, at, None), range(at, rows.stop)
    if rows:
        yield rows, _merged(waiting)


def _rows_that_fit(waiting: Sequence[Column], rows: int, block_rows: int, block_bytes: int) -> int:
    row_bytes = sum(column.values.nbytes for column in waiting) // rows + 1
    return max(1, min(block_rows, block_bytes // row_bytes))


def _merged(columns: Sequence[Column]) -> list[Column]:
    """One column for each key, of columns whose rows follow each other."""
    groups: dict[ColumnKey, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.key, []).append(column)
    return [_joined(key, parts) if len(parts) > 1 else parts[0] for key, parts in groups.items()]


def _joined(key: ColumnKey, parts: Sequence[Column]) -> Column:
    rows = np.concatenate([part.rows for part in parts])
    if all(part.shapes is None for part in parts) and len({part.values.shape[1:] for part in parts}) == 1:
        return Column(key, rows, np.concatenate([part.values for part in parts]))
    shapes = np.concatenate([_shapes(part) for part in parts])
    return Column(key, rows, np.concatenate([part.values.reshape(-1) for part in parts]), shapes)


def _shapes(column: Column) -> np.ndarray:
    if column.shapes is not None:
        return column.shapes
    return np.tile(np.array(column.values.shape[1:], np.int64), (len(column.rows), 1))
