"""Rows of environments that step together: policies, memory, interrupts, and use in an order that is not usual."""

import gc
import os
import signal
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError
from rlds_kit import spec as specs
from rlds_kit.base.rlds_kit_pb2 import EpisodeStart
from rlds_kit.storage.batch_buffer import BatchBuffer
from rlds_kit.storage.batch_columns import Masks
from rlds_kit.storage.batch_jobs import GivenStarts
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.batch_recorder import BatchRecorder
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.intake import Intake
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.row_log import BEGIN, CLOSE, IS_ATOMIC, REFUSE, RowLog, StepForm, log_row
from tests.storage.interrupting import interrupt_at

LANES: Final = 3
DECLARED: Final = specs.Dict({"observation": specs.Array((2,), np.float32), "reward": specs.Array((), np.float64)})
Rows = dict[int, list[Any]]
needs_logs = pytest.mark.skipif(not IS_ATOMIC, reason="without the extension, recorders use no logs")


@pytest.fixture
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of tiny datasets need not survive a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def _row(row: int, lane: int) -> dict[str, Any]:
    """A row with optional and ragged values, which leave traces in masks if an interrupted row is not removed."""
    info: dict[str, Any] = {"ragged": np.full(1 + row % 2, row)}
    info |= {"odd": row} if row % 2 else {}
    info |= {"some": row} if (row + lane) % 2 else {}
    return {"observation": np.array([row, lane], np.float32), "info": info, "reward": row / 2}


def _leaves(batch: BatchRecorder, row: int) -> BatchLeaves:
    """A row of all lanes."""
    found: tuple[dict[Any, list[Any]], dict[Any, list[Any]]] = {}, {}
    for lane in range(LANES):
        values = _row(row, lane)
        sides = batch.fields.leaves({name: values[name] for name in ("observation", "info")}, {"reward": row / 2})
        for columns, leaves in zip(found, sides, strict=True):
            for key, item in leaves:
                columns.setdefault(key, [None] * LANES)[lane] = np.asarray(item, key.dtype)
    return BatchLeaves(*(_columns(columns) for columns in found))


def _columns(columns: dict[Any, list[Any]]) -> list[BatchLeaf]:
    leaves = []
    for key, values in columns.items():
        example = next(value for value in values if value is not None)
        mask = np.array([value is not None for value in values])
        array = np.stack([example if value is None else value for value in values])
        leaves.append(BatchLeaf(key, array, None if mask.all() else mask))
    return leaves


def _start(batch: BatchRecorder, lane: int) -> EpisodeStart:
    start = start_message(metadata={"lane": lane})
    batch.start({lane: start})
    return start


def _single(batch: BatchRecorder, row: int, lane: int) -> None:
    values = _row(row, lane)
    batch.append_row(
        lane, *batch.fields.leaves({name: values[name] for name in ("observation", "info")}, {"reward": row / 2})
    )


def _read(directory: Path) -> Rows:
    """The rows of each lane; the last step of an episode has no reward."""
    found: Rows = {}
    for episode in rlds_kit.open(directory).episodes:
        steps = list(episode.steps)
        rewards = [float(step["reward"]) for step in steps[:-1]]
        found[episode.metadata["lane"]] = [
            _plain(step["observation"], step["info"], reward)
            for step, reward in zip(steps, [*rewards, None], strict=True)
        ]
    return found


def _plain(observation: np.ndarray, info: dict[str, Any], reward: float | None) -> list[Any]:
    return [observation.tolist(), {key: np.asarray(info[key]).tolist() for key in sorted(info)}, reward]


def _expected(rows: list[int], lane: int) -> list[Any]:
    """What is read of one episode with these rows; the reward is that of the step which begins with a row."""
    rewards = [row / 2 for row in rows[1:]]
    values = [_row(row, lane) for row in rows]
    return [
        _plain(each["observation"], each["info"], reward)
        for each, reward in zip(values, [*rewards, None][: len(rows)], strict=True)
    ]


def _of_lanes(rows: dict[int, list[int]]) -> Rows:
    return {lane: _expected(each, lane) for lane, each in rows.items() if each}


def _heedless(deed: Callable[[], None], *_: object) -> None:
    """As the handler of a signal."""
    deed()


HANDLERS: Final = ("ctrl-c", "flush", "close")


