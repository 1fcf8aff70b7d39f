"""The fields of an episode as columns of the values that were recorded, without a dict for each step."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import FLAGS
from rlds_kit.episode.episode import Episode
from rlds_kit.storage.array_rows import ArrayRows, Nest
from rlds_kit.storage.leaf import elements, field_of, nest
from rlds_kit.storage.restore import Stack


class ExactColumns:
    """All values of an episode, decoded once. `value_at` of a column is the exact value that was recorded.

    Args:
      episode: is read completely.

    Attributes:
      masks: for each field but the flags, `[length]` bool, which steps have a value.
    """

    def __init__(self, episode: Episode) -> None:
        names = [name for name in episode.fields if name not in FLAGS]
        self._length = len(episode)
        self._leaves: dict[str, dict[str, Stack]] = {name: {} for name in names}
        self.masks: dict[str, np.ndarray] = {name: np.zeros(self._length, np.bool_) for name in names}
        for path, stack in episode.stacks().items():
            name = field_of(path)
            if not stack.is_empty:
                self._leaves[name][path.partition("/")[2]] = stack
                self.masks[name] |= stack.present

    def rows(self, names: Iterable[str], length: int) -> ArrayRows | None:
        """Some fields as columns; None where a field has values with gaps between them.

        Args:
          names: of the fields.
          length: number of steps that are wanted.
        """
        columns, begin = {}, {}
        for name in names:
            defined = np.flatnonzero(self.masks[name][:length])
            if not len(defined):
                continue
            first, last = int(defined[0]), int(defined[-1]) + 1
            if last - first != len(defined):
                return None
            columns[name], begin[name] = self._column(self._leaves[name], first, last), first
        return ArrayRows(columns, length, begin)

    def _column(self, leaves: Mapping[str, Stack], first: int, last: int) -> Nest:
        """The values of a field in rows `[first, last)`, all of which have one."""
        is_nest = all(stack.present[first:last].all() for stack in leaves.values())
        if is_nest and not any(element[:1] == "[" for path in leaves for element in elements(path)):
            return nest({path: _values(stack, first, last) for path, stack in leaves.items()})
        values = {path: stack.exact()[0] for path, stack in leaves.items()}
        return [
            nest({path: values[path][row] for path, stack in leaves.items() if stack.present[row]})
            for row in range(first, last)
        ]


def _values(stack: Stack, first: int, last: int) -> Any:
    """The values of a leaf: an array where its elements are the recorded values, else a list."""
    dense = stack.dense
    if dense is not None and (dense.key.kind == pb.SCALAR or (dense.key.kind == pb.ARRAY and dense.key.rank)):
        return dense.values[first:last]
    return list(stack.exact()[0][first:last])
