"""Rows of environments that step together: policies, memory, interrupts, and use in an order that is not usual."""

import gc
import os
import signal
import uuid
from collections.abc import Callable
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
from rlds_kit.storage.batch_jobs import GivenStarts
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves, RowKeys
from rlds_kit.storage.batch_recorder import BatchRecorder, end_of
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.storage.interrupting import interrupt_at

LANES: Final = 3
DECLARED: Final = specs.Dict({"observation": specs.Array((2,), np.float32), "reward": specs.Array((), np.float64)})
Rows = dict[int, list[Any]]


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


def _plain_row(batch: BatchRecorder, row: int) -> tuple[RowKeys, tuple[Any, ...], BatchLeaves]:
    """A row of all lanes that can be added again."""
    observed, acted = batch.fields.leaves({"observation": np.zeros(2, np.float32)}, {"reward": 0.0})
    lanes = np.arange(LANES, dtype=np.float32)
    values = np.stack([np.full_like(lanes, row), lanes], axis=1), np.full(LANES, row / 2)
    leaves = [BatchLeaf(key, each) for key, each in zip((*observed.keys, *acted.keys), values, strict=True)]
    return RowKeys(tuple(observed.keys), tuple(acted.keys)), values, BatchLeaves(leaves[:1], leaves[1:])


def _read_plain(directory: Path) -> Rows:
    """The first numbers of the observations of each lane; those of another lane are no rows of this one."""
    found: Rows = {}
    for episode in rlds_kit.open(directory).episodes:
        observations = np.array([step["observation"] for step in episode.steps])
        lane = episode.metadata["lane"]
        assert (observations[:, 1] == lane).all()
        assert [step["reward"] for step in list(episode.steps)[:-1]] == (observations[1:, 0] / 2).tolist()
        found[lane] = observations[:, 0].astype(int).tolist()
    return found


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("block_rows", [2, 64])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_interrupted_row_like_earlier_ones_is_there_or_not(
    tmp_path: Path, handler: str, block_rows: int, first: int
) -> None:
    """Wherever Ctrl-C or a handler that flushes or closes strikes, for all lanes alike; it is never there twice."""
    number, struck = 0, ["begin"]
    while struck:
        directory = tmp_path / str(number)
        policy = FlushPolicy(block_rows=block_rows, interval=None)
        with Recorder(directory, DECLARED, policy=policy) as recorder:
            batch = recorder.start_batch(LANES)
            batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
            keys, _, leaves = _plain_row(batch, 0)
            batch.append(leaves)
            for row in range(1, first):
                _add_plain(batch, keys, row)
            raised = None
            with interrupt_at(number, _handlers(recorder)[handler]) as struck:
                try:
                    _add_plain(batch, keys, first)
                except (KeyboardInterrupt, RecordingError) as error:
                    raised = error
            after = range(first + 1, first + 4) if handler != "close" or not struck else ()
            for row in after:
                _add_plain(batch, keys, row)
        with_it, without = [*range(first + 1), *after], [*range(first), *after]
        candidates = [with_it] if raised is None else [with_it, without]
        assert _read_plain(directory) in [dict.fromkeys(range(LANES), each) for each in candidates], (number, struck)
        number += 1
    assert number > 20


def _add_plain(batch: BatchRecorder, keys: RowKeys, row: int) -> None:
    _, values, leaves = _plain_row(batch, row)
    if not batch.append_again(keys, values):
        batch.append(leaves)


