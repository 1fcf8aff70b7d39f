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

FEWEST: Final = 6
"""Fewer blocks are read faster one by one."""
MOST_BYTES: Final = 1 << 18
"""Larger columns are left to `EpisodeReader`: what a call costs does not matter for them."""
LIGHT_COLUMN: Final = 1 << 14
"""Bytes of columns that are decoded as a whole though only some of their rows are wanted. `EpisodeReader` caches larger
ones."""
_NO_KIND: Final = 255
"""The kind of a leaf that is never found, whose path `located` must know."""


def can_be_many(column: ColumnLayout) -> bool:
    """Whether such columns of many blocks can be read here."""
    is_small = column.row_count * column.row_bytes <= MOST_BYTES
    return is_small and column.is_plain and column.key.kind in NUMERIC and _wanted(column).is_findable


def read_many(
    file: ShardFile,
    entry: EpisodeEntry,
    numbers: range,
    columns: Sequence[ColumnLayout],
    subtrees: Sequence[str],
    rows: range,
    stack_of: Callable[[str], Stack],
) -> list[int]:
    """Reads columns into stacks.

    Args:
      file: a local shard.
      entry: of the episode.
      numbers: of the blocks.
      columns: of the first block, all that are at or below `subtrees`.
      subtrees: the paths that are read.
      rows: of the episode, that are read.
      stack_of: returns the stack of a path.

    Returns:
      The numbers of the blocks of which all columns must be read in another way; if the stacks have values of some of
      them already, they are written once more. Of the other blocks, all columns with requested rows were read for which
      `can_be_many` is true, and there are no others than those of the first block.
    """
    read = [each for each in columns if can_be_many(each)]
    others = [each for each in columns if not can_be_many(each)]
    if not read or len(columns) > located.MOST_LEAVES or len(subtrees) > located.MOST_LEAVES:
        return [*numbers]
    wanted = [_wanted(each) for each in read]
    known = [Wanted(each.path, np.dtype(np.uint8), (), _NO_KIND) for each in others]
    table = located.locate(file, _places(entry, numbers), [*wanted, *known], subtrees)[:, : len(read)]
    is_there, is_done = _are_wanted(table, wanted, rows), (table[..., located.STATUS] != located.OTHER).all(axis=1)
    is_done &= (is_there | ~_is_in(table, rows)).all(axis=1)
    positions = entry.blocks[numbers.start : numbers.stop]
    for leaf, column in enumerate(read):
        chosen = np.flatnonzero(is_done & is_there[:, leaf])
        if len(chosen):
            stack = stack_of(column.path)
            base, low, high = (np.full(len(chosen), number) for number in (-stack.begin, rows.start, rows.stop))
            found = LocatedColumns(wanted[leaf], positions[chosen], table[chosen, leaf], base, low, high)
            is_done[chosen] = _read(file, found, column, stack)
    return [number for number, done in zip(numbers, is_done.tolist(), strict=True) if not done]


def _read(file: ShardFile, found: LocatedColumns, column: ColumnLayout, stack: Stack) -> np.ndarray:
    """Reads columns of the kind, dtype and shape of `column` into a stack; returns `[n]` bool, which were read."""
    memory = stack.memory_for(column.key, column.shape)
    if memory is None or (found.first[1:] < found.end[:-1]).any():  # the same row twice, which no recorder writes
        return np.zeros(len(found.position), np.bool_)
    is_sound = read_columns(file, found, memory)
    starts, stops = found.places
    stack.filled(starts[is_sound], stops[is_sound])
    return is_sound


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
    """`[blocks, leaves]` bool, which can be read here: small ones of which all rows are wanted, and light ones."""
    first, end = table[..., located.FIRST_ROW], table[..., located.END_ROW]
    nbytes = (end - first) * np.array([each.row_bytes for each in wanted])
    is_inside = (first >= rows.start) & (end <= rows.stop) & (nbytes <= MOST_BYTES)
    found: np.ndarray = _is_in(table, rows) & (is_inside | (nbytes <= LIGHT_COLUMN))
    return found
