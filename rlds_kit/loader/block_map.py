"""The blocks of all episodes of a source, as arrays: where the columns of any step are."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rlds_kit.loader.source import Source
from rlds_kit.storage import located
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.located_columns import requests_of
from rlds_kit.storage.shard_file import ShardFile

_INT32: Final = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class BlockMap:
    """The blocks of episodes without amendments whose blocks have all of their rows, one after the other.

    Numbers of blocks have the narrowest dtype, because there may be a million: the methods return int64.

    Attributes:
      source: of the episodes.
      episode: `[blocks]`, its index in the source.
      position: `[blocks]`, in its shard.
      first_row: `[blocks]`, the number in its episode of the first.
      end_row: `[blocks]`, the same of the row after its last.
      tables: `[episodes]`, the number of the shard of each.
      mapped: `[episodes]` bool, which episodes have their blocks here.
    """

    source: Source
    episode: np.ndarray
    position: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    tables: np.ndarray
    mapped: np.ndarray

    def __len__(self) -> int:
        return len(self.episode)

    def places(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` of `located.PLACE`."""
        found, episode = np.empty(len(blocks), located.PLACE), self.episode[blocks]
        found["position"], found["episode_id"] = self.position[blocks], self.source.entries[episode].ids()
        found["first_row"], found["end_row"] = self.first_row[blocks], self.end_row[blocks]
        return found

    def table(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]`, the number of the shard of each."""
        found: np.ndarray = self.tables[self.episode[blocks]]
        return found

    def base(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` int64, the number among all steps of the first of its episode."""
        found: np.ndarray = self.source.bases[self.episode[blocks]]
        return found

    def rows(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` int64, steps of its episode."""
        found: np.ndarray = self.source.lengths[self.episode[blocks]]
        return found

    def row_counts(self) -> np.ndarray:
        """`[blocks]` int64, the rows of each."""
        return self.end_row.astype(np.int64) - self.first_row.astype(np.int64)

    def first_steps(self) -> np.ndarray:
        """`[blocks]` int64, the number among all steps of the first of each."""
        found: np.ndarray = self.source.bases[self.episode]
        found += self.first_row.astype(np.int64)
        return found

    def following(self, blocks: np.ndarray) -> np.ndarray:
        """`[n]` int64, the next block of the same episode, or the block itself if it is the last."""
        after = np.minimum(blocks + 1, len(self) - 1)
        found: np.ndarray = np.where(self.episode[after] == self.episode[blocks], after, blocks)
        return found

    def file(self, block: int) -> ShardFile | None:
        """The shard of a block; None if it is remote, or has amendments."""
        return self.source.reader(int(self.episode[block])).plain_file

    def parts(self, blocks: np.ndarray) -> list[tuple[ShardFile, np.ndarray]]:
        """Divides blocks by their shards; blocks of remote ones are left out."""
        if not len(blocks):
            return []
        order = blocks[np.argsort(self.table(blocks), kind="stable")]
        cuts = np.flatnonzero(np.diff(self.table(order))) + 1
        found = [(self.file(int(part[0])), part) for part in np.split(order, cuts)]
        return [(file, part) for file, part in found if file is not None]

    def requests(self, blocks: np.ndarray, numbers: np.ndarray, to: np.ndarray) -> np.ndarray:
        """Requests for whole columns.

        Args:
          blocks: `[n]` of this map.
          numbers: `[n, located.NUMBERS]`, what was found of a column in each.
          to: `[n]` int64, where the bytes go.
        """
        return requests_of(self.position[blocks], numbers, to)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Steps that are read.

    Attributes:
      steps: `[...]` int64, their numbers.
      block: `[n]` int64, the block with the observation of each.
      row: `[n]` int64, its number in its episode.
    """

    steps: np.ndarray
    block: np.ndarray
    row: np.ndarray


def block_map(source: Source) -> BlockMap | None:
    """The blocks of a source; None if no columns can be found: remote files, amendments, no C extension."""
    recorded = np.flatnonzero(~source.is_amended)
    if located.native is None or not len(recorded) or source.reader(int(recorded[0])).plain_file is None:
        return None
    entries = source.entries
    narrow = np.dtype(np.int32 if len(entries) < _INT32 else np.int64)
    tables, counts = entries.tables_of().astype(narrow), entries.column("blocks")
    episode = np.repeat(np.arange(len(entries), dtype=narrow), counts)
    position, first_row, end_row = _columns(entries, tables, counts)
    mapped = _tiled(episode, first_row, end_row, source.lengths) & ~source.is_amended
    if not mapped.all():
        chosen = mapped[episode]
        episode, position, first_row, end_row = (each[chosen] for each in (episode, position, first_row, end_row))
    return BlockMap(source, episode, position, first_row, end_row, tables, mapped)


def _columns(entries: Entries, tables: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The position, first and end row of all blocks of all episodes."""
    position, first_row, end_row = (
        np.concatenate([_signed(getattr(table, name)) for table in entries.tables])
        for name in ("block", "first_row", "end_row")
    )
    starts = np.cumsum([0, *(len(table.block) for table in entries.tables)])[:-1]
    first, begins = entries.column("first_block"), np.cumsum(counts, dtype=np.int64)
    first += starts[tables]
    begins -= counts
    if np.array_equal(first, begins):  # all blocks of the shards, in their order
        total = int(counts.sum())
        return position[:total], first_row[:total], end_row[:total]
    number = np.repeat(first - begins, counts)
    number += np.arange(len(number))
    return position[number], first_row[number], end_row[number]


def _signed(numbers: np.ndarray) -> np.ndarray:
    """The same numbers, but not as uint64, which NumPy would join with int64 to float64."""
    return numbers.astype(np.int64, copy=False) if numbers.dtype.itemsize == 8 else numbers


def _tiled(episode: np.ndarray, first_row: np.ndarray, end_row: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`[episodes]` bool, whether every row of an episode is in exactly one block, in order."""
    begins = np.append(True, episode[1:] != episode[:-1])[: len(episode)]
    is_right = end_row > first_row
    is_right[1:] &= begins[1:] | (first_row[1:] == end_row[:-1])
    is_right &= ~begins | (first_row == 0)
    last = np.flatnonzero(np.append(begins[1:], True)[: len(episode)])
    is_right[last] &= end_row[last].astype(np.int64) >= rows[episode[last]]
    found = np.zeros(len(rows), np.bool_)
    found[episode] = True
    found[episode[~is_right]] = False
    return found
