"""Rows that are given as arrays have the content of rows that are given one by one."""

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd, RecordingError, SpecError, UnsupportedTypeError
from rlds_kit import spec as specs
from rlds_kit.storage.array_rows import ArrayRows, value_at
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.storage import strategies

DECLARED = specs.Dict({"observation": specs.Array((2,), np.float32), "reward": specs.Array((), np.float64)})


@st.composite
def columns(draw: st.DrawFn, rows: int, depth: int = 2) -> Any:
    """Values of a field, one for each row: an array, a list, or a nest of these."""
    kind = draw(st.sampled_from(("array", "strided", "list", "dict", "tuple") if depth else ("array", "list")))
    if kind == "dict":
        inner = st.dictionaries(strategies.keys, columns(rows, depth - 1), min_size=1, max_size=3)
        return draw(inner)
    if kind == "tuple":
        return tuple(draw(st.lists(columns(rows, depth - 1), min_size=1, max_size=2)))
    if kind == "list":
        kinds: tuple[st.SearchStrategy[Any], ...] = (
            st.none(),
            st.booleans(),
            strategies.floats,
            strategies.text,
            st.just({}),
        )
        values = draw(st.sampled_from((strategies.values, *kinds)))
        return draw(st.lists(values, min_size=rows, max_size=rows))
    shape = draw(strategies.shapes)
    found = draw(strategies.array_like(draw(strategies.any_dtypes), (rows, *shape)))
    return found.repeat(2, axis=0)[::2] if kind == "strided" else found


@st.composite
def sides(draw: st.DrawFn, rows: int, names: st.SearchStrategy[str]) -> ArrayRows:
    """One side of rows, in which fields may begin late and end early."""
    found, begin = {}, {}
    for name in draw(st.sets(names, max_size=3)):
        first = draw(st.integers(0, max(rows - 1, 0)) | st.just(0))
        found[name] = draw(columns(draw(st.integers(0, rows - first) | st.just(rows - first))))
        begin[name] = first
    return ArrayRows(found, rows, begin)


def _row(side: ArrayRows, number: int) -> dict[str, Any]:
    names = [name for name in side.columns if number in side.range_of(name)]
    return {name: value_at(side.columns[name], number - side.begin.get(name, 0)) for name in names}


def _append(episode: EpisodeRecorder, observed: ArrayRows, acted: ArrayRows) -> None:
    done = iter(range(acted.length))
    for number in range(observed.length):
        episode.append(_row(observed, number), _row(acted, next(done)) if episode.rows else None)
    for number in done:
        episode.act(_row(acted, number))


def _content(directory: Path) -> tuple[bytes, list[dict[str, Any]], rlds_kit.EpisodeEnd | None]:
    (episode,) = rlds_kit.open(directory).episodes
    return episode.content_digest, list(episode.steps), episode.end


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_arrays_have_the_content_of_rows(data: st.DataObject) -> None:
    """Any nests, dtypes, lengths and blocks; also in several pieces with rows between them."""
    pieces = []
    for number, rows in enumerate(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))):
        observed = data.draw(sides(rows, strategies.names.map("o{}".format)))
        acted = data.draw(sides(rows - (number == 0), strategies.names.map("a{}".format)))
        pieces.append((observed, acted, data.draw(st.booleans())))
    lacks_final = data.draw(st.booleans())
    if lacks_final:
        observed, acted, is_rows = pieces[-1]
        rows = acted.length + 1
        pieces[-1] = (observed, data.draw(sides(rows, strategies.names.map("a{}".format))), is_rows)
    policy = data.draw(st.sampled_from([FlushPolicy(), FlushPolicy(block_rows=3), FlushPolicy(block_rows=1)]))
    with tempfile.TemporaryDirectory() as name:
        found = []
        for whole in (True, False):
            directory = Path(name) / str(whole)
            with Recorder(directory, policy=policy) as recorder:
                episode = recorder.start_episode()
                for observed, acted, is_rows in pieces:
                    if is_rows or not whole:
                        _append(episode, observed, acted)
                    else:
                        episode.extend(observed, acted)
                episode.end(EpisodeEnd.TRUNCATED)
            found.append(_content(directory)[0])
        assert found[0] == found[1]