def _handlers(recorder: Recorder) -> dict[str, Callable[..., object]]:
    """Of signals, by their names."""
    return {
        "ctrl-c": signal.default_int_handler,
        "flush": partial(_heedless, recorder.flush),
        "close": partial(_heedless, recorder.close),
    }


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("block_rows", [2, 64])
@pytest.mark.parametrize("first", [0, 1, 2, 3])
@pytest.mark.parametrize("single", [False, True])
def test_an_interrupted_row_is_there_or_not(
    tmp_path: Path, handler: str, block_rows: int, first: int, *, single: bool
) -> None:
    """Wherever Ctrl-C or a handler that flushes or closes strikes, for all lanes alike; other rows are unchanged."""
    number, struck = 0, ["begin"]
    while struck:
        directory = tmp_path / str(number)
        policy = FlushPolicy(block_rows=block_rows, interval=None)
        with Recorder(directory, DECLARED, policy=policy) as recorder:
            batch = recorder.start_batch(LANES)
            for lane in range(LANES):
                _start(batch, lane)
            for row in range(first):
                batch.append(_leaves(batch, row))
            leaves = _leaves(batch, first)
            raised = None
            with interrupt_at(number, _handlers(recorder)[handler]) as struck:
                try:
                    if single:
                        _single(batch, first, 1)
                    else:
                        batch.append(leaves)
                except (KeyboardInterrupt, RecordingError) as error:
                    raised = error
            assert raised is None or struck
            after = range(first + 1, first + 4) if handler != "close" or not struck else ()
            for row in after:
                batch.append(_leaves(batch, row))
            if after:
                batch.end(range(LANES), EpisodeEnd.TERMINATED)
        lanes = {1} if single else set(range(LANES))
        with_it = {lane: [*range(first), *([first] if lane in lanes else []), *after] for lane in range(LANES)}
        without = {lane: [*range(first), *after] for lane in range(LANES)}
        candidates = [with_it] if raised is None else [with_it, without]
        assert _read(directory) in [_of_lanes(each) for each in candidates], (number, struck)
        number += 1
    assert number > 30


def _plain_row(
    batch: BatchRecorder, row: int, terminated: np.ndarray | None = None
) -> tuple[RowKeys, tuple[Any, ...], BatchLeaves]:
    """A row of all lanes that a log can take."""
    observed, acted = batch.fields.leaves({"observation": np.zeros(2, np.float32)}, {"reward": 0.0, "discount": 1.0})
    lanes = np.arange(LANES, dtype=np.float32)
    values = np.stack([np.full_like(lanes, row), lanes], axis=1), np.full(LANES, row / 2)
    discounts = np.ones(LANES) if terminated is None else np.where(terminated, 0.0, 1.0)
    keys = RowKeys(tuple(observed.keys), tuple(acted.keys))
    leaves = [BatchLeaf(*each) for each in zip((*keys.observed, *keys.acted), (*values, discounts), strict=True)]
    return keys, values, BatchLeaves(leaves[:1], leaves[1:])


def _append_logged(
    batch: BatchRecorder, log: RowLog, keys: RowKeys, values: tuple[Any, ...], masks: Masks, flags: tuple[Any, Any]
) -> bool:
    """Adds a row to a log, and to columns of any number; `RowLog.put` has always three, and those of infos."""
    buffer = batch._state.buffer
    columns = None if buffer is None else buffer.columns_of(keys)
    return columns is not None and log_row(log._arrays, columns, values, masks, *flags) >= 0


def _read_plain(directory: Path) -> Rows:
    """The first numbers of the observations of each lane; those of another lane are no rows of this one."""
    found: Rows = {}
    for episode in rlds_kit.open(directory).episodes:
        observations = np.array([step["observation"] for step in episode.steps])
        lane = episode.metadata["lane"]
        assert (observations[:, 1] == lane).all()
        acted = [(step["reward"], step["discount"]) for step in list(episode.steps)[:-1]]
        assert acted == [(row / 2, 1.0) for row in observations[1:, 0]]
        found[lane] = observations[:, 0].astype(int).tolist()
    return found


class _GivenAt:
    """The starts of episodes that begin with rows of a log, whose first row is one of many."""

    def __init__(self, log: RowLog, first: int) -> None:
        self._first, self._made = first, dict[int, GivenStarts]()

    def at(self, row: int) -> GivenStarts:
        return self._made.setdefault(row, _starts_at(self._first + row))


def _starts_at(place: int) -> GivenStarts:
    """The starts of episodes that begin with the row that has so many before it."""
    return GivenStarts({lane: start_message(metadata={"lane": lane, "place": place}) for lane in range(LANES)})


