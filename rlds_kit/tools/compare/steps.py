"""Compares the steps of two episodes, stretch by stretch."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader, Wanted
from rlds_kit.storage.leaf import ColumnKey, field_of, nest
from rlds_kit.tools.compare.values import ABSENT, ValueDifference, differences

MIN_STRETCH: Final = 16
"""Steps that are compared at once where blocks are shorter."""

Gathered = dict[str, list[Column]]
"""Columns by path, cut to the stretch."""


def stretches(entries: tuple[EpisodeEntry, EpisodeEntry], rows: int) -> Iterator[tuple[int, int]]:
    """Runs of steps as long as the longest block of either episode: no block is decoded more than twice.

    Args:
      entries: of both episodes.
      rows: steps that both have.
    """
    longest = max(int((entry.end_row - entry.first_row).max(initial=MIN_STRETCH)) for entry in entries)
    for begin in range(0, rows, longest):
        yield begin, min(begin + longest, rows)


def step_differences(
    readers: tuple[EpisodeReader, EpisodeReader], begin: int, end: int, wanted: tuple[Wanted, Wanted]
) -> Iterator[tuple[int, ValueDifference]]:
    """The differences in steps `[begin, end)` of the columns that are selected on each side, each with its step.

    Fields whose columns have the same bytes are not compared value by value.

    Raises:
      DamagedError: something that is compared is damaged.
    """
    sides = zip(readers, wanted, strict=True)
    a, b = (_by_field(reader.columns(begin, end, columns), begin, end) for reader, columns in sides)
    differing = [
        name for name in (*a, *(name for name in b if name not in a)) if _content(a, name) != _content(b, name)
    ]
    rows = [_values(a, b, name) for name in differing]
    for step in range(begin, end):
        for name, (values_a, values_b) in zip(differing, rows, strict=True):
            for found in differences(values_a.get(step, ABSENT), values_b.get(step, ABSENT), name):
                yield step, found


def _by_field(columns: Mapping[str, list[Column]], begin: int, end: int) -> dict[str, Gathered]:
    found: dict[str, Gathered] = {}
    for path, parts in columns.items():
        cut = [part for part in (part.between(begin, end) for part in parts) if len(part.rows)]
        if cut:
            found.setdefault(field_of(path), {})[path] = cut
    return found


def _content(fields: Mapping[str, Gathered], name: str) -> dict[ColumnKey, tuple[bytes, bytes, bytes]]:
    """Rows, shapes and values of each kind of leaf, independent of the division into blocks."""
    groups: dict[ColumnKey, list[Column]] = {}
    for parts in fields.get(name, {}).values():
        for part in parts:
            groups.setdefault(part.key, []).append(part)
    return {key: _joined(parts) for key, parts in groups.items()}


def _joined(parts: list[Column]) -> tuple[bytes, bytes, bytes]:
    rows = b"".join(part.rows.astype(np.int64).tobytes() for part in parts)
    shapes = b"".join(_shapes(part).astype(np.int64).tobytes() for part in parts)
    return rows, shapes, b"".join(part.values.tobytes() for part in parts)


def _shapes(part: Column) -> np.ndarray:
    if part.shapes is not None:
        return part.shapes
    return np.broadcast_to(np.array(part.values.shape[1:], np.int64), (len(part.rows), part.values.ndim - 1))


def _values(a: Mapping[str, Gathered], b: Mapping[str, Gathered], name: str) -> tuple[dict[int, Any], dict[int, Any]]:
    """The exact values of a field on both sides, by step."""
    return _exact(a.get(name, {})), _exact(b.get(name, {}))


def _exact(leaves: Gathered) -> dict[int, Any]:
    flat: dict[int, dict[str, Any]] = {}
    for path, parts in leaves.items():
        below = path.partition("/")[2]
        for part in parts:
            for row, item in zip(part.rows.tolist(), restore.exact(part), strict=True):
                flat.setdefault(row, {})[below] = item
    return {row: nest(each) for row, each in flat.items()}
