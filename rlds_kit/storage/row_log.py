"""Rows of all lanes that are copied, and noted, by one call of C. What they change is found when blocks are cut."""

import functools
import time
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from rlds_kit.storage.array_form import any_true, native, put_lanes
from rlds_kit.storage.batch_columns import Masks
from rlds_kit.storage.batch_jobs import Starts
from rlds_kit.storage.batch_leaves import RowKeys

REFUSE, CLOSE, BEGIN = range(3)
"""What a log does about a row in which episodes end: does not add it; takes no more rows afterwards; or begins the next
episodes of their lanes with the row after it."""
_ROWS, _ROOM, _BYTES, _ENDS, _AFTER_END = range(5)
LogArrays: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Of a log: numbers, `begin`, `first`, `ends`, `times`, `[lanes]` bool, all True, and memory for `[lanes]` int64."""
LogColumns: TypeAlias = tuple[Any, ...]
"""Of each value, and of discounts, the array `[capacity, lanes, ...]`, and that of its flags of presence or None."""


class RowStarts(Protocol):
    """The starts of the episodes that begin with rows of a log."""

    def at(self, row: int, /) -> Starts:
        """Of those that begin with a row; the same object at each call. Called when the log is closed."""


class RowLog:
    """Rows that all lanes have, and the episodes that begin and end with them.

    A row counts when the call that copies it returns. So a signal handler sees all of it or nothing.

    Args:
      places: `[lanes]` int64, where the first row goes.
      due: `[lanes]` bool, in which lanes an episode begins with the first row; the others have one.
      room: maximum number of rows.
      after_end: what to do about a row in which episodes end: REFUSE, CLOSE or BEGIN.
      make_starts: makes the starts of episodes that begin with the rows.

    Attributes:
      begin: `places` of the first row.
      first: `due` of the first row.
      ends: `[room, lanes]` uint8, how the episode ends that has a row: 1 if it terminated, 2 if it was truncated, 3 if
        both, 0 if it goes on.
      times: `[room]` int64, Unix time in nanoseconds of rows with which episodes begin.
      columns: the arrays that rows of a form are copied to, by their keys; None: such rows cannot be added.
      put: adds a row; arguments and result as for `log_row_in_python`, without the log.

    >>> log = RowLog(np.zeros(2, np.int64), np.zeros(2, np.bool_), 8, BEGIN)
    >>> flags, rewards, discounts = np.array([True, False]), np.zeros((8, 2)), np.zeros((8, 2))
    >>> log.put((rewards, None, discounts, None), (np.array([0.5, 0.25]),), None, flags, flags & False)
    32
    >>> log.rows, log.due, discounts[0], rewards[0]
    (1, array([ True, False]), array([0., 1.]), array([0.5 , 0.25]))
    """

    def __init__(
        self,
        places: np.ndarray,
        due: np.ndarray,
        room: int,
        after_end: int,
        make_starts: Callable[["RowLog"], RowStarts] | None = None,
    ) -> None:
        lanes = len(places)
        self.begin, self.first = places, due
        self.ends, self.times = np.zeros((room, lanes), np.uint8), np.zeros(room, np.int64)
        self.columns = dict[RowKeys, LogColumns | None]()
        self._starts = None if make_starts is None else make_starts(self)
        self._numbers = np.array([0, room, 0, 0, after_end], np.int64)
        every, own = np.ones(lanes, np.bool_), np.zeros(lanes, np.int64)
        arrays: LogArrays = (self._numbers, self.begin, self.first, self.ends, self.times, every, own)
        self._arrays = arrays
        self.put: Callable[[LogColumns, tuple[Any, ...], Masks, Any, Any], int] = functools.partial(log_row, arrays)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._numbers[_ROWS])

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return int(self._numbers[_BYTES])

    @property
    def ended(self) -> int:
        """The number of rows in which episodes have ended."""
        return int(self._numbers[_ENDS])

    @property
    def has_boundaries(self) -> bool:
        """Whether an episode begins or ends with a row."""
        return self.ended > 0 or (self.rows > 0 and any_true(self.first))

    def close(self) -> None:
        """From now on, no row is added."""
        self._numbers[_ROOM] = 0

    @property
    def places(self) -> np.ndarray:
        """`[lanes]` int64, where the next row goes."""
        found: np.ndarray = self.begin + self.rows
        return found

    @property
    def due(self) -> np.ndarray:
        """`[lanes]` bool, which lanes have no open episode: after BEGIN, one begins there with the next row."""
        rows = self.rows
        return self.ends[rows - 1] != 0 if rows else self.first

    def starts_at(self, row: int) -> Starts:
        """The starts of the episodes that begin with a row."""
        if self._starts is None:
            raise ValueError("expected a log with `make_starts`")
        return self._starts.at(row)

    def begins(self) -> np.ndarray:
        """`[rows, lanes]` bool, in which lanes an episode begins with a row."""
        found: np.ndarray = np.concatenate([self.first[None], self.ends[: self.rows] != 0])[: self.rows]
        return found


def log_row_in_python(
    log: LogArrays, columns: LogColumns, values: tuple[Any, ...], masks: Masks, terminated: Any, truncated: Any
) -> int:  # as `RowLog.put`
    """Adds a row to a log: the reference for `log_row` in C. Recorders do not use it, see `IS_ATOMIC`.

    Args:
      log: its arrays.
      columns: that the values are copied to.
      values: of any type; those that fit are arrays like the rows of their columns.
      masks: of the values.
      terminated: `[lanes]` bool, which episodes end because they have terminated, of lanes in which none begins.
      truncated: likewise, because of a limit.

    Returns:
      The bytes of the row. -1: it is not added, and nothing that counts has changed, because there is no room, a value
      or the flags have another form, or episodes end though the log refuses that.
    """
    numbers, begin, first, ends, times, every, _ = log
    row, room, old_bytes, ended, after_end = numbers.tolist()
    if row >= room or not (_are_flags(terminated, len(begin)) and _are_flags(truncated, len(begin))):
        return -1
    due, places = ends[row - 1] != 0 if row else first, begin + row
    codes = np.where(due, 0, terminated + 2 * truncated.astype(np.uint8)).astype(np.uint8)
    is_end = any_true(codes != 0)
    copies = _copies(columns, (*values, np.where(terminated, 0.0, 1.0)), masks, every)
    if (is_end and after_end == REFUSE) or not all(_fit(*each, places) for each in copies):
        return -1
    for array, item in copies:
        put_lanes(array, places, None, item)
    ends[row], times[row] = codes, time.time_ns() if any_true(due) else 0
    nbytes = int(sum(each.nbytes for each in values)) + 8 * len(begin)
    room = 0 if is_end and after_end == CLOSE else room
    numbers[:] = row + 1, room, old_bytes + nbytes, ended + is_end, after_end
    return nbytes


def _copies(
    columns: LogColumns, values: tuple[Any, ...], masks: Masks, every: np.ndarray
) -> list[tuple[np.ndarray, Any]]:  # items of any type
    """What is copied into which arrays; None as an array, or as an item: that is not possible."""
    found = list[tuple[np.ndarray, Any]]()
    for number, item in enumerate(values):
        array, present = columns[2 * number : 2 * number + 2]
        mask = None if masks is None or number == len(masks) else masks[number]
        found.append((array, item if present is not None or mask is None else None))
        if present is not None:
            found.append((present, every if mask is None else mask))
    return found


def _fit(array: np.ndarray, item: Any, places: np.ndarray) -> bool:  # an item of any type
    """Whether an item can be copied to these places of an array."""
    is_alike = type(item) is np.ndarray and item.shape == array.shape[1:] and item.dtype == array.dtype
    return is_alike and item.flags.c_contiguous and bool((places < len(array)).all())


def _are_flags(given: Any, lanes: int) -> bool:  # of any type, as above
    is_array = type(given) is np.ndarray and given.dtype == np.bool_
    return is_array and given.shape == (lanes,) and given.flags.c_contiguous


IS_ATOMIC: Final = hasattr(native, "log_row")
"""Whether a row is added by one call of C. If not, recorders use no logs: a signal handler that flushes may run within
`log_row_in_python`, and the row would be lost."""
log_row: Final[Callable[[LogArrays, LogColumns, tuple[Any, ...], Masks, Any, Any], int]] = getattr(
    native, "log_row", log_row_in_python
)