class _Play:
    """Rows of all lanes; that after the end of an episode begins the next one of its lane.

    Args:
      batch: the recorder.
      are_apart: whether begins, rows and ends are recorded by calls of their own, without a log.

    Attributes:
      is_apart: whether the last row was given to these calls.
      logged: the number of rows that a log has taken.
    """

    STEPS: Final = {0: 2, 1: 3, 2: 100}

    def __init__(self, batch: BatchRecorder, *, are_apart: bool = False) -> None:
        self.batch, self._are_apart = batch, are_apart
        self._log: RowLog | None = None
        self._keys = dict[bool, RowKeys]()
        self._count = self.logged = 0
        self.is_apart = False

    def scripted(self, row: int) -> None:
        """A row with which episodes end that have `STEPS[lane]` rows if no row is missing."""
        ends = np.array([row % steps == steps - 1 for steps in self.STEPS.values()])
        self.row(row, ends & np.array([True, False, True]), ends & np.array([True, True, False]))

    def row(self, row: int, terminated: np.ndarray, truncated: np.ndarray, some: np.ndarray | None = None) -> None:
        """A row; its info has a number in lanes where `some` is true."""
        own, values, leaves = _plain_row(self.batch, row, terminated)
        masks: Masks = None
        if some is not None:
            (odd,) = self.batch.fields.leaves({"info": {"odd": 1}}, {})[0].keys
            values, masks = (values[0], np.full(LANES, row), values[1]), (None, some, None)
            leaves = BatchLeaves([*leaves.observed, BatchLeaf(odd, values[1], some)], leaves.acted)
            own = RowKeys((*own.observed, odd), own.acted)
        keys, self.is_apart = self._keys.setdefault(some is not None, own), False
        if self._log is not None and _append_logged(
            self.batch, self._log, keys, values, masks, (terminated, truncated)
        ):
            self.logged += 1
            return
        self.is_apart = True
        due = self.settle()
        if due.any():
            self.batch.start_later(due, _starts_at(self._count))
        self.batch.append(leaves)
        self._count += 1
        over = (terminated | truncated) & ~due
        for flags in ((True, False), (False, True), (True, True)):
            ended = over & (terminated == flags[0]) & (truncated == flags[1])
            if ended.any():
                ending = EpisodeEnd.TERMINATED if flags[0] else EpisodeEnd.TRUNCATED
                self.batch.end_where(ended, ending, terminated=flags[0], truncated=flags[1])
        self.is_apart = False
        if not self._are_apart:
            forms = [StepForm(None, each) for each in self._keys.values()]
            self._log = self.batch.open_log(over, forms, BEGIN, partial(_GivenAt, first=self._count))

    def settle(self) -> np.ndarray:
        """Takes over what the log has; returns in which lanes an episode begins with the next row."""
        due = ~np.array([self.batch.is_open(lane) for lane in range(LANES)])
        if self._log is not None:
            self._count += self._log.rows
            self._log = None
        return due


_Content = list[tuple[Any, ...]]


def _content(directory: Path) -> _Content:
    """All that is known of each episode: where it began, its rows, its end and its flags."""
    found = []
    for each in rlds_kit.open(directory).episodes:
        steps = list(each.steps)
        assert {int(step["observation"][1]) for step in steps} == {each.metadata["lane"]}
        rows = [
            (int(step["observation"][0]), step.get("reward"), step.get("discount"), step.get("info")) for step in steps
        ]
        assert [reward for _, reward, _, _ in rows[:-1]] == [row / 2 for row, _, _, _ in rows[1:]]
        found.append((each.metadata["lane"], each.metadata["place"], rows, each.end, each.terminated, each.truncated))
    return sorted(found, key=lambda episode: episode[:2])


def _as_open(episodes: _Content) -> _Content:
    """Without ends: which an episode has is not known if it was recorded after its last row, by another call."""
    return [episode[:3] for episode in episodes]


@needs_logs
@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("block_rows", [3, 64])
@pytest.mark.parametrize("first", [1, 2, 3, 4])
@pytest.mark.parametrize("has_ends", [False, True])
def test_an_interrupted_row_of_a_log_is_there_with_its_begins_and_ends_or_not(
    tmp_path: Path, handler: str, block_rows: int, first: int, *, has_ends: bool
) -> None:
    """Wherever Ctrl-C or a handler that flushes or closes strikes, for all lanes alike, and never twice.

    The rows after it are recorded, and the episodes that begin and end with them.
    """

    def played(directory: Path, rows: list[int], *, number: int = -1) -> tuple[list[str], _Play, BaseException | None]:
        """Records rows; a signal strikes in the one numbered `first`, and if the log took it, others follow."""
        policy, raised, struck = FlushPolicy(block_rows=block_rows, interval=None), None, list[str]()
        none = np.zeros(LANES, np.bool_)
        with Recorder(directory, DECLARED, policy=policy) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=number < 0)
            for row in rows:
                with interrupt_at(number if row == first else 1 << 60, _handlers(recorder)[handler]) as now:
                    try:
                        if has_ends:
                            play.scripted(row)
                        else:
                            play.row(row, none, none)
                    except (KeyboardInterrupt, RecordingError) as error:
                        raised = error
                struck += now
                if struck and (handler == "close" or (raised and play.is_apart)):
                    break
        return struck, play, raised

    before, after = [*range(first)], [*range(first + 1, first + 5)]
    expected: dict[str, _Content] = {}
    for name, rows in {
        "with": [*before, first, *after],
        "without": [*before, *after],
        "last with": [*before, first],
        "last without": before,
    }.items():
        played(tmp_path / name, rows)
        expected[name] = _content(tmp_path / name)
    number, struck = 0, ["begin"]
    while struck:
        directory = tmp_path / str(number)
        struck, play, raised = played(directory, [*before, first, *after], number=number)
        found, kind = _content(directory), ""
        if struck and (handler == "close" or (raised and play.is_apart)):
            kind = "last "
            found = _as_open(found)
        names = [f"{kind}with", f"{kind}without"][: 1 + (raised is not None)]
        assert found in [_as_open(expected[name]) if kind else expected[name] for name in names], (number, struck)
        assert play.logged or struck
        number += 1
    assert number > 20


