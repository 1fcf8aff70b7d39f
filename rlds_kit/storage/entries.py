"""Episodes of several shards, in any order."""

import bisect
import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, overload

import numpy as np

from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_table import EpisodeTable, table_of
from rlds_kit.storage.plausible import ID_BYTES


class Entries(Sequence[EpisodeEntry]):
    """Episodes of several tables, in any order. Cheap to pickle: no object for each episode.

    Args:
      tables: of shards.
      numbers: `[episodes]` int64, the number of each among all episodes of the tables; default: all, in order.
    """

    def __init__(self, tables: Sequence[EpisodeTable], numbers: np.ndarray | None = None) -> None:
        self.tables = tuple(tables) or (table_of(()),)
        self._ends = list(itertools.accumulate(map(len, self.tables)))
        self.numbers = np.arange(self._ends[-1]) if numbers is None else numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> EpisodeEntry: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray) -> Self: ...

    def __getitem__(self, index: int | slice | np.ndarray) -> EpisodeEntry | Self:
        """Returns one entry, or several in the order of an array of numbers."""
        if isinstance(index, slice | np.ndarray):
            return type(self)(self.tables, self.numbers[index])
        number = int(self.numbers[index])
        table = bisect.bisect_right(self._ends, number)
        return self.tables[table][number - self._ends[table]]  # counted from the end of the table

    def table(self, index: int) -> int:
        """The number of the table of an episode."""
        return bisect.bisect_right(self._ends, int(self.numbers[index]))

    def tables_of(self) -> np.ndarray:
        """Returns `[episodes]` int64: the number of the table of each episode."""
        found: np.ndarray = np.searchsorted(self._ends, self.numbers, "right")
        return found

    def used_tables(self) -> list[int]:
        """The numbers of the tables that have some of the episodes, ascending."""
        # NumPy's `unique` imports masked arrays when it is first called, which takes longer than a small read.
        return np.flatnonzero(np.bincount(self.tables_of())).tolist()

    def ids(self) -> np.ndarray:
        """`[episodes]`, the id of each; 16 bytes of any value, so that they can be sorted and compared."""
        found, tables = np.empty((len(self), ID_BYTES), np.uint8), self.tables_of()
        for table in self.used_tables():  # not one array of all tables, of which few may be wanted
            here = np.flatnonzero(tables == table)
            found[here] = self.tables[table].episode_id[self.numbers[here] - self._ends[table]]
        return found.view(np.dtype((np.void, ID_BYTES))).reshape(-1)

    def column(self, name: str, dtype: Any = np.int64) -> np.ndarray:  # a DTypeLike
        """`[episodes, ...]`, one of the columns of `EpisodeTable` that have a value for each episode."""
        parts = [getattr(table, name) for table in self.tables]
        found: np.ndarray = np.concatenate(parts, dtype=dtype, casting="unsafe")  # tables may have unsigned numbers
        return found if self._is_whole else found[self.numbers]

    @functools.cached_property
    def _is_whole(self) -> bool:
        """Whether these are all episodes of the tables, in their order; then columns need not be copied again."""
        is_growing = (self.numbers[1:] > self.numbers[:-1]).all()
        return len(self) == self._ends[-1] and bool(is_growing)

    def without_last_steps(self) -> Self:
        """Returns the episodes with one step less each."""
        tables = [replace(table, rows=table.rows.astype(np.int64) - 1) for table in self.tables]
        return type(self)(tables, self.numbers)

    @classmethod
    def joined(cls, parts: Sequence["Entries"]) -> "Entries":
        """Joins several lists of episodes, one after the other."""
        before = np.cumsum([0, *(sum(map(len, part.tables)) for part in parts)])
        numbers = [part.numbers + first for part, first in zip(parts, before, strict=False)]
        return cls([table for part in parts for table in part.tables], np.concatenate(numbers))
