"""Rows of a log are the same with the C extension and without it, and are there as a whole or not at all."""

import doctest
import functools
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.storage import row_form, row_log
from rlds_kit.storage.array_form import native, put_lanes_in_python
from rlds_kit.storage.bounds import Bounds
from rlds_kit.storage.leaf import ColumnKey, Leaves
from rlds_kit.storage.row_form import MaskedForm
from rlds_kit.storage.row_log import (
    BEGIN,
    CLOSE,
    REFUSE,
    LogColumns,
    LogForm,
    RowLog,
    log_row,
    log_row_in_python,
    log_step_in_python,
    step_and_log_in_python,
)
from tests.storage.batch_rows import BOOLS, CAPACITY, KEYS, LANES, SHAPES, masks_of, values_of

AFTER_END: Final = (REFUSE, CLOSE, BEGIN)
ROOM: Final = 5
"""More than `CAPACITY`: the columns may be full before the log is."""


def _columns(keys: list[ColumnKey], presents: list[bool]) -> LogColumns:
    """The columns of keys, and of discounts, with flags of presence or without."""
    shapes = [*(SHAPES[key.rank] for key in keys), ()]
    dtypes = [*(key.dtype for key in keys), np.dtype(np.float64)]
    found: list[Any] = []
    for shape, dtype, has_flags in zip(shapes, dtypes, presents, strict=True):
        found.append(np.zeros((CAPACITY, LANES, *shape), dtype))
        found.append(np.zeros((CAPACITY, LANES), np.bool_) if has_flags else None)
    return tuple(found)


def _state(log: RowLog, columns: LogColumns) -> list[Any]:
    """All that counts, byte for byte, but for the times, which are those of different clocks."""
    numbers, begin, first, ends, times, _ = log._arrays
    arrays = [numbers, begin, first, ends[: log.rows], times != 0, *columns]
    return [None if each is None else each.tobytes() for each in arrays]


def _apart(array: np.ndarray) -> np.ndarray:
    """The same values, which do not follow each other in memory."""
    return np.repeat(array, 2, axis=0)[::2]


@st.composite
def _flags(draw: st.DrawFn) -> Any:
    """Of all lanes; sometimes of another form."""
    flags = draw(BOOLS | st.just(np.zeros(LANES, np.bool_)))
    odd = (flags.tolist(), flags.astype(np.uint8), flags[:2], flags[np.newaxis], np.ma.masked_array(flags), None)
    return flags if draw(st.integers(0, 19)) else draw(st.sampled_from((*odd, _apart(flags))))


@st.composite
def _values(draw: st.DrawFn, keys: list[ColumnKey]) -> tuple[Any, ...]:
    """Of some columns; most fit, or fit but for their place in memory."""
    found = [draw(values_of(key)) if draw(st.booleans()) else draw(_fitting(key)) for key in keys]
    if found and draw(st.integers(0, 9)) == 0:
        found = [_apart(each) if type(each) is np.ndarray else each for each in found]
    return tuple(found)


def _fitting(key: ColumnKey) -> st.SearchStrategy[np.ndarray]:
    return st.integers(1, 99).map(lambda number: np.full((LANES, *SHAPES[key.rank]), number, key.dtype))


def _in_one_piece(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.ascontiguousarray(each) if type(each) is np.ndarray else each for each in values)


@given(st.data())
def test_both_log_the_same_rows(data: st.DataObject) -> None:
    """Of any form, in a log of any kind; a row that is not added changes nothing, in the columns either."""
    keys = data.draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    presents = [data.draw(st.integers(0, 3)) > 0 for _ in (*keys, None)]
    same = data.draw(st.integers(0, CAPACITY)) if data.draw(st.booleans()) else None
    places = np.array([data.draw(st.integers(0, 2)) if same is None else same for _ in range(LANES)], np.int64)
    first, room = data.draw(BOOLS), data.draw(st.integers(0, ROOM))
    limit = data.draw(st.none() | st.integers(1, 400))
    after_end = data.draw(st.sampled_from(AFTER_END))
    one, other = (RowLog(places.copy(), first.copy(), room, limit=limit, after_end=after_end) for _ in range(2))
    here, there = (_columns(keys, presents) for _ in range(2))
    for _ in range(data.draw(st.integers(0, 2 * ROOM))):
        if data.draw(st.integers(0, 19)) == 0:
            one.close()
            other.close()
        values, masks = data.draw(_values(keys)), data.draw(st.none() | masks_of(len(keys)))
        flags, before = (data.draw(_flags()), data.draw(_flags())), _state(one, here)
        with pytest.MonkeyPatch.context() as patch:  # as where there is no C extension
            patch.setattr(row_log, "put_lanes", put_lanes_in_python)
            expected = log_row_in_python(other._arrays, there, values, masks, *flags)
        assert expected >= 0 or _state(other, there) == before
        found = log_row(one._arrays, here, values, masks, *flags)
        if found != expected:  # C leaves to other calls what is not in one piece
            assert found == -1
            assert not all(each.flags.c_contiguous for each in values)
            assert _state(one, here) == before
            found = log_row(one._arrays, here, _in_one_piece(values), masks, *flags)
        assert found == expected
        assert _state(one, here) == _state(other, there)


