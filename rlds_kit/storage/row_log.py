"""Rows of all lanes that are copied, and noted, by one call of C. What they change is found when blocks are cut."""

import functools
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from rlds_kit.storage.array_form import any_true, native, put_lanes
from rlds_kit.storage.batch_columns import Masks
from rlds_kit.storage.batch_jobs import Starts
from rlds_kit.storage.batch_leaves import RowKeys
from rlds_kit.storage.bounds import Bounds, copy_inside
from rlds_kit.storage.mapped_memory import mapped_array
from rlds_kit.storage.row_ends import ends_of
from rlds_kit.storage.row_form import MaskedForm

REFUSE, CLOSE, BEGIN = range(3)
"""What a log does about a row in which episodes end: does not add it; takes no more rows afterwards; or begins the next
episodes of their lanes with the row after it."""
_ROWS, _ROOM, _BYTES, _LIMIT, _ENDS, _AFTER_END = range(6)
STEPS, IS_UNFINISHED = range(2)
"""Numbers of calls of environments; see `step_and_log_in_python`."""
_TIME_BYTES: Final = 8
_RESULTS: Final = 5
"""Observations, rewards, terminations, truncations and infos."""
LogArrays: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Of a log: numbers, `begin`, `first`, `ends`, `times` and `stopped`."""
Step: TypeAlias = Callable[[Any], Any]
Record: TypeAlias = Callable[[Any, Any], object]
LogColumns: TypeAlias = tuple[Any, ...]
"""Of each value, and of discounts, the array `[capacity, lanes, ...]`, and that of its flags of presence or None."""


class StepForm(NamedTuple):
    """The form of the results of steps.

    Attributes:
      infos: their form; None: they are not recorded.
      keys: of observations and the columns of infos; and of actions, rewards and discounts.
    """

    infos: MaskedForm | None
    keys: RowKeys


class LogForm(NamedTuple):
    """A `StepForm` of which rows are logged.

    Attributes:
      infos: as there.
      columns: of its `keys`, in their order.
    """

    infos: MaskedForm | None
    columns: LogColumns


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
      forms: of steps whose results `put` adds.
      limit: of bytes, which all rows must not reach; None: there is none.
      after_end: what to do about a row in which episodes end: REFUSE, CLOSE or BEGIN.
      make_starts: makes the starts of episodes that begin with the rows.
      stopped: `[1]` bool, true from when nothing can be recorded any more: `step` makes no step then; None: never.

    Attributes:
      begin: `places` of the first row.
      first: `due` of the first row.
      ends: `[room, lanes]` uint8, how the episode ends that has a row: 1 if it terminated, 2 if it was truncated, 3 if
        both, 0 if it goes on.
        Those of rows that were not added are undefined.
      times: `[room]` int64, Unix time in nanoseconds of rows with which episodes begin; of others undefined.
      put: adds the results of a step; arguments and result as for `log_step_in_python`, without log and forms.
      step: makes a step and adds its results; arguments and result as for `step_and_log_in_python`, likewise.

    >>> rows = [np.zeros((8, 2)) for _ in range(4)]
    >>> form = LogForm(None, tuple(part for each in rows for part in (each, None)))
    >>> log = RowLog(np.zeros(2, np.int64), np.zeros(2, np.bool_), 8, [form], after_end=BEGIN)
    >>> flags, actions = np.array([True, False]), np.ones(2)
    >>> log.put(actions, (np.zeros(2), np.array([0.5, 0.25]), flags, flags & False, {}))
    True
    >>> log.rows, log.due, [each[0].tolist() for each in rows]
    (1, array([ True, False]), [[0.0, 0.0], [1.0, 1.0], [0.5, 0.25], [0.0, 1.0]])
    """

    def __init__(
        self,
        places: np.ndarray,
        due: np.ndarray,
        room: int,
        forms: Iterable[LogForm] = (),
        *,
        limit: int | None = None,
        after_end: int,
        make_starts: Callable[["RowLog"], RowStarts] | None = None,
        stopped: np.ndarray | None = None,
    ) -> None:
        lanes = len(places)
        self.begin, self.first = places, due
        memory = mapped_array(room * (_TIME_BYTES + lanes))
        self.times = memory[: room * _TIME_BYTES].view(np.int64)
        self.ends = memory[room * _TIME_BYTES :].reshape(room, lanes)
        self._starts = None if make_starts is None else make_starts(self)
        self._numbers = np.array([0, room, 0, sys.maxsize if limit is None else limit, 0, after_end], np.int64)
        stopped = np.zeros(1, np.bool_) if stopped is None else stopped
        self._arrays: LogArrays = (self._numbers, self.begin, self.first, self.ends, self.times, stopped)
        self.put: Callable[[Any, Any], bool]
        self.step: Callable[[np.ndarray, Bounds | None, Step, Any, Record], Any]
        if native is None:
            arrays, given = self._arrays, tuple(forms)
            self.put = functools.partial(log_step_in_python, arrays, given)
            self.step = functools.partial(step_and_log_in_python, arrays, given)
        else:
            log = native.native_log(self._arrays, tuple(forms))
            self.put = functools.partial(native.log_step, log)
            self.step = functools.partial(native.step_and_log, log)

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

    def ended_in(self) -> tuple[list[int], list[int], list[int]]:
        """The rows in which episodes end, ascending; in which lanes; and how, as in `ends`."""
        return ends_of(self.ends, self.rows)

    def begins(self) -> np.ndarray:
        """`[rows, lanes]` bool, in which lanes an episode begins with a row."""
        found: np.ndarray = np.concatenate([self.first[None], self.ends[: self.rows] != 0])[: self.rows]
        return found