def test_dicts_and_tuples_that_are_one_value(tmp_path: Path) -> None:
    """An undeclared tuple is recorded as a whole; only a dict that is empty is the empty dict."""
    observed = ArrayRows({"a": ([{}, {}],), "b": [{}, {}], "c": [{}, {1: 2}], "d": {"e": [{}, {}]}}, 2)
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        episode.extend(observed, ArrayRows({}, 1))
        episode.end(EpisodeEnd.TRUNCATED)
    first, last = ([step[name] for name in "abcd"] for step in rlds_kit.open(tmp_path).episodes[0].steps)
    assert (first, last) == ([({},), {}, {}, {"e": {}}], [({},), {}, {1: 2}, {"e": {}}])


def test_many_blocks_are_the_rows(tmp_path: Path) -> None:
    """Several blocks by bytes, and a field that only some rows have."""
    rng = np.random.default_rng(0)
    values = {"observation": rng.normal(size=(9000, 20)), "late": rng.normal(size=4000)}
    observed = ArrayRows(values, 9000, {"late": 4500})
    acted = ArrayRows({"action": rng.integers(9, size=8999), "name": [f"n{i % 7}" for i in range(5000)]}, 8999)
    for name, add in (("arrays", EpisodeRecorder.extend), ("rows", _append)):
        with Recorder(tmp_path / name) as recorder:
            episode = recorder.start_episode()
            add(episode, observed, acted)
            episode.end(EpisodeEnd.TERMINATED)
    assert _content(tmp_path / "arrays")[0] == _content(tmp_path / "rows")[0]
    read = rlds_kit.open(tmp_path / "arrays").episodes[0]
    assert read["observation"].tobytes() == observed.columns["observation"].tobytes()
    assert read.mask("late").tolist() == [4500 <= row < 8500 for row in range(9000)]


def test_values_that_are_made_on_request(tmp_path: Path) -> None:
    """Only those of one block are in memory, and a wrong one is an error where it comes."""

    class Made(Sequence[np.ndarray]):
        def __init__(self) -> None:
            self.made: list[int] = []

        def __len__(self) -> int:
            return 6

        def __getitem__(self, row: Any) -> Any:
            self.made.append(row)
            return np.full(1 << 20, row, np.uint8) if row < 5 else object()

    values, cuts = Made(), list[int]()
    with Recorder(tmp_path, policy=FlushPolicy(block_rows=2, interval=None)) as recorder:
        episode = recorder.start_episode()
        recorder._intake.after_row = lambda: cuts.append(len(values.made))  # type: ignore[method-assign]  # looks on
        with pytest.raises(UnsupportedTypeError):
            episode.extend(ArrayRows({"image": values}, 6), ArrayRows({"action": np.arange(5)}, 5))
        assert (episode.rows, values.made, cuts) == (4, [0, 0, 1, 2, 3, 4, 5], [3, 5])
        episode.end(EpisodeEnd.INTERRUPTED)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert (read["image"][:, 0].tolist(), read["action"].tolist()) == ([0, 1, 2, 3], [0, 1, 2, 0])


def test_arrays_are_copied(tmp_path: Path) -> None:
    """The caller may change them as soon as the call returns."""
    values = np.arange(2000.0)
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        with recorder._intake.lock:  # the writer thread waits
            episode.extend(ArrayRows({"observation": values}, 2000), ArrayRows({}, 1999))
            values[:] = 7
        episode.end(EpisodeEnd.TRUNCATED)
    assert rlds_kit.open(tmp_path).episodes[0]["observation"].tolist() == list(range(2000))