@pytest.mark.parametrize("log_row", [log_row, log_row_in_python])
def test_what_a_log_knows(log_row: Any) -> None:
    """Of its rows: their places and bytes, and which episodes begin and end with them."""
    places, first = np.array([0, 2, 1]), np.array([True, False, False])
    columns: Any = _columns(KEYS[:1], [True, False])
    discounts = columns[2]
    log, no, values = (
        RowLog(places, first, 2, after_end=BEGIN),
        np.zeros(LANES, np.bool_),
        (np.arange(1, 4, dtype="f4"),),
    )
    assert (log.rows, log.has_boundaries, log.due.tolist()) == (0, False, first.tolist())
    nbytes = LANES * (4 + 8)
    terminated, truncated = np.array([True, True, False]), np.array([True, True, True])
    assert log_row(log._arrays, columns, values, (np.array([True, True, False]),), terminated, truncated) == nbytes
    assert (log.rows, log.nbytes, log.ended, log.has_boundaries) == (1, nbytes, 1, True)
    assert log.ends[0].tolist() == [0, 3, 2]  # in the first lane, an episode has only begun
    assert log.due.tolist() == [False, True, True]
    assert log.places.tolist() == [1, 3, 2]
    assert log.times[0] > 0
    assert discounts[places, range(LANES)].tolist() == [0, 0, 1]
    assert log_row(log._arrays, columns, values, None, no, no) == nbytes
    assert log.begins().tolist() == [first.tolist(), [False, True, True]]
    assert log.ended_in() == ([0, 0], [1, 2], [3, 2])
    assert (log.rows, log.nbytes, log.ended) == (2, 2 * nbytes, 1)
    assert discounts[places + 1, range(LANES)].tolist() == [1, 1, 1]
    assert columns[1][places, range(LANES)].tolist() == [True, True, False]
    assert columns[1].sum() == 5
    assert columns[0][places + 1, range(LANES)].tolist() == [1, 2, 3]
    assert log_row(log._arrays, columns, values, None, no, no) == -1  # it is full


@pytest.mark.parametrize("log_row", [log_row, log_row_in_python])
@pytest.mark.parametrize(("after_end", "added"), [(REFUSE, [False, True]), (CLOSE, [True, False]), (BEGIN, [True] * 2)])
def test_what_follows_an_end(log_row: Any, after_end: int, added: list[bool]) -> None:
    """The row is not added; or it is, and none after it; or episodes begin with the next one."""
    log, no, columns = RowLog(np.zeros(LANES, np.int64), np.zeros(LANES, np.bool_), 4, after_end=after_end), *_none_of()
    for truncated, is_added in zip((~no, no), added, strict=True):
        assert (log_row(log._arrays, columns, (), None, no, truncated) > 0) == is_added
    assert log.rows == sum(added)
    assert [bool(each) for each in log.times] == [False, after_end == BEGIN, False, False]
    assert log.due.all() == (after_end == CLOSE)


