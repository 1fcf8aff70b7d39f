"""Reads the columns of a leaf in many blocks into an array that has a place for each row."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.storage import column as columns
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.rows import Rows
from rlds_kit.storage.shard_file import ShardFile

GROUP_BYTES: Final = 8 << 20
"""Stored bytes of columns that are in memory at a time; of a larger one, as many as it has."""


@dataclass(frozen=True, slots=True, eq=False)
class LocatedColumns:
    """The columns of a leaf in some blocks of a shard, and which of their rows are wanted.

    Attributes:
      wanted: the leaf.
      position: `[n]` int64, of the blocks.
      numbers: `[n, located.NUMBERS]`, what was found of the columns.
      base: `[n]` int64, what is added to the number of a row of an episode for its place in the array.
      low: `[n]` int64, the first row of the episode that is wanted.
      high: `[n]` int64, one past the last.
    """

    wanted: Wanted
    position: np.ndarray
    numbers: np.ndarray
    base: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """`[n]` int64, the first row of each column that is wanted."""
        found: np.ndarray = np.maximum(self.numbers[:, located.FIRST_ROW], self.low)
        return found

    @property
    def end(self) -> np.ndarray:
        """`[n]` int64, one past the last row of each column that is wanted."""
        found: np.ndarray = np.minimum(self.numbers[:, located.END_ROW], self.high)
        return found

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """`[n]` and `[n]` int64: the place of the first wanted row of each column, and the one after its last."""
        return self.base + self.first, self.base + self.end

    @property
    def are_plain(self) -> np.ndarray:
        """`[n]` bool, of which columns all rows are wanted, and stored as they are."""
        are_plain = located.are_plain(self.numbers, self.wanted.row_bytes)
        first, end = self.numbers[:, located.FIRST_ROW], self.numbers[:, located.END_ROW]
        are_plain &= (first >= self.low) & (end <= self.high)
        return are_plain

    def take(self, chosen: np.ndarray) -> "LocatedColumns":
        """Some of them."""
        rest = (each[chosen] for each in (self.position, self.numbers, self.base, self.low, self.high))
        return LocatedColumns(self.wanted, *rest)


def requests_of(position: np.ndarray, numbers: np.ndarray, to: np.ndarray) -> np.ndarray:
    """Requests for whole columns.

    Args:
      position: `[n]` int64, of their blocks.
      numbers: `[n, located.NUMBERS]`, what was found of them.
      to: `[n]` int64, where the bytes go.

    Returns:
      `[n]` of `located.REQUEST`.
    """
    made = np.empty(len(position), located.REQUEST)
    made["position"], made["to"] = position, to
    made["offset"], made["length"] = numbers[:, located.OFFSET], numbers[:, located.LENGTH]
    made["checksum"] = numbers[:, located.CHECKSUM]
    return made


def read_columns(file: ShardFile, found: LocatedColumns, out: Rows, *, in_place: bool = True) -> np.ndarray:
    """Reads columns. Which rows have a value is left to the caller.

    Args:
      file: the shard.
      found: the columns, all of which were found.
      out: where they go, `[places, row_bytes]` in C order.
      in_place: whether rows may have other values while they are decoded: False if other threads may read them.

    Returns:
      `[n]` bool, which of them were read; the reader of the episode raises the error of another one.
    """
    are_plain = found.are_plain
    is_sound = np.ones(len(are_plain), np.bool_)
    chosen = np.flatnonzero(are_plain)
    plain = found.take(chosen)
    starts, _ = plain.places
    requests = requests_of(plain.position, plain.numbers, starts * found.wanted.row_bytes)
    while (done := located.read(file, requests, out.reshape(-1), is_checked=True)) < len(requests):
        is_sound[chosen[done]] = False
        requests, chosen = requests[done + 1 :], chosen[done + 1 :]
    coded = np.flatnonzero(~are_plain)
    groups = np.cumsum(found.numbers[coded, located.LENGTH]) // GROUP_BYTES
    for group in np.split(coded, np.flatnonzero(np.diff(groups)) + 1):
        is_sound[group] = _decode(file, found.take(group), out, in_place=in_place)
    return is_sound


def _decode(file: ShardFile, found: LocatedColumns, out: Rows, *, in_place: bool) -> np.ndarray:
    """Decodes columns; returns `[n]` bool, which of them could be decoded."""
    is_sound, sizes = np.zeros(len(found.position), np.bool_), found.numbers[:, located.LENGTH]
    ends = np.cumsum(sizes)
    payloads = np.empty(int(sizes.sum()), np.uint8)
    requests = requests_of(found.position, found.numbers, ends - sizes)
    read = located.read(file, requests, payloads, is_checked=True)  # what follows is left to the reader of the episode
    begin, are_repeated = 0, located.are_repeated(found.numbers, found.wanted.row_bytes).tolist()
    starts, stops = found.places
    bounds = zip(starts.tolist(), stops.tolist(), found.first.tolist(), ends.tolist(), strict=True)
    for at, (start, stop, first, end) in enumerate(bounds):
        if at == read:
            break
        payload, begin = payloads[begin:end], end
        rows = out[start:stop] if start < stop else out[:0]
        if are_repeated[at]:  # as most rewards are: a tenth of the time of what follows
            rows[:], is_sound[at] = payload, True
            continue
        layout = found.wanted.layout(found.numbers[at])
        try:
            if len(rows):
                decoded = rows if in_place else np.empty_like(rows)
                columns.decode_into(layout, payload.data, "", decoded, first - layout.first_row)
                if not in_place:
                    rows[:] = decoded
            is_sound[at] = True
        except (DamagedError, FormatError):
            continue  # it raises the error, with the place
    return is_sound