@needs_logs
@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handler", ["ctrl-c", "flush"])
def test_no_row_is_lost_after_an_interrupted_end_of_a_log(tmp_path: Path, handler: str) -> None:
    """Wherever Ctrl-C or a handler that flushes strikes in a call that takes over the rows of a log, which go on."""
    number, struck = -1, ["begin"]
    while struck:
        directory = tmp_path / str(number)
        with Recorder(directory, DECLARED, policy=FlushPolicy.manual()) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=number < 0)
            for row in range(8):
                if row == 4 and number >= 0:
                    with interrupt_at(number, _handlers(recorder)[handler]) as struck, suppress(KeyboardInterrupt):
                        play.batch.is_open(0)
                play.scripted(row)
        assert _content(directory) == _content(tmp_path / "-1"), (number, struck)
        number += 1
    assert number > 5


def _begun(recorder: Recorder) -> BatchRecorder:
    """A recorder of lanes with open episodes."""
    batch = recorder.start_batch(LANES)
    batch.start_later(np.ones(LANES, np.bool_), _starts_at(0))
    return batch


NONE: Final = np.zeros(LANES, np.bool_)


def _log_of(batch: BatchRecorder, after_end: int = BEGIN, keys: RowKeys | None = None) -> RowLog | None:
    form = _form(batch) if keys is None else StepForm(None, keys)
    return batch.open_log(NONE, [form], after_end, partial(_GivenAt, first=1))


def _form(batch: BatchRecorder) -> StepForm:
    return StepForm(None, _plain_row(batch, 0)[0])


def _logged(batch: BatchRecorder, after_end: int = BEGIN) -> RowLog:
    found = _log_of(batch, after_end)
    assert found is not None
    return found


@needs_logs
def test_rows_of_a_log(tmp_path: Path) -> None:
    """Are added to known columns of a buffer; nothing is added where there are none, or a value has another form."""
    flags = NONE, NONE
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
        batch = _begun(recorder)
        assert _log_of(batch) is None
        keys, values, leaves = _plain_row(batch, 0)
        batch.append(leaves)
        log = _logged(batch)
        added, nbytes = [], batch.waiting_bytes
        (odd,) = batch.fields.leaves({"info": {"odd": 1}}, {})[0].keys
        unknown = RowKeys((*keys.observed, odd), keys.acted)
        for _ in range(2):  # the second time, it is known that there is no such column
            assert not _append_logged(batch, log, unknown, (values[0], np.zeros(LANES, int), values[1]), None, flags)
        for row in range(1, 12):
            _, values, leaves = _plain_row(batch, row)
            added.append(_append_logged(batch, log, keys, values, None, flags))
            if not added[-1]:
                batch.append(leaves)
                log = _logged(batch)
            assert batch.waiting_bytes == nbytes * (row % 4 + 1)
        assert not _append_logged(batch, log, keys, (values[0].astype(np.float64), values[1]), None, flags)
    assert added == [True, True, True, False] * 2 + [True, True, True]
    assert _read_plain(tmp_path) == {lane: [*range(12)] for lane in range(LANES)}


