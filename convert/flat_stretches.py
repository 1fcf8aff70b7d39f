"""Separates flat arrays into episodes while they are read, so that each value is read, and decompressed, once.

Flags say where most episodes end. Others end where the next observation of a row is not the observation of the row
after it; that is only known when both are read. Several processes can each read the episodes that begin in other rows.
"""

import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from rlds_kit.episode.array_ends import NEXT, OBSERVATIONS, Ends, Tree, differ, joined, mapped, rows_of
from rlds_kit.episode.flat_arrays import FlatEpisode, chosen, flat_episode

_BYTES: Final = 16 << 20
"""Bytes that are read at once, because any read of a part of a chunk decompresses the whole chunk."""
_BYTES_OF_EPISODE: Final = 256 << 20
"""Episodes up to this size are read at once, and larger ones joined."""


@dataclass(frozen=True)
class Layout:
    """What is known of flat arrays before their steps are read.

    Attributes:
      rows: of each array.
      row_bytes: of all arrays that belong to steps.
      steps: what belongs to steps, from `flat_arrays.steps_in`.
      ends: the flags of all rows, from `array_ends.flagged_ends`.
      cuts: `[rows]` bool, after which rows episodes end by their flags.
    """

    rows: int
    row_bytes: int
    steps: Mapping[str, Any]
    ends: Ends
    cuts: np.ndarray

    def cut_from(self, row: int) -> int:
        """The row after the first one from a row on after which an episode ends by its flags."""
        found = int(np.argmax(self.cuts[row:])) + row + 1
        return found if self.cuts[found - 1] else self.rows

    def stop_of(self, row: int, bytes_at_once: int, bytes_of_episode: int) -> int:
        """The row before which a read that begins with a row ends: with an episode, where that is possible."""
        most, most_of_episode = (
            row + max(1, each // max(1, self.row_bytes)) for each in (bytes_at_once, bytes_of_episode)
        )
        end = self.cut_from(row)
        if end > most:
            return end if end <= most_of_episode else most
        return row + int(np.flatnonzero(self.cuts[row:most])[-1]) + 1 if most < self.rows else self.rows


def episodes_in(
    tree: Tree,
    layout: Layout,
    first: int,
    last: int,
    bytes_at_once: int = _BYTES,
    bytes_of_episode: int = _BYTES_OF_EPISODE,
) -> Iterator[FlatEpisode]:
    """Reads the episodes that begin in rows `[first, last)`, of which the last one may end later.

    Args:
      tree: arrays, or datasets of h5py.
      layout: of them.
      first: row.
      last: one past the last row in which one may begin.
      bytes_at_once: bytes of a read.
      bytes_of_episode: bytes of an episode that is read at once, although it is longer.
    """
    until = layout.cut_from(last - 1) if first < last else first  # no episode that begins before ends later
    open_: list[_Piece] | None = None  # of the episode that has begun; None: none has, in these rows
    before = _rows(tree, NEXT, layout, first - 1, first) if first and NEXT in tree else None
    at = first
    while at < until and (open_ is not None or at < last):
        stop = min(layout.stop_of(at, bytes_at_once, bytes_of_episode), until)
        stretch = _Stretch.read(tree, layout, at, stop, before)
        bounds = [*stretch.begins, stop]
        if open_ is not None and at < bounds[0]:
            open_.append(_Piece(stretch, at, bounds[0]))
        for begin, end in pairwise(bounds):
            if open_ is not None:
                yield _episode(open_, layout)
            if begin >= last:
                return
            open_ = [_Piece(stretch, begin, end)]
        at, before = stop, stretch.final(stop)
    if open_ is not None:
        yield _episode(open_, layout)


@dataclass(frozen=True)
class _Stretch:
    """Rows that are read at once.

    Attributes:
      first: row.
      arrays: what belongs to steps.
      begins: the rows with which episodes begin.
      finals: the next observations of the rows before these, as far as they are in the stretch, and of its last row;
        None: there are none.
    """

    first: int
    arrays: Mapping[str, Any]
    begins: Sequence[int]
    finals: Any

    @classmethod
    def read(cls, tree: Tree, layout: Layout, first: int, stop: int, before: Any) -> "_Stretch":
        """Reads rows; `before` is the next observation of the row before them, if there is one."""
        arrays = {name: _rows(tree, name, layout, first, stop) for name in layout.steps}
        following = _rows(tree, NEXT, layout, first, stop) if NEXT in tree else None
        is_begin = np.ones(stop - first, np.bool_)
        is_begin[1:] = layout.cuts[first : stop - 1]
        if first:
            is_begin[0] = layout.cuts[first - 1]
        if following is not None:
            seen = arrays[OBSERVATIONS]
            is_begin[1:] |= differ(rows_of(following, 0, -1), rows_of(seen, 1, None), stop - first - 1)
            if before is not None:
                is_begin[:1] |= differ(before, rows_of(seen, 0, 1), 1)
        begins = np.flatnonzero(is_begin)
        ends = [*(begins[begins > 0] - 1).tolist(), stop - first - 1]
        finals = None if following is None else mapped(lambda each: each[ends], following)
        return cls(first, arrays, (begins + first).tolist(), finals)

    def final(self, end: int) -> Any:
        """The next observation of the row before `end`, with which an episode or the stretch ends; None: there is none.

        Returns:
          Arrays of `[1, ...]`.
        """
        if self.finals is None:
            return None
        number = bisect.bisect_left(self.begins, end) - (self.begins[:1] == [self.first])
        return rows_of(self.finals, number, number + 1)


@dataclass(frozen=True, slots=True)
class _Piece:
    """The rows `[begin, end)` of an episode, which are in one stretch."""

    stretch: _Stretch
    begin: int
    end: int

    def of(self, node: Any) -> Any:
        """The rows of arrays of the stretch."""
        return rows_of(node, self.begin - self.stretch.first, self.end - self.stretch.first)


def _episode(pieces: Sequence[_Piece], layout: Layout) -> FlatEpisode:
    first, last = pieces[0], pieces[-1]
    arrays, begin, end = first.stretch.arrays, first.begin - first.stretch.first, first.end - first.stretch.first
    if len(pieces) > 1:
        arrays = {name: joined([each.of(each.stretch.arrays[name]) for each in pieces]) for name in arrays}
        begin, end = 0, last.end - first.begin
    ends = layout.ends.flags_of(first.begin - begin, last.end)
    return flat_episode(arrays, layout.steps, ends, begin, end, last.stretch.final(last.end))


def _rows(tree: Tree, name: str, layout: Layout, begin: int, end: int) -> Any:
    """Some rows of an array, or of a nest of arrays."""
    steps = layout.steps.get(OBSERVATIONS if name == NEXT else name, True)
    return rows_of(chosen(tree[name], steps), begin, end)
