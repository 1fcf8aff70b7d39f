"""Whatever is recorded comes back bit for bit, and of the same Python type."""

import dataclasses
import datetime as dt
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd, SpecError, UnsupportedTypeError
from rlds_kit import spec as specs
from rlds_kit.spec.value import MAX_NESTING
from rlds_kit.storage.declared import MAX_LEAVES
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.repetitions import repetitions
from tests.storage import strategies
from tests.storage.truth import Given, GivingRecorder, assert_same_steps, assert_whole, same

Rows = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]

BLOCK_ROWS: Final = (1, 2, 64)


@pytest.fixture(scope="module", autouse=True)
def _no_fsync() -> Iterator[None]:
    """Thousands of tiny datasets need not survive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def _policy(block_rows: int) -> FlushPolicy:
    return FlushPolicy(block_rows=block_rows, interval=None)


def _record(directory: str, rows: Rows, block_rows: int, declared: specs.Dict | None = None) -> Given:
    with Recorder(directory, declared, policy=_policy(block_rows)) as recorder:
        episode = GivingRecorder(recorder)
        for observed, acted in rows:
            episode.append(observed, acted)
        episode.end(EpisodeEnd.TERMINATED)
    return episode.given


def _come_back(rows: Rows, block_rows: int = 64, declared: specs.Dict | None = None) -> None:
    """Records one episode and compares what is read: step by step, and all steps in one go."""
    with tempfile.TemporaryDirectory() as directory:
        truth = _record(directory, rows, block_rows, declared)
        episode = rlds_kit.open(directory).episodes[0]
        assert_same_steps([episode.steps[row] for row in range(len(episode))], truth.steps())
        assert_same_steps(list(episode.steps), truth.steps())


@pytest.mark.sweep
@given(strategies.rows(), st.sampled_from(BLOCK_ROWS))
@example([({"info": {"": 1}}, None), ({"info": {"": {}}}, None)], 64)
@example([({"info": {"\ud800": 1}}, None), ({"info": {"\ud800": {"a": b""}}}, None)], 64)
@example([({"info": np.array("a", "<U5")}, None), ({"info": np.array(3, ">i2")}, None)], 64)
@example([({"x": {"(0)": 1, "[0]": 2, "~2(0)": 3}}, None)], 1)
@settings(max_examples=repetitions(100, least=40))
def test_any_rows_come_back(rows: Rows, block_rows: int) -> None:
    """Fields that come and go, of any shape and type, come back as they were."""
    _come_back(rows, block_rows)


@given(st.data(), strategies.any_dtypes, strategies.shapes, st.sampled_from(BLOCK_ROWS))
def test_arrays_of_one_dtype_and_shape_come_back(
    data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...], block_rows: int
) -> None:
    """Dense columns keep every bit, with any filter that suits them."""
    items = data.draw(st.lists(strategies.array_like(dtype, shape), min_size=1, max_size=9))
    _come_back([({"observation": item}, None) for item in items], block_rows)


@given(st.data(), strategies.any_dtypes, st.integers(1, 3), st.sampled_from(BLOCK_ROWS))
def test_ragged_and_optional_arrays_come_back(
    data: st.DataObject, dtype: np.dtype[Any], rank: int, block_rows: int
) -> None:
    """Arrays whose shapes differ, and that are sometimes absent, keep shape and bits."""
    rows = []
    for _ in range(data.draw(st.integers(1, 8))):
        shape = tuple(data.draw(st.lists(st.integers(0, 3), min_size=rank, max_size=rank)))
        present = data.draw(st.booleans())
        rows.append(({"info": {"x": data.draw(strategies.array_like(dtype, shape))}} if present else {}, None))
    _come_back(rows, block_rows)


@given(st.lists(strategies.scalars, min_size=1, max_size=9), st.sampled_from(BLOCK_ROWS))
def test_scalars_keep_their_type(items: list[object], block_rows: int) -> None:
    """A Python number, a NumPy scalar and a 0-d array of the same value stay what they were."""
    _come_back([({"x": item}, None) for item in items], block_rows)


@pytest.mark.parametrize(
    "number", [True, 1, 1.0, 1 + 0j, np.bool_(1), np.int64(1), np.float64(1), np.array(1), np.array(1.0), [1], (1,)]
)
def test_equal_values_of_different_types_stay_apart(number: object) -> None:
    """1, 1.0, True and their relatives are equal to each other and come back as themselves."""
    _come_back([({"x": 1}, None), ({"x": number}, None), ({"x": True}, None), ({"x": number}, None)])


@given(strategies.values, strategies.values, strategies.values, strategies.values)
def test_metadata_come_back(run: object, start: object, end: object, seed: object) -> None:
    """Metadata of run and episode, seed, options and provenance hold any recordable value."""
    with tempfile.TemporaryDirectory() as directory:
        with Recorder(directory, metadata={"x": run}, environment={"e": run}) as recorder:
            episode = recorder.start_episode(metadata={"s": start}, seed=seed, options=start, provenance={"p": end})
            episode.append({})
            episode.end(EpisodeEnd.TRUNCATED, metadata={"e": end})
        dataset = rlds_kit.open(directory)
        (read,) = dataset.episodes
        assert same(dataset.metadata, {"x": run})
        assert same(dataset.environment, {"e": run})
        assert same(read.run_metadata, {"x": run})
        assert same(read.metadata, {"s": start, "e": end})
        assert same([read.seed, read.options, read.provenance], [seed, start, {"e": run, "p": end}])


@pytest.mark.sweep
@given(
    st.lists(strategies.rows(max_size=4), min_size=1, max_size=4),
    st.sampled_from(BLOCK_ROWS),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
@settings(max_examples=repetitions(100, least=40))
def test_interleaved_episodes_in_several_shards_come_back(
    episodes: list[Rows], block_rows: int, shard_episodes: int, dice: Any
) -> None:
    """Rows of several open episodes, given in any order, into several shards, are never mixed up."""
    with tempfile.TemporaryDirectory() as directory:
        with Recorder(directory, policy=_policy(block_rows), max_shard_episodes=shard_episodes) as recorder:
            waiting = [(GivingRecorder(recorder, metadata={"n": n}), list(rows)) for n, rows in enumerate(episodes)]
            everything = [episode.given for episode, _ in waiting]
            while waiting:
                episode, rows = dice.choice(waiting)
                if rows:
                    episode.append(*rows.pop(0))
                else:
                    episode.end(dice.choice([EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED, EpisodeEnd.INTERRUPTED]))
                    waiting = [one for one in waiting if one[0] is not episode]
        assert_whole(rlds_kit.open(directory), everything)


DECLARED: Final = specs.Dict(
    {
        "observation": specs.Dict(
            {
                "pixels": specs.Array((2, 3), np.uint8),
                "pair": specs.Tuple((specs.Array((), np.float32), specs.Text())),
                "list": specs.List((specs.Array((None,), np.int16), specs.Bytes())),
                "maybe": specs.Optional(specs.Array((2,), np.float64)),
                "many": specs.Sequence(specs.Array((), np.int8)),
                "a/b~(0)": specs.Any(),
                "empty": specs.Dict({}),
            }
        ),
        "action": specs.Tuple((specs.Array((), np.int64), specs.Dict({"x": specs.Array((1,), np.float32)}))),
        "reward": specs.Array((), np.float64),
        "discount": specs.Array((), np.float64),
    }
)


def _declared_row(row: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    observation = {
        "pixels": np.arange(6, dtype=np.uint8).reshape(2, 3) + row,
        "pair": (np.float32(row), "é" * row),
        "list": [np.arange(row, dtype=np.int16), bytes(row)],
        "many": tuple(np.int8(i) for i in range(row % 3)),
        "a/b~(0)": [row, None] if row % 2 else row,
        "empty": {},
    }
    if row % 3:
        observation["maybe"] = None if row % 2 else np.array([row, np.nan])
    acted = {"action": (row, {"x": np.ones(1, np.float32)}), "reward": -0.0 if row % 2 else 1, "discount": 1.0}
    return {"observation": observation}, acted if row else None


@pytest.mark.parametrize("block_rows", BLOCK_ROWS)
def test_declared_containers_come_back(block_rows: int) -> None:
    """Declared tuples, lists, dicts, optional values and sequences are stored leaf by leaf and come back whole."""
    _come_back([_declared_row(row) for row in range(9)], block_rows, DECLARED)


@pytest.mark.parametrize("block_rows", BLOCK_ROWS)
def test_declared_leaves_are_stacked(tmp_path: Path, block_rows: int) -> None:
    """`episode["observation"]` is a nest of stacked arrays; what no row or only some rows have is in the mask."""
    rows = [_declared_row(row) for row in range(9)]
    _record(str(tmp_path), rows, block_rows, DECLARED)
    episode = rlds_kit.open(tmp_path).episodes[0]
    pixels = np.stack([row[0]["observation"]["pixels"] for row in rows])
    assert same(episode["observation"]["pixels"], pixels)
    assert same(episode["observation/pixels"], pixels)
    assert same(episode["observation/pair/(0)"], np.arange(9, dtype=np.float32))
    assert same(episode["action"][0], np.array([*range(1, 9), 0], np.int64))
    assert episode.mask("action").tolist() == [True] * 8 + [False]
    assert same(episode[2:5]["observation/pixels"], pixels[2:5])


@given(st.data(), strategies.any_dtypes, strategies.shapes, st.sampled_from(BLOCK_ROWS))
def test_a_dense_field_is_stacked(
    data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...], block_rows: int
) -> None:
    """`episode[field]` has every bit of every row, zeros where there is none, and `mask` distinguishes them."""
    items = data.draw(st.lists(st.none() | strategies.array_like(dtype, shape), min_size=1, max_size=9))
    if all(item is None for item in items):
        items.append(np.zeros(shape, dtype))
    with tempfile.TemporaryDirectory() as directory:
        _record(directory, [({} if item is None else {"x": item}, None) for item in items], block_rows)
        episode = rlds_kit.open(directory).episodes[0]
        expected = np.zeros((len(items), *shape), dtype)
        for row, item in enumerate(items):
            if item is not None:
                expected[row] = item
        assert same(episode["x"], expected)
        assert episode.mask("x").tolist() == [item is not None for item in items]
        if any(item is not None for item in items[1:]):
            assert same(episode[1:]["x"], expected[1:])


@given(st.data(), strategies.any_dtypes, st.sampled_from([(), (3,), (70, 33, 3)]), st.sampled_from(BLOCK_ROWS))
def test_what_was_in_memory_before_is_never_seen(
    data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...], block_rows: int
) -> None:
    """Where values are decoded into memory that was used before, zeros stand where there is none."""
    has = data.draw(st.lists(st.booleans(), min_size=1, max_size=9))
    with tempfile.TemporaryDirectory() as directory:
        _record(directory, [({"x": np.ones(shape, dtype)} if each else {}, None) for each in has], block_rows)
        reader = rlds_kit.open(directory).source().reader(0)
        begin = data.draw(st.integers(0, len(has) - 1))
        last = data.draw(st.integers(begin, len(has) - 1))
        stacks = reader.stacks(begin, len(has), lambda path: path == "x", last=last, allocate=_dirty)
        if "x" in stacks:
            values, defined = stacks["x"].result()
            wanted = last + 1 - begin
            assert defined[:wanted].tolist() == has[begin : last + 1]
            expected = np.zeros((wanted, *shape), dtype)
            expected[defined[:wanted]] = 1
            assert same(values[:wanted], expected)
            assert np.isin(values[wanted:], np.concatenate([np.zeros(1, dtype), np.ones(1, dtype)])).all()


def _dirty(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array of another program."""
    return np.full(math.prod(shape) * dtype.itemsize, 0xA5, np.uint8).view(dtype).reshape(shape)