@needs_logs
@pytest.mark.parametrize("deed", ["flush", "cut", "ids", "is_open", "end", "append", "another log", "close"])
def test_a_log_takes_no_row_after_anything_else_was_done(tmp_path: Path, deed: str) -> None:
    """It would be lost; the rows before are recorded, and those that follow in another log."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = _begun(recorder)
        keys, values, leaves = _plain_row(batch, 0)
        batch.append(leaves)
        log = _logged(batch)
        assert _append_logged(batch, log, keys, _plain_row(batch, 1)[1], None, (NONE, NONE))
        match deed:
            case "flush":
                recorder.flush()
            case "cut":
                with batch._intake.lock:
                    batch.cut()
            case "ids":
                assert len(recorder.durable) == LANES
            case "is_open":
                assert batch.is_open(0)
            case "end":
                batch.end([], EpisodeEnd.TERMINATED)
            case "append":
                batch.append(_plain_row(batch, 2)[2])
            case "another log":
                assert _logged(batch) is not log
            case "close":
                recorder.close()
        assert not _append_logged(batch, log, keys, values, None, (NONE, NONE))
        rows = [0, 1, 2] if deed == "append" else [0, 1]
        if deed != "close":
            batch.append(_plain_row(batch, len(rows))[2])
            assert _append_logged(batch, _logged(batch), keys, _plain_row(batch, len(rows) + 1)[1], None, (NONE, NONE))
            rows += [len(rows), len(rows) + 1]
    assert _read_plain(tmp_path) == dict.fromkeys(range(LANES), rows)


@needs_logs
@pytest.mark.parametrize(
    "policy", [FlushPolicy(block_rows=4, interval=None), FlushPolicy.manual(), FlushPolicy.every_episode()]
)
def test_rows_with_which_episodes_begin_and_end(tmp_path: Path, policy: FlushPolicy) -> None:
    """Are the same as rows before and after which they begin and end; what ends is durable if the policy says so."""
    for name in ("together", "apart"):
        with Recorder(tmp_path / name, DECLARED, policy=policy) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=name == "apart")
            for row in range(13):
                play.scripted(row)
                if policy.each_episode and row in (1, 2, 3, 5):
                    assert sum(len(each) for each in rlds_kit.open(tmp_path / name).episodes) >= row + 1
            # After each flush there is no buffer; here, each row that follows has ends, or no buffer.
            assert (play.logged > 3) == (name == "together" and not policy.each_episode)
    found = _content(tmp_path / "together")
    assert found == _content(tmp_path / "apart")
    of_lanes = [[[row for row, *_ in rows] for lane, _, rows, *_ in found if lane == chosen] for chosen in range(LANES)]
    assert of_lanes[0] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]]
    assert of_lanes[1] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12]]
    assert of_lanes[2] == [[*range(13)]]
    ends = [(lane, end, *flags) for lane, _, rows, end, *flags in found if rows[-1][0] < 12]
    assert {*ends} == {(0, EpisodeEnd.TERMINATED, True, True), (1, EpisodeEnd.TRUNCATED, False, True)}
    assert {rows[-2][2] for lane, _, rows, *_ in found if lane == 0 and rows[-1][0] < 12} == {0.0}
    assert {rows[-2][2] for lane, _, rows, *_ in found if lane == 1 and rows[-1][0] < 12} == {1.0}


_DEEDS: Final = st.one_of(
    st.tuples(st.just("row"), st.integers(0, 7), st.integers(0, 7), st.none() | st.integers(0, 7)),
    st.tuples(st.just("row"), st.just(0), st.just(0), st.none()),
    st.tuples(st.sampled_from(("flush", "durable", "ids", "cut")), st.just(0), st.just(0), st.none()),
    st.tuples(st.just("interrupt"), st.integers(1, 7), st.just(0), st.none()),
)


def _bits(number: int) -> np.ndarray:
    return np.array([bool(number & 1 << lane) for lane in range(LANES)])


@given(deeds=st.lists(_DEEDS, max_size=30), block_rows=st.sampled_from([None, 4]), each_episode=st.booleans())
def test_a_log_records_what_other_calls_record(
    tmp_path_factory: pytest.TempPathFactory,
    deeds: list[tuple[str, int, int, int | None]],
    block_rows: int | None,
    each_episode: bool,
) -> None:
    """Rows with and without infos, ends of each kind and the begins after them, whatever is done in between."""
    home, seen = tmp_path_factory.mktemp("log"), dict[str, list[Any]]()
    for name in ("log", "apart"):
        policy = FlushPolicy(block_rows=block_rows, interval=None, each_episode=each_episode)
        ids, notes = set[bytes](), seen.setdefault(name, [])
        with Recorder(home / name, DECLARED, policy=policy) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=name == "apart")
            batch, row = play.batch, 0
            for deed, one, other, some in deeds:
                match deed:
                    case "row":
                        play.row(row, _bits(one), _bits(other), None if some is None else _bits(some))
                        row += 1
                    case "flush":
                        recorder.flush()
                        notes.append(sorted(recorder.durable.values()))
                    case "durable":
                        assert len(recorder.durable) == sum(batch.is_open(lane) for lane in range(LANES))
                    case "ids":
                        with batch._intake.lock:
                            now = batch.ids
                            assert now == batch.ids
                        assert len({*now}) == sum(batch.is_open(lane) for lane in range(LANES))
                        ids |= {*now}
                    case "cut":
                        with batch._intake.lock:
                            batch.cut()
                    case "interrupt":
                        batch.end_where(_bits(one) & ~play.settle(), EpisodeEnd.INTERRUPTED)
        assert ids <= {episode.id.bytes for episode in rlds_kit.open(home / name).episodes}
    assert seen["log"] == seen["apart"]
    np.testing.assert_equal(_content(home / "log"), _content(home / "apart"))


@needs_logs
def test_a_log_is_of_lanes_that_have_an_episode_or_begin_one(tmp_path: Path) -> None:
    """None begins within another one: the caller must begin it by itself, which ends the other one as INTERRUPTED."""
    some, every = np.array([True, False, False]), np.ones(LANES, np.bool_)
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        play = _Play(batch := recorder.start_batch(LANES))
        play.scripted(0)
        play.row(1, some, NONE)
        play.settle()
        keys, values, _ = _plain_row(batch, 2)
        for due in (every, NONE, ~some):
            assert batch.open_log(due, [_form(batch)], BEGIN, partial(_GivenAt, first=2)) is None
        log = batch.open_log(some, [_form(batch)], BEGIN, partial(_GivenAt, first=2))
        assert log is not None
        assert _append_logged(batch, log, keys, values, None, (NONE, NONE))
        batch.start_later(every, _starts_at(3))
        batch.append(_plain_row(batch, 3)[2])
    assert [(lane, place, [row for row, *_ in rows], end) for lane, place, rows, end, *_ in _content(tmp_path)] == [
        (0, 0, [0, 1], EpisodeEnd.TERMINATED),
        (0, 2, [2], EpisodeEnd.INTERRUPTED),
        (0, 3, [3], EpisodeEnd.INTERRUPTED),
        *((lane, 0, [0, 1, 2], EpisodeEnd.INTERRUPTED) for lane in (1,)),
        (1, 3, [3], EpisodeEnd.INTERRUPTED),
        (2, 0, [0, 1, 2], EpisodeEnd.INTERRUPTED),
        (2, 3, [3], EpisodeEnd.INTERRUPTED),
    ]


@needs_logs
@pytest.mark.parametrize(("after_end", "is_added"), [(REFUSE, False), (CLOSE, True)])
def test_rows_with_ends_that_no_autoreset_follows(tmp_path: Path, after_end: int, is_added: bool) -> None:
    """Such a row is not added; or it is the last one, and its episodes have ended."""
    over = np.array([False, True, False])
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = _begun(recorder)
        keys, _, leaves = _plain_row(batch, 0)
        batch.append(leaves)
        log = _logged(batch, after_end)
        assert _append_logged(batch, log, keys, _plain_row(batch, 1)[1], None, (NONE, NONE))
        waiting = batch.waiting_bytes
        assert _append_logged(batch, log, keys, _plain_row(batch, 2)[1], None, (NONE, over)) == is_added
        assert (batch.waiting_bytes > waiting) == is_added
        assert _append_logged(batch, log, keys, _plain_row(batch, 3)[1], None, (NONE, NONE)) != is_added
        assert [batch.is_open(lane) for lane in range(LANES)] == [True, not is_added, True]
    rows = [0, 1, 2] if is_added else [0, 1, 3]
    assert _read_plain(tmp_path) == dict.fromkeys(range(LANES), rows)
    ended = [EpisodeEnd.TRUNCATED if flag and is_added else EpisodeEnd.INTERRUPTED for flag in over]
    assert [end for *_, end, _, _ in _content(tmp_path)] == ended


@needs_logs
@pytest.mark.parametrize("deed", ["_flush", "_free_memory"])
def test_rows_of_a_log_count_towards_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str) -> None:
    """Memory is freed, or a sync requested, after the same row as without a log."""
    rows_done, now, do = dict[str, list[int]](), [0], getattr(Intake, deed)

    def noted(self: Intake) -> None:
        rows_done[name].append(now[0])
        do(self)

    monkeypatch.setattr(Intake, deed, noted)
    policy = FlushPolicy.bytes(1000) if deed == "_flush" else FlushPolicy.manual()
    for name in ("log", "apart"):
        rows_done[name] = []
        with Recorder(tmp_path / name, DECLARED, policy=policy, memory_limit=1 << 20) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=name == "apart")
            recorder._intake.memory_limit = 4000 if deed == "_free_memory" else 1 << 20  # the buffer has room for more
            for now[0] in range(40):
                play.row(now[0], NONE, NONE)
                if rows_done[name] and deed == "_free_memory":
                    break  # later ones depend on how fast the writer thread is
            assert (play.logged > 5) == (name == "log")
        del rows_done[name][4:]  # the last one is that of closing
    assert rows_done["log"] == rows_done["apart"]
    assert rows_done["log"][0] > 5


@needs_logs
def test_lost_rows_of_a_log_are_counted(tmp_path: Path) -> None:
    """In the error that says why recording has stopped."""
    recorder = Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual())
    play = _Play(recorder.start_batch(LANES))
    for row in range(4):
        play.row(row, NONE, NONE)
    assert play.logged == 3
    recorder._intake._thread._fail(OSError("no space"))
    for _ in range(2):
        with pytest.raises(RecordingError, match=f"no space. 0 steps are stored and {4 * LANES} are lost"):
            recorder.check()
    with pytest.raises(RecordingError, match="no space"):
        recorder.close()


@needs_logs
def test_an_interrupted_row_leaves_no_value_to_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor to those of a log, without an info that the interrupted row had."""
    commit, raises = BatchRecorder._commit, list[bool]()

    def interrupted(self: BatchRecorder, *given: Any) -> bool:
        if raises:
            raise KeyboardInterrupt
        return commit(self, *given)

    monkeypatch.setattr(BatchRecorder, "_commit", interrupted)
    some, found = np.array([True, False, True]), dict[int, list[bool]]()
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        play = _Play(batch := recorder.start_batch(LANES))
        for row in range(3):
            play.row(row, NONE, NONE, some if row else None)
        play.settle()
        raises.append(True)
        with pytest.raises(KeyboardInterrupt):
            play.row(3, NONE, NONE, some)
        raises.clear()
        keys, values, leaves = _plain_row(batch, 3)
        log = _log_of(batch)
        if log is None or not _append_logged(batch, log, keys, values, None, (NONE, NONE)):
            batch.append(leaves)
            log = _logged(batch)
        for row in (4, 5):
            assert _append_logged(batch, log, keys, _plain_row(batch, row)[1], None, (NONE, NONE))
    for episode in rlds_kit.open(tmp_path).episodes:
        found[episode.metadata["lane"]] = ["odd" in step.get("info", {}) for step in episode.steps]
    assert found == {lane: [False, bool(some[lane]), bool(some[lane]), *[False] * 3] for lane in range(LANES)}
    assert play.logged == 1