@pytest.mark.parametrize("log_row", [log_row, log_row_in_python])
def test_values_of_another_form_are_left_to_others(log_row: Any) -> None:
    """Subclasses may have more than their array; other dtypes and shapes would be converted; nothing is logged."""
    no, columns = np.zeros(LANES, np.bool_), _columns(KEYS[:1], [True, True])
    log, fitting = RowLog(np.zeros(LANES, np.int64), no, 3, after_end=BEGIN), np.ones(LANES, np.float32)
    before = _state(log, columns)
    subclasses = np.ma.masked_array(fitting), fitting.view(np.matrix)[0], np.float32(1)
    for odd in (*subclasses, fitting.astype(">f4"), fitting.astype("f8"), fitting[:2], fitting[:, None], [1.0] * LANES):
        assert log_row(log._arrays, columns, (odd,), None, no, no) == -1
    for flags in (np.ma.masked_array(no), no.tolist(), no.astype(np.int8), no[:2], no[None], _apart(no), None):
        assert log_row(log._arrays, columns, (fitting,), None, flags, no) == -1
        assert log_row(log._arrays, columns, (fitting,), None, no, flags) == -1
    assert _state(log, columns) == before


_ACTED: Final = [ColumnKey(name, 0, np.dtype(np.float64), 0) for name in ("action", "reward")]
_OBSERVED: Final = ColumnKey("observation", 0, np.dtype(np.float32), 1)
_INFOS: Final[list[dict[str, np.ndarray]]] = [
    {},
    {"n": np.arange(LANES)},
    {"n": np.arange(LANES), "_n": np.array([True, False, True])},
    {"n": np.arange(LANES), "_n": np.ones(LANES, np.bool_), "x": np.ones((LANES, 2), np.float32)},
]


def _step_form(infos: dict[str, np.ndarray], lacking: int) -> LogForm:
    """The form of steps with such infos, and new columns, all but one of which have flags of presence."""
    found = row_form.form_of(infos, Leaves([], [*infos.values()]))
    assert found is not None
    are_alike = "_n" in infos and not infos["_n"].all()
    kinds = bytes((2 if are_alike else 1) if name == "_n" else 0 for name in infos)
    values = [number for number, name in enumerate(infos) if name != "_n"]
    places = b"".join(bytes((number, are_alike)) for number in values)
    arrays = [infos[name] for name in infos if name != "_n"]
    keys = [ColumnKey("info", 0, each.dtype, each.ndim - 1) for each in arrays]
    presents = [number + 1 != lacking for number in range(len(keys) + 4)]
    columns = _columns([_OBSERVED, *keys, *_ACTED], presents)
    return LogForm(MaskedForm(found.form, kinds, places, np.zeros((LANES, 2), np.uint8)), columns)


@st.composite
def _results(draw: st.DrawFn, infos: dict[str, np.ndarray] | None) -> Any:
    """Of a step; sometimes of another form."""
    parts = [draw(values_of(_OBSERVED)), draw(values_of(_ACTED[1])), draw(_flags()), draw(_flags()), infos]
    odd = [parts, tuple(parts[:4]), (*parts, None), None]
    return tuple(parts) if draw(st.integers(0, 9)) else draw(st.sampled_from(odd))


@given(st.data())
def test_both_log_the_same_steps(data: st.DataObject) -> None:
    """Whatever they return; those of another form change nothing."""
    if native is None:
        pytest.skip("without the C extension, no form is known")
    chosen = data.draw(st.lists(st.sampled_from(_INFOS), max_size=4))
    lacking = data.draw(st.integers(0, 8))
    here, there = ([_step_form(infos, lacking) for infos in chosen] for _ in range(2))
    if data.draw(st.booleans()):
        here, there = ([*forms, LogForm(None, _columns([_OBSERVED, *_ACTED], [True] * 4))] for forms in (here, there))
    places, after_end = (
        np.array([data.draw(st.integers(0, 1)) for _ in range(LANES)]),
        data.draw(st.sampled_from(AFTER_END)),
    )
    first, limit = data.draw(BOOLS), data.draw(st.none() | st.integers(1, 600))
    one, other = (RowLog(places, first, ROOM, forms, limit=limit, after_end=after_end) for forms in (here, there))
    odd_infos = st.sampled_from([{"n": np.zeros(2)}, {"m": np.zeros(LANES)}, None, {"n": [1] * LANES}])
    for _ in range(data.draw(st.integers(0, 2 * ROOM))):
        infos = data.draw(st.sampled_from(_INFOS) if data.draw(st.integers(0, 9)) else odd_infos)
        actions, result = data.draw(values_of(_ACTED[0])), data.draw(_results(infos))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_log, "log_row", log_row_in_python)
            expected = log_step_in_python(other._arrays, tuple(there), actions, result)
        found = one.put(actions, result)
        if found != expected:  # C leaves to other calls what is not in one piece
            arrays = [each for each in (actions, *result) if type(each) is np.ndarray]
            assert not found
            assert not all(each.flags.c_contiguous for each in arrays)
            return
        for mine, others in zip(here, there, strict=True):
            assert _state(one, mine.columns) == _state(other, others.columns)