@given(st.lists(strategies.values, min_size=1, max_size=6), st.sampled_from(BLOCK_ROWS))
def test_a_field_of_mixed_types_is_stacked_exactly_or_not_at_all(items: list[Any], block_rows: int) -> None:
    """The value of `episode[field]` for a row equals the given one: here, as objects."""
    with tempfile.TemporaryDirectory() as directory:
        _record(directory, [({"x": [item]}, None) for item in items], block_rows)
        stacked = rlds_kit.open(directory).episodes[0]["x"]
        assert stacked.dtype == object
        assert all(same(stacked[row], [item]) for row, item in enumerate(items))


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        ([1, 2.5], np.array([1, 2.5])),
        ([1, 2**70], None),
        ([True, False], np.array([True, False])),
        ([0.5, -0.0], np.array([0.5, -0.0])),
        (["a", "b"], None),
        ([np.uint8(1), np.int16(-1)], np.array([1, -1], np.int16)),
        ([np.int64(2**53 + 1), np.float64(0.5)], None),
        ([np.float32(0.1), 0.1], np.array([np.float32(0.1), 0.1])),
        ([np.zeros(2), np.zeros(3)], None),
        ([np.uint64(2**64 - 1), np.int64(-1)], None),
    ],
)
def test_stacking_never_loses_a_value(items: list[Any], expected: np.ndarray | None) -> None:
    """Numbers get a common dtype only if it represents all of them; otherwise the stack has the objects themselves."""
    with tempfile.TemporaryDirectory() as directory:
        _record(directory, [({"x": item}, None) for item in items], 1)
        stacked = rlds_kit.open(directory).episodes[0]["x"]
        if expected is not None:
            assert same(stacked, expected)
        else:
            assert stacked.dtype == object
            assert all(map(same, stacked, items))