def test_episodes_end_after_an_interrupted_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it was the first one of a buffer, which has no rows then."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        play = _Play(batch := recorder.start_batch(LANES))
        play.row(0, NONE, NONE)
        recorder.flush()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(BatchRecorder, "_commit", _interrupt)
            play.row(1, NONE, NONE)
        batch.end_where(np.array([True, False, True]), EpisodeEnd.TERMINATED, terminated=True)
        recorder.flush()
        play.row(1, NONE, NONE)
    assert _read_plain(tmp_path) == {0: [1], 1: [0, 1], 2: [1]}
    assert len(rlds_kit.open(tmp_path).episodes) == 5


def _interrupt(*_: object) -> bool:
    raise KeyboardInterrupt


def test_the_memory_of_a_buffer_is_free_when_all_of_its_rows_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, also if an episode has ended that has no row in it."""
    released = list[BatchBuffer]()

    def release(self: BatchBuffer) -> None:
        released.append(self)

    monkeypatch.setattr(BatchBuffer, "release", release)
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        for row in range(3):
            batch.append(_plain_row(batch, row)[2], np.array([0, 2]) if row else None)
            if row == 1:
                batch.end([1], EpisodeEnd.TERMINATED)
            recorder.flush()
            assert len(released) == row + 1
    assert _read_plain(tmp_path) == {0: [0, 1, 2], 1: [0], 2: [0, 1, 2]}


@needs_logs
def test_a_later_buffer_has_room_for_as_many_rows_as_its_first_row_allows(tmp_path: Path) -> None:
    """The first row of episodes is light, as it has no action."""
    spec = specs.Dict({"observation": specs.Array((), np.float32), "action": specs.Array((9000,), np.float32)})
    with Recorder(tmp_path, spec, policy=FlushPolicy.manual(), memory_limit=20 << 20) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message() for lane in range(LANES)})
        values = np.zeros(LANES, np.float32), np.zeros((LANES, 9000), np.float32)
        observed, acted = batch.fields.leaves({"observation": values[0][0]}, {"action": values[1][0], "discount": 1.0})
        keys = RowKeys(tuple(observed.keys), tuple(acted.keys))
        arrays: list[np.ndarray] = [*values, np.ones(LANES)]
        leaves = [BatchLeaf(key, each) for key, each in zip((*keys.observed, *keys.acted), arrays, strict=True)]
        batch.append(BatchLeaves(leaves[:1]))
        for _ in range(2):
            recorder.flush()
            assert _log_of(batch, keys=keys) is None
            batch.append(BatchLeaves(leaves[:1], leaves[1:]))
        log = _log_of(batch, keys=keys)
        assert log is not None
        assert _append_logged(batch, log, keys, values, None, (NONE, NONE))
        buffer = batch._state.buffer
        assert buffer is not None
        assert buffer.capacity * LANES * 36_012 * 3 <= 20 << 20


@given(deeds=st.lists(st.tuples(st.sampled_from(("start", "end", "row", "flush")), st.integers(1, 7)), max_size=20))
def test_the_ids_of_open_episodes(tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, int]]) -> None:
    """Those that were started last and have not ended, whatever was written meanwhile."""
    expected = dict[int, bytes]()
    with Recorder(tmp_path_factory.mktemp("ids"), DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        for row, (deed, chosen) in enumerate(deeds):
            lanes = [lane for lane in range(LANES) if chosen & 1 << lane]
            match deed:
                case "start":
                    starts = {lane: start_message() for lane in lanes}
                    batch.start(starts)
                    expected |= {lane: start.episode_id for lane, start in starts.items()}
                case "end":
                    ended = [lane for lane in lanes if expected.pop(lane, None)]
                    batch.end(ended, EpisodeEnd.TERMINATED)
                case "row" if expected:
                    batch.append(_plain_row(batch, row)[2], np.array(sorted(expected)))
                case "flush":
                    batch._intake.flush()
                    episodes = batch._state.episodes.values()
                    assert all((each.starts is None) == bool(each.rows) for each in episodes)
            assert sorted(batch.ids) == sorted(expected.values())


def test_an_end_without_further_rows_waits_to_be_written(tmp_path: Path) -> None:
    """As a row does: the writer thread writes what has waited for an interval."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message() for lane in range(LANES)})
        batch.append(_plain_row(batch, 0)[2])
        recorder.flush()
        assert batch.oldest is None
        batch.end([1], EpisodeEnd.TERMINATED)
        assert batch.oldest is not None