class _Steps:
    """Makes steps of a log, and notes what environments and a recorder get."""

    def __init__(self, log: RowLog, make: Any) -> None:
        self.log, self._make, self.seen = log, make, list[Any]()

    def make(self, bounds: Bounds | None, actions: np.ndarray | None, result: Any, *, closes: bool) -> bool:
        """Whether a step was made."""
        mine: Any = None if actions is None else actions.copy()
        count = len(self.seen)

        def step(given: Any) -> Any:
            assert given is mine
            self.seen.append(given.tolist())
            given += 1  # as environments may do
            if closes:
                self.log.close()
            return result

        calls = np.array([5, 0])
        assert self._make(np.array([5, 1]), bounds, step, mine, self.seen.append) is None  # a call is unfinished
        found = self._make(calls, bounds, step, mine, lambda *given: self.seen.append(given))
        is_made = len(self.seen) > count
        assert calls.tolist() == [5 + is_made, 0]
        assert found is (result if is_made else None)
        return is_made


@given(st.data())
def test_both_make_the_same_steps(data: st.DataObject) -> None:
    """Those that are made are logged, or passed on with a copy of the actions; others leave all to their caller."""
    if native is None:
        pytest.skip("without the C extension, no form is known")
    infos, no = _INFOS[data.draw(st.integers(0, 3))], np.zeros(LANES, np.bool_)
    here, there = _step_form(infos, 8), _step_form(infos, 8)
    stopped, room = np.zeros(1, np.bool_), data.draw(st.integers(0, 3))
    logs = [
        RowLog(np.zeros(LANES, np.int64), no, room, [form], after_end=BEGIN, stopped=stopped) for form in (here, there)
    ]
    in_python = functools.partial(step_and_log_in_python, logs[1]._arrays, (there,))
    one, other = _Steps(logs[0], logs[0].step), _Steps(logs[1], in_python)
    fine = np.arange(LANES, dtype=np.float64)
    bounds = data.draw(st.sampled_from([None, Bounds(fine, None, np.array(2.0)), Bounds(fine, np.array(1.0), None)]))
    for _ in range(data.draw(st.integers(0, 6))):
        stopped[0] |= data.draw(st.integers(0, 9)) == 0
        actions, result = data.draw(st.sampled_from([fine, fine + 9, fine[:2], None])), data.draw(_results(infos))
        closes = data.draw(st.integers(0, 9)) == 0
        made = [each.make(bounds, actions, result, closes=closes) for each in (one, other)]
        if one.log.rows != other.log.rows:  # C leaves to other calls what is not in one piece
            assert not all(each.flags.c_contiguous for each in result if type(each) is np.ndarray)
            return
        assert made[0] == made[1]
        assert not (made[0] and (bounds is None or stopped[0]))
        assert str(one.seen) == str(other.seen)
        assert _state(one.log, here.columns) == _state(other.log, there.columns)