def test_arrays_are_copied(tmp_path: Path) -> None:
    """An environment may use its buffers again as soon as `append` returns."""
    buffer = np.zeros(5, np.int32)
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        for row in range(100):
            buffer[:] = row
            episode.append({"x": buffer, "nested": [buffer], "view": buffer[::2]})
        buffer[:] = -1
        episode.end(EpisodeEnd.TERMINATED)
    read = rlds_kit.open(tmp_path).episodes[0]
    assert read["x"][:, 0].tolist() == list(range(100))
    assert [item[0][0] for item in read["nested"]] == list(range(100))
    assert read["view"][:, 2].tolist() == list(range(100))


class _Custom:
    pass


@dataclasses.dataclass
class _Data:
    x: int = 0


def _generator() -> Any:
    yield 1


REFUSED: Final[Mapping[str, tuple[Callable[[], object], str]]] = MappingProxyType(
    {
        "object array": (lambda: np.array([None, 1], object), "object"),
        "structured array": (lambda: np.zeros(2, [("a", "i4")]), "[('a', '<i4')]"),
        "longdouble array": (lambda: np.zeros(2, np.longdouble), "float128"),
        "longdouble": (lambda: np.longdouble(1), "float128"),
        "clongdouble": (lambda: np.clongdouble(1), "complex256"),
        "datetime64": (lambda: np.datetime64("2020-01-01"), "datetime64"),
        "timedelta64 array": (lambda: np.zeros(2, "m8[s]"), "timedelta64"),
        "void": (lambda: np.void(b"abc"), "|V3"),
        "masked array": (lambda: np.ma.array([1, 2], mask=[False, True]), "MaskedArray"),
        "matrix": (lambda: np.ones((1, 1)).view(np.recarray), "recarray"),
        "set": (lambda: {1, 2}, "set"),
        "frozenset": (lambda: frozenset((1,)), "frozenset"),
        "class": (_Custom, "_Custom"),
        "dataclass": (_Data, "_Data"),
        "generator": (_generator, "generator"),
        "range": (lambda: range(3), "range"),
        "bytearray": (lambda: bytearray(b"abc"), "bytearray"),
        "memoryview": (lambda: memoryview(b"abc"), "memoryview"),
        "function": (lambda: _generator, "function"),
        "datetime": (lambda: dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "datetime"),
        "ellipsis": (lambda: ..., "ellipsis"),
    }
)