def test_rows_like_earlier_ones(tmp_path: Path) -> None:
    """Are added to known columns of a buffer; nothing is added where there are none, or a value has another form."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        keys, values, leaves = _plain_row(batch, 0)
        assert not batch.append_again(keys, values)
        batch.append(leaves)
        added, nbytes = [], batch.waiting_bytes
        for row in range(1, 12):
            _, values, leaves = _plain_row(batch, row)
            added.append(batch.append_again(keys, values))
            assert batch.waiting_bytes == nbytes * (row % 4 + 1) or not added[-1]
            if not added[-1]:
                batch.append(leaves)
        assert not batch.append_again(keys, (values[0].astype(np.float64), values[1]))
    assert added == [True, True, True, False] * 2 + [True, True, True]
    assert _read_plain(tmp_path) == {lane: [*range(12)] for lane in range(LANES)}


class _Play:
    """Rows like earlier ones, with episodes of `STEPS[lane]` rows: the next row begins the next episode."""

    STEPS: Final = {0: 2, 1: 3, 2: 100}

    def __init__(self, batch: BatchRecorder, *, are_apart: bool = False) -> None:
        self._batch, self._are_apart = batch, are_apart
        batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        self._keys, _, leaves = _plain_row(batch, 0)
        batch.append(leaves)

    def row(self, row: int) -> None:
        starts = GivenStarts({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        begins = np.array([row % steps == 0 for steps in self.STEPS.values()])
        ends = np.array([row % steps == steps - 1 for steps in self.STEPS.values()])
        end = end_of(EpisodeEnd.TERMINATED, terminated=True, truncated=False)
        _, values, leaves = _plain_row(self._batch, row)
        if not self._are_apart and self._batch.append_again(
            self._keys,
            values,
            begins=(begins, starts) if begins.any() else None,
            ends=(ends, ~ends, end) if ends.any() else None,
        ):
            return
        if begins.any():
            self._batch.start_later(begins, starts)
        self._batch.append(leaves)
        if ends.any():
            self._batch.end_where(ends, EpisodeEnd.TERMINATED, terminated=True)


def _episodes_of(directory: Path) -> list[tuple[int, list[int], EpisodeEnd | None]]:
    """Lane, rows and end of each episode."""
    return sorted(
        (each.metadata["lane"], [int(step["observation"][0]) for step in each.steps], each.end)
        for each in rlds_kit.open(directory).episodes
    )


@pytest.mark.parametrize(
    "policy", [FlushPolicy(block_rows=4, interval=None), FlushPolicy.manual(), FlushPolicy.every_episode()]
)
def test_rows_with_which_episodes_begin_and_end(tmp_path: Path, policy: FlushPolicy) -> None:
    """Are the same as rows before and after which they begin and end; what ends is durable if the policy says so."""
    for name in ("together", "apart"):
        with Recorder(tmp_path / name, DECLARED, policy=policy) as recorder:
            play = _Play(recorder.start_batch(LANES), are_apart=name == "apart")
            for row in range(1, 13):
                play.row(row)
                if policy.each_episode and row in (1, 2, 3, 5):
                    assert sum(len(each) for each in rlds_kit.open(tmp_path / name).episodes) >= row + 1
    found = _episodes_of(tmp_path / "together")
    assert found == _episodes_of(tmp_path / "apart")
    assert [rows for lane, rows, _ in found if lane == 1] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12]]
    assert {end for _, rows, end in found if rows[-1] < 12} == {EpisodeEnd.TERMINATED}


def test_an_episode_does_not_begin_within_another_one(tmp_path: Path) -> None:
    """The caller must begin it by itself, which ends the other one as INTERRUPTED."""
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        play, every = _Play(batch := recorder.start_batch(LANES)), np.ones(LANES, np.bool_)
        play.row(1)
        keys, values, leaves = _plain_row(batch, 2)
        starts = GivenStarts({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        assert not batch.append_again(keys, values, begins=(every, starts))
        batch.start_later(every, starts)
        batch.append(leaves)
    ended = [(0, [0, 1], EpisodeEnd.TERMINATED), *((lane, [0, 1], EpisodeEnd.INTERRUPTED) for lane in (1, 2))]
    assert _episodes_of(tmp_path) == sorted([*ended, *((lane, [2], EpisodeEnd.INTERRUPTED) for lane in range(LANES))])


@pytest.mark.thorough
@pytest.mark.usefixtures("no_fsync")
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("block_rows", [3, 64])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_an_interrupted_row_is_there_with_its_begins_and_ends_or_not(
    tmp_path: Path, handler: str, block_rows: int, first: int
) -> None:
    """Wherever Ctrl-C or a handler that flushes or closes strikes."""

    def recorded(directory: Path, rows: list[int], *, number: int = -1) -> tuple[list[str], bool]:
        """Records rows, the last of them with a signal; returns what was interrupted, and whether by an error."""
        with Recorder(directory, DECLARED, policy=FlushPolicy(block_rows=block_rows, interval=None)) as recorder:
            play = _Play(recorder.start_batch(LANES))
            for row in rows[:-1]:
                play.row(row)
            with interrupt_at(number, _handlers(recorder)[handler]) as struck:
                try:
                    play.row(rows[-1])
                except (KeyboardInterrupt, RecordingError):
                    return struck, True
        return struck, False

    rows = [*range(1, first + 1)]
    for name, each in (("with", rows), ("without", rows[:-1])):
        with Recorder(tmp_path / name, DECLARED) as recorder:
            play = _Play(recorder.start_batch(LANES))
            for row in each:
                play.row(row)
    number, struck = 0, ["begin"]
    while struck:
        struck, is_raised = recorded(tmp_path / str(number), rows, number=number)
        found = _as_open(_episodes_of(tmp_path / str(number)))
        candidates = [_as_open(_episodes_of(tmp_path / name)) for name in ("with", "without")]
        assert found in (candidates if is_raised else candidates[:1]), (number, struck)
        number += 1
    assert number > 20


def _as_open(episodes: list[tuple[int, list[int], EpisodeEnd | None]]) -> list[tuple[int, list[int]]]:
    """Lane and rows: which end an episode has depends on whether a row of the next one began it."""
    return [(lane, rows) for lane, rows, _ in episodes]


def test_an_interrupted_row_leaves_no_value_to_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has the form of an earlier one, without an info that the interrupted row had."""
    swap, raises = BatchRecorder._swap, list[bool]()

    def interrupted(self: BatchRecorder, *states: Any) -> bool:
        if raises:
            raise KeyboardInterrupt
        return swap(self, *states)

    monkeypatch.setattr(BatchRecorder, "_swap", interrupted)
    some = np.array([True, False, True])
    with Recorder(tmp_path, DECLARED, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        plain, _, _ = _plain_row(batch, 0)
        (odd,) = set(batch.fields.leaves({"info": {"odd": 1}}, {})[0].keys)
        full = RowKeys((*plain.observed, odd), plain.acted)
        for row in range(6):
            _, (observation, reward), leaves = _plain_row(batch, row)
            values, masks = (observation, np.full(LANES, row), reward), (None, some, None)
            if row < 2:
                info = [BatchLeaf(odd, values[1], some)] if row else []
                batch.append(BatchLeaves([*leaves.observed, *info], leaves.acted))
                continue
            if row == 3:
                raises.append(True)
                with pytest.raises(KeyboardInterrupt):
                    batch.append_again(full, values, masks)
                raises.clear()
                assert batch.append_again(plain, (observation, reward))
            else:
                assert batch.append_again(full, values, masks)
    for episode in rlds_kit.open(tmp_path).episodes:
        flags = [False, True, True, False, True, True] if some[episode.metadata["lane"]] else [False] * 6
        assert ["odd" in step.get("info", {}) for step in episode.steps] == flags


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


def test_a_later_buffer_has_room_for_as_many_rows_as_its_first_row_allows(tmp_path: Path) -> None:
    """The first row of episodes is light, as it has no action."""
    spec = specs.Dict({"observation": specs.Array((), np.float32), "action": specs.Array((9000,), np.float32)})
    with Recorder(tmp_path, spec, policy=FlushPolicy.manual(), memory_limit=20 << 20) as recorder:
        batch = recorder.start_batch(LANES)
        batch.start({lane: start_message() for lane in range(LANES)})
        values = np.zeros(LANES, np.float32), np.zeros((LANES, 9000), np.float32)
        observed, acted = batch.fields.leaves({"observation": values[0][0]}, {"action": values[1][0]})
        leaves = [BatchLeaf(key, each) for key, each in zip((*observed.keys, *acted.keys), values, strict=True)]
        keys = RowKeys(tuple(observed.keys), tuple(acted.keys))
        batch.append(BatchLeaves(leaves[:1]))
        for _ in range(2):
            recorder.flush()
            if not batch.append_again(keys, values):
                batch.append(BatchLeaves(leaves[:1], leaves[1:]))
        assert batch.append_again(keys, values)
        buffer = batch._state.buffer
        assert buffer is not None
        assert buffer.capacity * LANES * 36_004 * 3 <= 20 << 20


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