@pytest.mark.parametrize("step", ["C", "Python"])
def test_a_step_has_actions_as_they_were(step: str) -> None:
    """Whatever the environments do with them; and errors of these are raised."""
    columns, no = _columns([_OBSERVED, *_ACTED], [False] * 4), np.zeros(LANES, np.bool_)
    log = RowLog(np.zeros(LANES, np.int64), no, 3, [LogForm(None, columns)], after_end=BEGIN)
    make = (
        log.step if step == "C" else functools.partial(step_and_log_in_python, log._arrays, (LogForm(None, columns),))
    )
    actions, recorded = np.ones(LANES), list[Any]()

    def record(*given: Any) -> None:
        recorded.append(given)

    bounds = Bounds(actions, None, None)

    def change(given: Any) -> Any:
        given[:] = 7
        return np.zeros((LANES, 2), np.float32), np.zeros(LANES), no, no, {}

    calls = np.zeros(2, np.int64)
    assert make(calls, bounds, change, actions, record) is not None
    assert calls.tolist() == [1, 0]
    assert (columns[2][0].tolist(), actions.tolist(), recorded) == ([1] * LANES, [7] * LANES, [])

    def fail(_: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make(calls, bounds, fail, actions, record)
    assert calls.tolist() == [2, 1]
    calls[1] = 0
    with pytest.raises(ZeroDivisionError):
        make(calls, bounds, lambda _: None, actions, lambda *_: fail(0))
    assert (calls.tolist(), log.rows) == ([3, 1], 1)
    wrong: Any
    for wrong in (None, np.zeros(3, np.int64), np.zeros(2)):
        if step == "C" and native is not None:
            with pytest.raises(TypeError, match="numbers of calls"):
                make(wrong, bounds, change, actions, record)


def test_steps_are_logged_while_bytes_are_left() -> None:
    """The limit is not reached: the row that would is left to a call that frees memory, or flushes."""
    columns, no = _columns([_OBSERVED, *_ACTED], [False] * 4), np.zeros(LANES, np.bool_)
    result: Any = np.zeros((LANES, 2), np.float32), np.zeros(LANES), no, no, {}
    row_bytes = LANES * (8 + 3 * 8)
    for limit, expected in ((3 * row_bytes, 2), (3 * row_bytes + 1, 3), (row_bytes, 0), (None, CAPACITY)):
        log = RowLog(np.zeros(LANES, np.int64), no, ROOM, [LogForm(None, columns)], limit=limit, after_end=BEGIN)
        assert sum(log.put(np.zeros(LANES), result) for _ in range(ROOM)) == expected
        assert (log.rows, log.nbytes) == (expected, expected * row_bytes)


@pytest.mark.skipif(native is None, reason="needs the C extension")
def test_what_are_no_forms_is_refused() -> None:
    """With an error; columns that cannot take rows have no form."""
    no, columns = np.zeros(LANES, np.bool_), _columns([_OBSERVED, *_ACTED], [True] * 4)
    wrong: list[Any] = [
        (None,),
        ((None,),),
        ((None, columns, None),),
        ((None, None),),
        ((None, columns[:3]),),
        ((None, ()),),
    ]
    for each in wrong:
        with pytest.raises(TypeError, match="expected"):
            RowLog(np.zeros(LANES, np.int64), no, 3, each, after_end=BEGIN)
    result: Any = np.zeros((LANES, 2), np.float32), np.zeros(LANES), no, no, {}
    for given_columns, is_added in (
        (_replaced(columns, 0, columns[0][:, :2]), False),
        (columns[:2] + columns[4:], False),
        (columns, True),
    ):
        forms = [LogForm(None, given_columns)]
        log = RowLog(np.zeros(LANES, np.int64), no, 3, forms, after_end=BEGIN)
        assert log.put(np.zeros(LANES), result) == is_added
    with pytest.raises(TypeError, match="form of infos"):
        RowLog(np.zeros(LANES, np.int64), no, 3, [LogForm(3, columns)], after_end=BEGIN).put(None, result)  # type: ignore[arg-type]


def _none_of() -> tuple[np.ndarray, LogColumns]:
    """Flags that are all false, and the columns of rows without values."""
    return np.zeros(LANES, np.bool_), _columns([], [False])


def _replaced(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


@pytest.mark.skipif(native is None, reason="needs the C extension")
def test_what_is_no_log_is_refused() -> None:
    """With an error: arrays of other dtypes, sizes or ranks, or in pieces, or none, or numbers that they contradict."""
    no, columns = _none_of()
    arrays = RowLog(np.zeros(LANES, np.int64), no, 3, after_end=BEGIN)._arrays
    wrong: list[Any] = [None, (), list(arrays), arrays[:4], (*arrays, no), arrays[0]]
    for at, array in enumerate(arrays):
        others: list[Any] = [
            None,
            array.tolist(),
            array.astype(np.float64),
            array[np.newaxis],
            array[:-1],
            *([_apart(array)] if array.size > 1 else []),
        ]
        if array.itemsize > 1:
            others.append(array.astype(array.dtype.newbyteorder()))
        wrong += [_replaced(arrays, at, each) for each in others if not (at == 1 and each is others[4])]
    wrong += [_replaced(arrays, 1, np.zeros(2, np.int64)), _replaced(arrays, 3, arrays[3][:, :2].copy())]
    for number, given_number in ((0, -1), (0, 4), (1, 4)):
        numbers = arrays[0].copy()
        numbers[number] = given_number
        wrong.append(_replaced(arrays, 0, numbers))
    for each in wrong:
        with pytest.raises(TypeError, match="expected the arrays of a log"):
            log_row(each, columns, (), None, no, no)
    assert log_row(arrays, columns, (), None, no, no) == 8 * LANES


@pytest.mark.skipif(native is None, reason="needs the C extension")
def test_what_is_no_row_is_refused() -> None:
    """With an error: other numbers of columns, values and masks, or no tuples of them; nothing is logged."""
    no, values = np.zeros(LANES, np.bool_), (np.ones(LANES, np.float32),)
    log, columns = RowLog(np.zeros(LANES, np.int64), no, 3, after_end=BEGIN), _columns(KEYS[:1], [True, True])
    wrong: list[tuple[Any, Any, Any]] = [
        *((each, values, None) for each in (None, (), columns[:2], columns[:3], (*columns, None), [*columns])),
        *((columns, each, None) for each in (None, (), values * 2, [*values], values[0])),
        *((columns, values, each) for each in ((), (None, None), [None], no)),
    ]
    before = _state(log, columns)
    for each in wrong:
        with pytest.raises(TypeError, match="two arrays for each value"):
            log_row(log._arrays, *each, no, no)
    with pytest.raises(TypeError):
        log_row(log._arrays, columns, values, None, no)  # type: ignore[call-arg]
    assert _state(log, columns) == before
    assert log_row(log._arrays, columns, values, None, no, no) == 12 * LANES


@pytest.mark.skipif(native is None, reason="the twin leaves such columns to NumPy")
def test_a_row_of_columns_that_cannot_take_it_is_left_to_others() -> None:
    """Of no array, or one of another form, in pieces, read-only, or without the place; nothing is logged."""
    no, values = np.zeros(LANES, np.bool_), (np.ones(LANES, np.float32),)
    log, columns = RowLog(np.zeros(LANES, np.int64), no, 3, after_end=BEGIN), _columns(KEYS[:1], [True, True])
    before = _state(log, columns)
    for at, array in enumerate(columns):
        fixed = array.copy()
        fixed.flags.writeable = False
        swapped = [array.astype(array.dtype.newbyteorder())] if array.itemsize > 1 else []
        odd = [3, [], array.astype(np.int16), array[:0], array[:, :2].copy(), array[0], _apart(array), fixed, *swapped]
        for each in odd if at % 2 else (None, *odd):
            assert log_row(log._arrays, _replaced(columns, at, each), values, None, no, no) == -1
    for mask in (3, [True] * LANES, no[:2], no.astype(np.int8), _apart(no)):
        assert log_row(log._arrays, columns, values, (mask,), no, no) == -1  # type: ignore[arg-type]
    assert _state(log, columns) == before


@pytest.mark.parametrize("are_together", [False, True])
def test_rows_of_a_big_buffer_are_right(are_together: bool) -> None:
    """Of several MiB: where memory is new, it is cleared while other threads may run, and all is checked again."""
    lanes, width, capacity = 8, 25_200, 64
    places = np.full(lanes, 1) if are_together else np.arange(lanes)
    frames, others = (np.zeros((capacity, lanes, width), np.uint8) for _ in range(2))
    flags, present = np.zeros(lanes, np.bool_), np.zeros((capacity, lanes), np.bool_)
    columns = (frames, None, others, present, np.zeros((capacity, lanes)), None)
    rows = capacity - int(places.max())
    log, rng = RowLog(places, flags, capacity, after_end=BEGIN), np.random.default_rng(3)
    given_frames = rng.integers(0, 256, (rows, lanes, width), np.uint8)
    masks = rng.random((rows, lanes)) < 0.5
    for frame, mask in zip(given_frames, masks, strict=True):
        assert (
            log_row(log._arrays, columns, (frame, ~frame), (None, mask), flags, flags) == 2 * frame.nbytes + 8 * lanes
        )
    assert log_row(log._arrays, columns, (frame, ~frame), (None, mask), flags, flags) == -1
    assert log.rows == rows
    for lane, place in enumerate(places.tolist()):
        assert np.array_equal(frames[place : place + rows, lane], given_frames[:, lane])
        assert np.array_equal(others[place : place + rows, lane], ~given_frames[:, lane])
        assert np.array_equal(present[place : place + rows, lane], masks[:, lane])
        assert not frames[:place, lane].any()


def test_examples() -> None:
    assert doctest.testmod(row_log).failed == 0