@pytest.mark.parametrize(
    "nest", [lambda bad: bad, lambda bad: {"deep": bad}, lambda bad: [1, bad], lambda bad: {1: bad}]
)
@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_refused_by_name(tmp_path: Path, name: str, nest: Callable[[object], object]) -> None:
    """The error names the field and the type; nothing of the row is recorded, and the episode continues."""
    make, type_name = REFUSED[name]
    with Recorder(tmp_path) as recorder:
        episode = GivingRecorder(recorder)
        episode.append({"x": 1})
        with pytest.raises(UnsupportedTypeError, match="info/bad") as refusal:
            episode.append({"x": 2, "info": {"bad": nest(make()), "good": 3}}, {"reward": 1.0})
        assert type_name in str(refusal.value)
        episode.append({"x": 3}, {"reward": 2.0})
        episode.end(EpisodeEnd.TERMINATED)
    assert_whole(rlds_kit.open(tmp_path), [episode.given])


def test_metadata_of_other_types_are_refused_by_name(tmp_path: Path) -> None:
    """Metadata are refused like values, at the call that gives them."""
    with pytest.raises(UnsupportedTypeError, match="metadata/who"):
        Recorder(tmp_path, metadata={"who": _Custom()})
    with Recorder(tmp_path) as recorder:
        with pytest.raises(UnsupportedTypeError, match="seed"):
            recorder.start_episode(seed=_Custom())
        episode = recorder.start_episode()
        episode.append({})
        with pytest.raises(UnsupportedTypeError, match="metadata/who"):
            episode.end(EpisodeEnd.TERMINATED, metadata={"who": _Custom()})
        episode.end(EpisodeEnd.TERMINATED)
    assert [one.end for one in rlds_kit.open(tmp_path).episodes] == [EpisodeEnd.TERMINATED]