@pytest.mark.parametrize(
    ("observed", "acted", "error", "message"),
    [
        ({"observation": np.zeros((3, 2))}, {}, SpecError, r"observation: expected float32 \(2,\), got float64 \(2,\)"),
        ({"observation": np.zeros((3, 4), np.float32)}, {}, SpecError, r"expected float32 \(2,\), got float32 \(4,\)"),
        ({}, {"reward": np.array([1, (1 << 53) + 1])}, SpecError, "reward: expected float64"),
        ({"x": [1, 2, object()]}, {}, UnsupportedTypeError, "x"),
        ({"x": np.zeros(3, np.longdouble)}, {}, UnsupportedTypeError, "x"),
        ({"is_last": np.zeros(3)}, {}, SpecError, "is_last"),
        ({"x": np.zeros(3)}, {"x": np.zeros(2)}, SpecError, "x: expected a name of its own"),
    ],
)
def test_wrong_arrays_leave_nothing(
    tmp_path: Path, observed: dict[str, Any], acted: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The error has the field, the expected and the given value; the episode continues without the rows."""
    good = np.ones((2, 2), np.float32)
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(error, match=message):
            episode.extend(ArrayRows(observed, 3), ArrayRows(acted, 2))
        assert episode.rows == 0
        episode.extend(ArrayRows({"observation": good}, 2), ArrayRows({"x": np.zeros(1)}, 1))
        episode.end(EpisodeEnd.TERMINATED)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert (len(read), read["observation"].tolist(), read["x"].tolist()) == (2, good.tolist(), [0.0, 0.0])


def test_the_step_of_a_wrong_value_is_named(tmp_path: Path) -> None:
    """Where only some value of an array cannot be recorded."""
    with Recorder(tmp_path, DECLARED) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(SpecError) as caught:
            episode.extend(ArrayRows({}, 3), ArrayRows({"reward": np.array([1, (1 << 53) + 1])}, 2))
    notes = ["This is the value of reward in step 1.", "Nothing of these steps is recorded."]
    assert caught.value.__notes__ == notes


def test_tolerant_recorders_take_what_comes(tmp_path: Path) -> None:
    """With one warning for the field, as row by row."""
    with Recorder(tmp_path, DECLARED, strict=False) as recorder:
        episode = recorder.start_episode()
        with pytest.warns(UserWarning, match=r"observation: expected float32 \(2,\), got float64"):
            episode.extend(ArrayRows({"observation": np.ones((3, 2))}, 3), ArrayRows({}, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            episode.extend(ArrayRows({"observation": np.ones((3, 2))}, 3), ArrayRows({}, 3))
        reward = np.array([1, (1 << 53) + 1])
        with pytest.warns(UserWarning, match="reward: expected float64"):
            episode.extend(ArrayRows({"observation": np.ones((2, 2))}, 2), ArrayRows({"reward": reward}, 2))
        episode.end(EpisodeEnd.TRUNCATED)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert read.steps[0]["observation"].dtype == np.float64
    assert [step["reward"] for step in read.steps][5:7] == [1, (1 << 53) + 1]


def test_numbers_of_actions_are_checked(tmp_path: Path) -> None:
    """One less than observations, or as many; after rows, as many, or one more."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(ValueError, match=r"expected 2 actions for 3 more observations, or 3 .* got 4"):
            episode.extend(ArrayRows({}, 3), ArrayRows({}, 4))
        episode.append({})
        with pytest.raises(ValueError, match=r"expected 3 actions for 3 more observations, or 4 .* got 2"):
            episode.extend(ArrayRows({}, 3), ArrayRows({}, 2))
        episode.extend(ArrayRows({"x": [1, 2, 3]}, 3), ArrayRows({"y": [1, 2, 3, 4]}, 4))
        with pytest.raises(RecordingError, match="had no observation after it"):
            episode.extend(ArrayRows({}, 1), ArrayRows({}, 1))
        episode.end(EpisodeEnd.TRUNCATED)
    (read,) = rlds_kit.open(tmp_path).episodes
    assert [(step.get("x"), step.get("y")) for step in read.steps] == [(None, 1), (1, 2), (2, 3), (3, 4), (None, None)]


def test_memory_stays_below_the_limit(tmp_path: Path) -> None:
    """Blocks are copied as they are written, never the whole of large arrays."""
    values = np.random.default_rng(0).normal(size=(1 << 18, 16))
    with Recorder(tmp_path, memory_limit=4 << 20) as recorder:
        episode = recorder.start_episode()
        seen = []
        put = recorder._intake.after_row

        def after_row() -> None:
            put()
            seen.append(recorder._intake._thread.buffered_bytes)

        recorder._intake.after_row = after_row  # type: ignore[method-assign]  # looks on
        episode.extend(ArrayRows({"observation": values}, len(values)), ArrayRows({}, len(values) - 1))
        episode.end(EpisodeEnd.TRUNCATED)
    assert len(seen) > 100
    assert max(seen) < 5 << 20
    assert rlds_kit.open(tmp_path).episodes[0]["observation"].tobytes() == values.tobytes()


def test_every_step_is_durable_when_extend_returns(tmp_path: Path) -> None:
    with Recorder(tmp_path, policy=FlushPolicy.every_step()) as recorder:
        episode = recorder.start_episode()
        episode.extend(ArrayRows({"x": np.arange(9)}, 9), ArrayRows({}, 8))
        assert recorder.durable == {episode.id: 9}
        assert [one.length for one in rlds_kit.open(tmp_path, include_open=True).episodes] == [9]
