"""Buffers rows of many environments that step together: one array `[capacity, lanes, ...]` for each column.

A row is copied for all lanes at once. Each lane is a stream of rows, of one episode after the other; the writer thread
separates them when it makes blocks.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from rlds_kit.storage.array_form import put_lanes
from rlds_kit.storage.array_pool import ArrayPool
from rlds_kit.storage.batch_columns import BatchColumn, Places, put_leaves, turn_columns
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys, row_bytes
from rlds_kit.storage.buffer import stored
from rlds_kit.storage.column import Column
from rlds_kit.storage.lane_blocks import is_light
from rlds_kit.storage.lane_pieces import LaneColumn
from rlds_kit.storage.leaf import ColumnKey, Leaves


class BatchBuffer:
    """The rows of all lanes since the last blocks.

    Rows count from when the caller passes larger `places`: what an interrupted call has written before is overwritten,
    after `clean`.

    Args:
      lanes: number of environments.
      capacity: maximum rows of a lane.
      pool: for memory of the caller.
      turned: for memory of the writer thread.

    Attributes:
      is_clean: set by the caller: whether it has only rows that count.
    """

    def __init__(self, lanes: int, capacity: int, pool: ArrayPool, turned: ArrayPool) -> None:
        self.capacity, self.is_clean = capacity, True
        self._observed, self._acted = (_Side(lanes, capacity, pool) for _ in range(2))
        self._pool, self._turned = pool, turned

    def put(self, leaves: BatchLeaves, lanes: np.ndarray | None, places: Places) -> int:
        """Copies a row of some lanes, of all if `lanes` is None; returns its bytes of one lane."""
        nbytes = 0
        for side, given in ((self._observed, leaves.observed), (self._acted, leaves.acted)):
            copied = put_leaves(side.values, given, lanes, places, side.every)
            if copied < 0:
                copied = side.put(given, lanes, places)
            nbytes += copied
        return nbytes

    def columns_of(self, keys: RowKeys) -> tuple[np.ndarray | None, ...] | None:
        """Where values of rows with these columns go: of each column its array, and its flags of presence or None.

        Returns:
          None: a column is missing, or another one needs flags.
        """
        observed, acted = self._observed.columns_of(keys.observed), self._acted.columns_of(keys.acted)
        if observed is None or acted is None:
            return None
        return tuple(each for column in (*observed, *acted) for each in (column.array, column.present))

    def put_row(self, lane: int, observed: Leaves, acted: Leaves, places: Places) -> int:
        """Copies a row of one lane; returns its bytes.

        Raises:
          UnsupportedTypeError: a dtype is not supported; `clean` must be called before the next row.
        """
        return self._observed.put_row(lane, observed, places) + self._acted.put_row(lane, acted, places)

    def clean(self, places: Places) -> None:
        """Removes what an interrupted call has left after the rows that count."""
        self._observed.clean(places)
        self._acted.clean(places)

    def turn(self, rows: int) -> list[LaneColumn]:
        """Puts the rows of each lane, of which there are at most so many, in one piece; without it, `columns` is slow.

        Returns:
          The columns, if all are light and have one shape; else none.
        """
        turn_columns([*self._observed.values.values(), *self._acted.values.values()], rows, self._turned)
        found = [*self._observed.turned(rows), *self._acted.turned(rows, is_acted=True)]
        light = [column for column in found if column is not None]
        return light if len(light) == len(found) else []

    def columns(self, lane: int, places: range, first_row: int) -> list[Column]:
        """The columns of consecutive rows of an episode. Nothing may be added any more.

        Args:
          lane: of the episode.
          places: of its rows.
          first_row: the number of the first one in its episode.
        """
        # The first row of an episode has no action before it.
        found = list[Column]()
        self._observed.columns(lane, places.start, places.stop, first_row, found)
        begin, first_acted = places.start + (first_row == 0), max(first_row - 1, 0)
        self._acted.columns(lane, begin, places.stop, first_acted, found)
        return found

    def release(self) -> None:
        """Returns the memory to the pools; columns must not be used any more."""
        for side in (self._observed, self._acted):
            for values in side.values.values():
                self._pool.give(values.array)
                if values.by_lane is not None:
                    self._turned.give(values.by_lane)


class _Side:
    """The observation side or the action side of rows.

    Attributes:
      values: of each column.
      every: `[lanes]` bool, all True.
    """

    def __init__(self, lanes: int, capacity: int, pool: ArrayPool) -> None:
        self.values: dict[ColumnKey, BatchColumn] = {}
        self._others: dict[ColumnKey, dict[int, list[tuple[int, np.ndarray]]]] = {}
        """Values of another shape than their array's, by lane: places and values."""
        self._all, self.every = np.arange(lanes), np.ones(lanes, np.bool_)
        self._capacity, self._pool = capacity, pool

    def put(self, leaves: Sequence[BatchLeaf], lanes: np.ndarray | None, places: Places) -> int:
        """Copies a row whose columns may be new, have other shapes, or lack values in some lanes; returns its bytes."""
        for leaf in leaves:
            values = self._values(leaf.key, leaf.values, places)
            if leaf.values.shape[1:] != values.array.shape[2:]:
                self._put_others(leaf, self._all if lanes is None else lanes, places)
                continue
            self._copy(leaf.values, values.array, lanes, places)
            if leaf.mask is not None and values.present is None:
                values.present = self._filled(places)
            if values.present is not None:
                self._copy(self.every if leaf.mask is None else leaf.mask, values.present, lanes, places)
        if len(leaves) < len(self.values):
            self._omit({leaf.key for leaf in leaves}, places)
        return row_bytes(leaves)

    def put_row(self, lane: int, leaves: Leaves, places: Places) -> int:
        """Copies a row of one lane; returns its bytes."""
        place, nbytes = int(places[lane]), 0
        for key, item in leaves:
            value = stored(key, item)
            nbytes += value.nbytes
            values = self.values.get(key)
            if values is None or values.array.shape[2:] != value.shape:
                self._add_other(key, lane, place, value, places)
            else:
                values.array[place, lane] = value
                if values.present is not None:
                    values.present[place, lane] = True
        self._omit(set(leaves.keys), places)
        return nbytes

    def columns_of(self, keys: Sequence[ColumnKey]) -> list[BatchColumn] | None:
        """The columns of a row that has all of these; None if there are no such, or other columns need flags."""
        found = [values for key in keys if (values := self.values.get(key)) is not None]
        always = [values for values in self.values.values() if values.present is None]
        return found if len(found) == len(keys) and all(each in found for each in always) else None

    def clean(self, places: Places) -> None:
        """Removes what is not in the first `places` rows of each lane."""
        for values in self.values.values():
            if values.present is not None:
                values.present &= self._filled(places)
        for by_lane in self._others.values():
            for lane, found in by_lane.items():
                by_lane[lane] = [each for each in found if each[0] < places[lane]]

    def columns(self, lane: int, begin: int, stop: int, first_row: int, into: list[Column]) -> None:
        """Adds the columns of the rows at places `[begin, stop)`; `first_row` is the number of the first one."""
        if begin == stop:
            return
        every = np.arange(first_row, first_row + stop - begin)
        for key, values in self.values.items():
            rows, found = every, values.of(lane, begin, stop)
            if values.present is not None:
                present = values.present[begin:stop, lane]
                if np.count_nonzero(present) < len(present):
                    rows, found = rows[present], found[present]
            if self._others and (others := self._others_of(key, lane, begin, stop)):
                moved = [(place - begin + first_row, value) for place, value in others]
                into.append(_merged(key, [*zip(rows.tolist(), found, strict=True), *moved]))
            elif len(rows):
                into.append(Column(key, rows, found))

    def turned(self, rows: int, *, is_acted: bool = False) -> Iterator[LaneColumn | None]:
        """Yields each column, which was turned; None if it is heavy, or has many shapes."""
        for key, values in self.values.items():
            by_lane = values.by_lane
            if by_lane is None or self._others or not is_light(key, by_lane):
                yield None
            else:
                yield LaneColumn(key, by_lane, is_acted, None if values.present is None else values.present[:rows])

    def _others_of(self, key: ColumnKey, lane: int, begin: int, stop: int) -> list[tuple[int, np.ndarray]]:
        """The values of another shape than their array's, with their places."""
        return [each for each in self._others.get(key, {}).get(lane, ()) if begin <= each[0] < stop]

    def _values(self, key: ColumnKey, example: np.ndarray, places: Places) -> BatchColumn:
        """The values of a column; `example` is `[any, *shape]`, with the shape of most values, as far as is known."""
        values = self.values.get(key)
        if values is None:
            array = self._pool.take((self._capacity, len(self._all), *example.shape[1:]), example.dtype)
            present = np.zeros(array.shape[:2], np.bool_) if places.any() else None
            values = self.values[key] = BatchColumn(array, present)
        return values

    def _put_others(self, leaf: BatchLeaf, lanes: np.ndarray, places: Places) -> None:
        for lane in lanes.tolist():
            if leaf.mask is None or leaf.mask[lane]:
                self._add_other(leaf.key, lane, int(places[lane]), leaf.values[lane].copy(), places)

    def _add_other(self, key: ColumnKey, lane: int, place: int, value: np.ndarray, places: Places) -> None:
        values = self._values(key, value[None], places)
        if values.present is None:
            values.present = self._filled(places)
        if value.shape == values.array.shape[2:]:
            values.array[place, lane], values.present[place, lane] = value, True
        else:
            self._others.setdefault(key, {}).setdefault(lane, []).append((place, value))

    def _omit(self, given: set[ColumnKey], places: Places) -> None:
        """Notes that the other columns have no value in a row."""
        for key, values in self.values.items():
            if values.present is None and key not in given:
                values.present = self._filled(places)

    def _copy(self, values: np.ndarray, array: np.ndarray, lanes: np.ndarray | None, places: Places) -> None:
        """Copies values of some lanes; NumPy does what is not in one piece, or has another dtype."""
        if not put_lanes(array, places, lanes, values):
            chosen = self._all if lanes is None else lanes
            array[places[chosen], chosen] = values[chosen]

    def _filled(self, places: Places) -> np.ndarray:
        """`[capacity, lanes]` bool, true in the first `places` rows of each lane; others take no memory yet."""
        found, most = np.zeros((self._capacity, len(places)), np.bool_), int(places.max(initial=0))
        found[:most] = np.arange(most)[:, None] < places
        return found


def _merged(key: ColumnKey, items: Iterable[tuple[int, np.ndarray]]) -> Column:
    """The column of values by row."""
    ordered = sorted(items, key=lambda item: item[0])
    rows = np.array([row for row, _ in ordered], np.int64)
    values = [value for _, value in ordered]
    if len({value.shape for value in values}) == 1:
        return Column(key, rows, np.stack(values))
    shapes = np.array([value.shape for value in values], np.int64).reshape(len(values), key.rank)
    return Column(key, rows, np.concatenate([value.reshape(-1) for value in values]), shapes)