def test_an_episode_that_waits_to_be_written_is_few_objects(tmp_path: Path) -> None:
    """Python's garbage collector looks at each of them, at the cost of the program that plays."""

    def objects_after(episodes: int) -> int:
        for _ in range(episodes):
            batch.start({lane: start_message() for lane in range(LANES)})
            batch.append(leaves)
            batch.end(range(LANES), EpisodeEnd.TERMINATED)
        gc.collect()
        return len(gc.get_objects())

    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        leaves = _leaves(batch, 0)
        before = objects_after(1)
        assert objects_after(10) - before < 10 * LANES * 2.5


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("deed", ["end", "start"])
def test_an_interrupted_end_or_start_loses_no_row(tmp_path: Path, rows: int, deed: str) -> None:
    """Each episode has all of its rows, and those of the other lanes are unchanged."""
    number, struck = 0, ["begin"]
    while struck:
        directory = tmp_path / str(number)
        with Recorder(directory, DECLARED, policy=FlushPolicy(block_rows=2, interval=None)) as recorder:
            batch = recorder.start_batch(LANES)
            starts = [_start(batch, lane) for lane in range(LANES)]
            for row in range(rows):
                batch.append(_leaves(batch, row))
            new = start_message(metadata={"lane": 1})
            with interrupt_at(number) as struck:
                try:
                    if deed == "end":
                        batch.end([1], EpisodeEnd.TERMINATED)
                    else:
                        batch.start({1: new})
                except KeyboardInterrupt:
                    assert struck
            if batch.is_open(1):
                batch.end([1], EpisodeEnd.TERMINATED)
            batch.append(_leaves(batch, rows), np.array([0, 2]))
            batch.end([0, 2], EpisodeEnd.TRUNCATED)
        read = {episode.id: episode for episode in rlds_kit.open(directory).episodes}
        assert {key: episode.length for key, episode in read.items()} == {
            uuid.UUID(bytes=start.episode_id): rows + (lane != 1) for lane, start in enumerate(starts)
        }
        ends = [read[uuid.UUID(bytes=start.episode_id)].end for start in starts]
        assert ends[::2] == [EpisodeEnd.TRUNCATED] * 2
        assert ends[1] in (
            (EpisodeEnd.TERMINATED,) if deed == "end" else (EpisodeEnd.TERMINATED, EpisodeEnd.INTERRUPTED)
        )
        assert _read(directory) == _of_lanes({lane: [*range(rows + (lane != 1))] for lane in range(LANES)})
        number += 1
    assert number > 5