def _nested(depth: int, wrap: Callable[[object], object]) -> object:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {0: x}, lambda x: {"a": x}])
def test_deep_nests_come_back(wrap: Callable[[object], object]) -> None:
    """Containers may stand in each other up to a stated depth."""
    _come_back([({"x": _nested(MAX_NESTING, wrap)}, None)])


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: {0: x}])
def test_nests_that_are_too_deep_are_refused(tmp_path: Path, wrap: Callable[[object], object]) -> None:
    """One container more is refused at once, as a reader in another language could not take it."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(SpecError, match="containers in one another"):
            episode.append({"x": _nested(MAX_NESTING + 1, wrap)})
        episode.append({"x": 1})
        episode.end(EpisodeEnd.TERMINATED)
    assert rlds_kit.open(tmp_path).episodes[0].length == 1


def test_very_deep_dicts_come_back() -> None:
    """Dicts with text keys are paths, and as deep as Python lets them be."""
    _come_back([({"x": _nested(100, lambda x: {"a": x})}, None)])


@pytest.mark.parametrize("count", [MAX_LEAVES - 1, MAX_LEAVES, MAX_LEAVES + 1, 5000])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"a": x, "b": {}}], ids=["flat", "nested"])
def test_a_dict_of_very_many_leaves_comes_back(count: int, wrap: Callable[[Any], Any]) -> None:
    """A dict of more leaves than there should be columns is stored in one piece."""
    _come_back([({"x": wrap({f"key {i}": i for i in range(count)})}, None), ({"x": {"few": 1}}, None)])


def test_a_field_name_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """A field's name must be writable in any language."""
    with Recorder(tmp_path) as recorder:
        episode = recorder.start_episode()
        with pytest.raises(SpecError, match="lone surrogates"):
            episode.append({"\ud800": 1})
        episode.append({"x": 1})
    assert rlds_kit.open(tmp_path).episodes[0].length == 1