def log_row_in_python(
    log: LogArrays, columns: LogColumns, values: tuple[Any, ...], masks: Masks, terminated: Any, truncated: Any
) -> int:  # of any type, as what environments return
    """Adds a row to a log: the reference for `log_row` in C. Recorders do not use it, see `IS_ATOMIC`.

    Args:
      log: its arrays.
      columns: that the values are copied to.
      values: of any type; those that fit are arrays like the rows of their columns.
      masks: of the values.
      terminated: `[lanes]` bool, which episodes end because they have terminated, of lanes in which none begins.
      truncated: likewise, because of a limit.

    Returns:
      The bytes of the row. -1: it is not added, and nothing that counts has changed, because there is no room, the
      bytes reach the limit, a value or the flags have another form, or episodes end though the log refuses that.
    """
    numbers, begin, first, ends, times, _ = log
    row, room, old_bytes, limit, ended, after_end = numbers.tolist()
    if row >= room or not (_are_flags(terminated, len(begin)) and _are_flags(truncated, len(begin))):
        return -1
    due, places = ends[row - 1] != 0 if row else first, begin + row
    codes = np.where(due, 0, terminated + 2 * truncated.astype(np.uint8)).astype(np.uint8)
    is_end = any_true(codes != 0)
    copies = _copies(columns, (*values, np.where(terminated, 0.0, 1.0)), masks)
    if (is_end and after_end == REFUSE) or not all(_fit(*each, places) for each in copies):
        return -1
    nbytes = int(sum(each.nbytes for each in values)) + 8 * len(begin)
    if old_bytes + nbytes >= limit:
        return -1
    for array, item in copies:
        put_lanes(array, places, None, item)
    ends[row], times[row] = codes, time.time_ns() if any_true(due) else 0
    room = 0 if is_end and after_end == CLOSE else room
    numbers[:] = row + 1, room, old_bytes + nbytes, limit, ended + is_end, after_end
    return nbytes


def _copies(
    columns: LogColumns, values: tuple[Any, ...], masks: Masks
) -> list[tuple[np.ndarray, Any]]:  # items of any type
    """What is copied into which arrays; None as an array, or as an item: that is not possible."""
    found = list[tuple[np.ndarray, Any]]()
    for number, item in enumerate(values):
        array, present = columns[2 * number : 2 * number + 2]
        mask = None if masks is None or number == len(masks) else masks[number]
        found.append((array, item if present is not None or mask is None else None))
        if present is not None:
            found.append((present, np.ones(present.shape[1:], np.bool_) if mask is None else mask))
    return found


def _fit(array: np.ndarray, item: Any, places: np.ndarray) -> bool:  # an item of any type
    """Whether an item can be copied to these places of an array."""
    is_alike = type(item) is np.ndarray and item.shape == array.shape[1:] and item.dtype == array.dtype
    return is_alike and item.flags.c_contiguous and bool((places < len(array)).all())


def _are_flags(given: Any, lanes: int) -> bool:  # of any type, as above
    is_array = type(given) is np.ndarray and given.dtype == np.bool_
    return is_array and given.shape == (lanes,) and given.flags.c_contiguous


def log_step_in_python(log: LogArrays, forms: tuple[LogForm, ...], actions: Any, result: Any) -> bool:  # as above
    """Adds the results of a step to a log: the reference for `log_step` in C. Recorders do not use it, either.

    Args:
      log: its arrays.
      forms: one of which the results may have.
      actions: of all lanes.
      result: of the step, as Gymnasium's vector environments return it.

    Returns:
      Whether it did. If not, nothing that counts has changed.
    """
    if type(result) is not tuple or len(result) != _RESULTS:
        return False
    observations, rewards, terminated, truncated, infos = result
    for form, columns in forms:
        row = ((), ()) if form is None else form.masked(infos)
        if row is None:
            continue
        values, masks = (observations, *row[0], actions, rewards), (None, *row[1], None, None) if row[1] else None
        if log_row(log, columns, values, masks, terminated, truncated) >= 0:
            return True
    return False


def step_and_log_in_python(
    log: LogArrays,
    forms: tuple[LogForm, ...],
    calls: np.ndarray,
    bounds: Bounds | None,
    step: Step,
    actions: Any,  # of any type, as what environments return
    record: Record,
) -> Any:
    """Makes a step, and adds its results to a log: the reference for `step_and_log` in C, likewise.

    Args:
      log: its arrays.
      forms: one of which the results may have.
      calls: of the environments, `[2]` int64: the number of steps, also of those that raised; and 1 from when a call
        begins until it has returned and its results are recorded. Changed only if the step is made.
      bounds: of the actions; None: they are not known.
      step: makes the step, given the actions.
      actions: of all lanes.
      record: is called with a copy of the actions, and the results, if these cannot be added to the log. It must raise
        an error if they are None.

    Returns:
      The results. None: no step was made, because the log has no room or is stopped, a call is unfinished, or the
      actions are not known to be within the bounds.
    """
    numbers, *_, stopped = log
    if bounds is None or any_true(stopped) or calls[IS_UNFINISHED] or numbers[_ROWS] >= numbers[_ROOM]:
        return None
    taken = copy_inside(bounds, actions)
    if taken is None:
        return None
    calls += 1, 1
    result = step(actions)
    if not log_step_in_python(log, forms, taken, result):
        record(taken, result)
    calls[IS_UNFINISHED] = 0
    return result


IS_ATOMIC: Final = hasattr(native, "log_row")
"""Whether a row is added by one call of C. If not, recorders use no logs: a signal handler that flushes may run within
`log_row_in_python`, and the row would be lost."""
log_row: Final[Callable[[LogArrays, LogColumns, tuple[Any, ...], Masks, Any, Any], int]] = getattr(
    native, "log_row", log_row_in_python
)
