"""Episodes and their steps by number, without TensorFlow: the result of `as_data_source`."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Self, overload

import numpy as np

from rlds_kit.base.rlds_types import STEPS
from rlds_kit.loader.nests import map_arrays
from rlds_kit.tfds_builders.episode_table import Chosen


class StepDataSource(Sequence[dict[str, Any]]):
    """The steps of an episode, or some of them; a step is read on access.

    Steps that are stored together are decoded together and cached until others are read: a block, or about 2 MiB
    if steps are read in order. Picklable.
    """

    def __init__(self, chosen: Chosen, episode: int, rows: range) -> None:
        self._chosen, self._episode, self._rows = chosen, episode, rows
        self._read: tuple[range, dict[str, Any], bool] | None = None  # rows, fields, and whether none is nested

    def __repr__(self) -> str:
        return f"<{len(self)} steps>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_read": None}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> "dict[str, Any] | StepDataSource":
        """A step, or a source of some steps.

        Raises:
          IndexError: there is no such step.
          DamagedError: it is damaged.
        """
        if isinstance(index, slice):
            return type(self)(self._chosen, self._episode, self._rows[index])
        return self._at(self._rows[index])

    def __getitems__(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Several steps."""
        return [self[index] for index in indices]

    def _at(self, row: int) -> dict[str, Any]:
        rows, fields, is_flat = self._read or (range(0), {}, True)
        if row not in rows:  # another thread may replace it meanwhile
            rows = self._together(row, is_next=row == rows.stop)
            fields = self._chosen.arrays.steps(self._episode, rows)
            is_flat = all(type(nest) is np.ndarray for nest in fields.values())
            self._read = rows, fields, is_flat
        at = row - rows.start
        if is_flat:
            return {name: array[at] for name, array in fields.items()}
        return {name: map_arrays(operator.itemgetter(at), nest) for name, nest in fields.items()}

    def _together(self, row: int, *, is_next: bool) -> range:
        """The steps of the block of a step; of several blocks if steps are read in order."""
        table = self._chosen.arrays.table
        if is_next:
            begins = table.bounds(self._episode)
        else:
            entry = table.source.entries[self._episode]
            begins = np.unique(np.append(entry.first_row, [0, entry.rows]))
        at = int(np.searchsorted(begins, row, "right"))
        return range(int(begins[at - 1]), int(begins[at]))


class EpisodeDataSource(Sequence[dict[str, Any]]):
    """Episodes by number: each a dict of "steps" and of values of the whole episode. Picklable, for any loader.

    Args:
      chosen: the data to read.
      numbers: of the episodes in its table.
      is_dense: whether the steps of an episode are one dict of arrays `[T, ...]`, and not a `StepDataSource`.
      name: of the dataset; Grain compares it when it continues from a checkpoint.
    """

    def __init__(self, chosen: Chosen, numbers: np.ndarray, *, is_dense: bool, name: str) -> None:
        self._chosen, self._numbers, self._is_dense, self._name = chosen, numbers, is_dense, name

    def __repr__(self) -> str:
        return f"<{len(self)} episodes of {self._name}>"

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> "dict[str, Any] | EpisodeDataSource":
        """An episode, or a source of some episodes.

        Raises:
          IndexError: there is no such episode.
          DamagedError: it is damaged.
        """
        if isinstance(index, slice):
            return type(self)(self._chosen, self._numbers[index], is_dense=self._is_dense, name=self._name)
        number = int(self._numbers[range(len(self))[index]])
        table, features = self._chosen.arrays.table, self._chosen.features
        facts = self._chosen.arrays.facts(number)
        of_episode = {name: fact[()] for name, fact in zip(table.fact_columns, facts, strict=True) if name in features}
        return {STEPS: self._steps(number), **of_episode} if STEPS in features else of_episode

    def __getitems__(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Several episodes."""
        return [self[index] for index in indices]

    def _steps(self, number: int) -> "StepDataSource | dict[str, Any]":
        rows = range(int(self._chosen.arrays.table.source.lengths[number]))
        return self._chosen.arrays.steps(number, rows) if self._is_dense else StepDataSource(self._chosen, number, rows)
