"""Reads columns of many blocks of an episode with few calls, where all blocks have the same ones.

The first block shows which columns there are. `located` finds them in all blocks, and compares kind, dtype and shape of
each; a block with anything else is left to `EpisodeReader`, which reads blocks one by one.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from rlds_kit.storage import located
from rlds_kit.storage.column_layout import ColumnLayout
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.located_columns import LocatedColumns, read_columns
from rlds_kit.storage.restore import NUMERIC, Stack
from rlds_kit.storage.shard_file import ShardFile

_NO_KIND: Final = 255
FEWEST: Final = 6
"""Fewer blocks are read faster one by one."""
MOST_BYTES: Final = 1 << 18
"""Of columns that are read here. Of heavy ones, calls are few."""
LIGHT_COLUMN: Final = 1 << 14
"""Bytes of columns that are decoded as a whole though only some of their rows are wanted. Others are cached."""


def can_be_many(column: ColumnLayout) -> bool:
    """Whether such columns of many blocks can be read here."""
    is_light = column.row_count * column.row_bytes <= MOST_BYTES
    return is_light and column.is_plain and column.key.kind in NUMERIC and _wanted(column).is_findable


def read_many(
    file: ShardFile,
    entry: EpisodeEntry,
    numbers: range,
    columns: Sequence[ColumnLayout],
    wholes: Sequence[str],
    rows: range,
    stack_of: Callable[[str], Stack],
) -> list[int]:
    """Reads columns into stacks.

    Args:
      file: a local shard.
      entry: of the episode.
      numbers: of the blocks.
      columns: of the first block, all that are at or below `wholes`.
      wholes: the paths that are read.
      rows: of the episode, that are read.
      stack_of: returns the stack of a path.

    Returns:
      The numbers of the blocks of which all columns must be read in another way; values of some may be in the stacks.
      Of the other blocks, all columns were read for which `can_be_many` is true, and there are no unexpected ones.
    """
    read, others = (_if(columns, is_read) for is_read in (True, False))
    if not read or len(columns) > located.MOST_LEAVES or len(wholes) > located.MOST_LEAVES:
        return [*numbers]
    wanted = [_wanted(each) for each in read]
    known = [Wanted(each.path, np.dtype(np.uint8), (), _NO_KIND) for each in others]
    table = located.locate(file, _places(entry, numbers), [*wanted, *known], wholes)[:, : len(read)]
    is_there, is_done = _are_wanted(table, wanted, rows), (table[..., located.STATUS] != located.OTHER).all(axis=1)
    is_done &= (is_there | ~_is_in(table, rows)).all(axis=1)
    positions = entry.blocks[numbers.start : numbers.stop]
    for leaf, column in enumerate(read):
        chosen = np.flatnonzero(is_done & is_there[:, leaf])
        if len(chosen):
            same, stack = np.ones(len(chosen), np.int64), stack_of(column.path)
            base, low, high = (same * number for number in (-stack.begin, rows.start, rows.stop))
            found = LocatedColumns(wanted[leaf], positions[chosen], table[chosen, leaf], base, low, high)
            is_done[chosen] = _read(file, found, column, stack)
    return [number for number, done in zip(numbers, is_done.tolist(), strict=True) if not done]


def _read(file: ShardFile, found: LocatedColumns, column: ColumnLayout, stack: Stack) -> np.ndarray:
    """Reads columns like another one into their stack; returns `[n]` bool, which of them were read."""
    memory = stack.memory_for(column.key, column.shape)
    if memory is None or (found.first[1:] < found.end[:-1]).any():  # the same row twice, which no recorder writes
        return np.zeros(len(found.position), np.bool_)
    is_sound = read_columns(file, found, memory)
    stack.filled(found.first[is_sound], found.end[is_sound])
    return is_sound


def _if(columns: Sequence[ColumnLayout], is_read: bool) -> list[ColumnLayout]:
    return [each for each in columns if can_be_many(each) is is_read]


def _wanted(column: ColumnLayout) -> Wanted:
    return Wanted(column.path, column.dtype, column.shape, column.key.kind)


def _places(entry: EpisodeEntry, numbers: range) -> np.ndarray:
    """`[blocks]` of `located.PLACE`."""
    part, places = slice(numbers.start, numbers.stop), np.empty(len(numbers), located.PLACE)
    places["position"], places["episode_id"] = entry.blocks[part], np.frombuffer(entry.episode_id, "V16")
    places["first_row"], places["end_row"] = entry.first_row[part], entry.end_row[part]
    return places


def _is_in(table: np.ndarray, rows: range) -> np.ndarray:
    """`[blocks, leaves]` bool, which columns were found and have some of the rows."""
    is_found: np.ndarray = table[..., located.STATUS] == located.FOUND
    return is_found & (table[..., located.FIRST_ROW] < rows.stop) & (table[..., located.END_ROW] > rows.start)


def _are_wanted(table: np.ndarray, wanted: Sequence[Wanted], rows: range) -> np.ndarray:
    """`[blocks, leaves]` bool, which of them can be read here: all of their rows are wanted, or they are light."""
    first, end = table[..., located.FIRST_ROW], table[..., located.END_ROW]
    nbytes = (end - first) * np.array([each.row_bytes for each in wanted])
    is_inside = (first >= rows.start) & (end <= rows.stop)
    found: np.ndarray = _is_in(table, rows) & (is_inside | (nbytes <= LIGHT_COLUMN))
    return found