@pytest.mark.parametrize(
    ("policy", "durable"),
    [
        (FlushPolicy.every_step(), [1, 2, 3, 4, 5]),
        (FlushPolicy.manual(), [0, 0, 0, 0, 0]),
        (FlushPolicy(interval=None, each_bytes=200), [0, 2, 2, 4, 4]),
    ],
)
def test_policies(tmp_path: Path, policy: FlushPolicy, durable: list[int]) -> None:
    """A step of all environments is durable when `append` returns, never, or after so many bytes."""
    found = []
    with Recorder(tmp_path, DECLARED, policy=policy) as recorder:
        batch = recorder.start_batch(LANES)
        for lane in range(LANES):
            _start(batch, lane)
        for row in range(5):
            batch.append(_leaves(batch, row))
            assert len(set(recorder.durable.values())) == 1
            found.append(next(iter(recorder.durable.values())))
    assert found == durable


def test_every_episode_is_durable(tmp_path: Path) -> None:
    """With `every_episode`, the episodes that have ended can be read when `end` returns."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.every_episode()) as recorder:
        batch = recorder.start_batch(LANES)
        for lane in range(LANES):
            _start(batch, lane)
        batch.append(_leaves(batch, 0))
        batch.end([0, 2], EpisodeEnd.TRUNCATED)
        ended = [e.metadata["lane"] for e in rlds_kit.open(tmp_path, include_open=True).episodes if e.end]
    assert sorted(ended) == [0, 2]


def test_memory_is_limited(tmp_path: Path) -> None:
    """Buffers are cut, and the caller waits, before more than the limit waits in memory."""
    with Recorder(tmp_path, DECLARED, memory_limit=100_000, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        for lane in range(LANES):
            _start(batch, lane)
        most = 0
        for row in range(3000):
            batch.append(_leaves(batch, row))
            most = max(most, batch.waiting_bytes)
    assert 10_000 < most <= 100_000
    assert [episode.length for episode in rlds_kit.open(tmp_path).episodes] == [3000] * LANES


def test_unusual_order(tmp_path: Path) -> None:
    """Steps of no lane, ends of a lane that has no episode, two starts, and an episode without rows."""
    with Recorder(tmp_path, DECLARED) as recorder:
        batch = recorder.start_batch(LANES)
        with pytest.raises(RecordingError, match="environment 1 has no open episode"):
            batch.end([1], EpisodeEnd.TERMINATED)
        first, second = _start(batch, 1), _start(batch, 1)
        batch.append(_leaves(batch, 0), np.array([], np.int64))
        assert recorder.durable.keys() == {uuid.UUID(bytes=second.episode_id)}
        batch.append(_leaves(batch, 0), np.array([1]))
        batch.end([1], EpisodeEnd.TERMINATED)
        assert not batch.is_open(1)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert (episode.id.bytes, episode.length) == (second.episode_id, 1)
    assert first.episode_id != second.episode_id
    with pytest.raises(RecordingError, match="the recorder is closed"):
        batch.append(_leaves(batch, 0))


def test_an_episode_without_rows_is_not_recorded(tmp_path: Path) -> None:
    """Whether others have rows or not."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        for has_rows in (False, True):
            batch.start({lane: start_message() for lane in range(LANES)})
            if has_rows:
                batch.append(_leaves(batch, 0), np.array([1]))
            batch.end([*range(LANES)], EpisodeEnd.TERMINATED)
            recorder.flush()
    assert [len(episode) for episode in rlds_kit.open(tmp_path).episodes] == [1]
