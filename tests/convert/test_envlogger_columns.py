"""Steps of EnvLogger that are decoded together are what they are one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.envlogger import reader as readers
from rlds_kit.convert.envlogger.columns import Layouts, OtherLayoutError
from rlds_kit.convert.envlogger.encode import encode
from rlds_kit.convert.envlogger.layout import Numbers, end_of_type, layout_of, numbers_in
from rlds_kit.convert.envlogger.scan import FIRST, LAST, MID, StoredEpisode, _type_of
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.rows import Rows
from rlds_kit.riegeli import varint
from tests.storage.strategies import number_arrays

NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")


def _alike(depth: int) -> st.SearchStrategy[st.SearchStrategy[Any]]:
    """Values of one structure, as those of all steps of an environment are."""
    array = st.tuples(st.sampled_from(NUMBERS), st.lists(st.integers(0, 3), max_size=2)).map(
        lambda form: number_arrays(np.dtype(form[0]), tuple(form[1]))
    )
    scalar = st.sampled_from(NUMBERS).map(lambda name: number_arrays(np.dtype(name), ()).map(lambda each: each[()]))
    others: st.SearchStrategy[st.SearchStrategy[Any]] = st.sampled_from(
        (st.none(), st.integers(), st.floats(), st.booleans(), st.text(max_size=2), st.just({}))
    )
    plain = array | scalar | others
    if not depth:
        return plain
    inner = _alike(depth - 1)
    names = st.sampled_from(("a", "b", "rlds_kit", "reward"))
    dicts = st.dictionaries(names, inner, max_size=3).map(st.fixed_dictionaries)
    return plain | dicts | st.lists(inner, max_size=2).map(lambda parts: st.tuples(*parts)) | inner.map(st.lists)


@st.composite
def episodes(draw: st.DrawFn) -> list[bytes]:
    """Records as EnvLogger writes them."""
    observation, action, reward, custom = (draw(_alike(2)) for _ in range(4))
    discount = st.none() | st.floats()
    if draw(st.booleans()):
        sides = {"observed": draw(_alike(1)), "acted": draw(_alike(1))}
        custom = st.fixed_dictionaries({"rlds_kit": st.fixed_dictionaries(sides), "x": draw(_alike(0))})
    steps = draw(st.integers(1, 12))
    found = []
    for step in range(steps):
        step_type = FIRST if not step else LAST if step == steps - 1 and draw(st.booleans()) else MID
        results = [None if not step else draw(each) for each in (reward, discount)]
        time_step = (step_type, *results, draw(observation))
        found.append(_stored(time_step, draw(action) if step else None, draw(custom)))
    return found


def _stored(time_step: tuple[Any, ...], action: Any, custom: Any) -> bytes:
    """A record; what cannot be stored is None."""
    four, two = ([encode(each, "", []) or Data() for each in part] for part in (time_step, (action, custom)))
    data = Data(tuple=Data.Tuple(values=[Data(tuple=Data.Tuple(values=four)), *two]))
    return data.SerializeToString()


def _shown(value: Any) -> Any:
    """A value with its exact types."""
    if isinstance(value, dict):
        return {name: _shown(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return type(value), [_shown(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return type(value), value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)


@given(episodes())
@settings(deadline=None, max_examples=50)
def test_columns_are_the_rows(records: list[bytes]) -> None:
    """Of every value the type and the bits, and the digest of the whole."""
    stored = StoredEpisode(Path("shard"), 0, 0, len(records), None)
    rows = readers.episode_of([readers._record(data, Path("shard"), 0) for data in records], None)
    found = readers._episode(records, stored, None, Layouts())
    assert content_of(found) == content_of(rows)
    for ours, theirs in ((found.observed, rows.observed), (found.acted, rows.acted)):
        assert [_shown(dict(each)) for each in ours] == [_shown(dict(each)) for each in theirs]
    assert (found.end, found.terminated, found.truncated) == (rows.end, rows.terminated, rows.truncated)


@given(episodes())
@settings(deadline=None, max_examples=50)
def test_the_beginning_of_a_step_determines_its_type(records: list[bytes]) -> None:
    for data in records:
        end = end_of_type(data)
        assert end is not None
        other = data[:end] + bytes(len(data) - end)
        assert end_of_type(other) == end
        assert _type_of(data, "") in (FIRST, MID, LAST)


def _step(number: int, *, step_type: int = MID) -> bytes:
    observation = {"joints": np.full(3, number, np.float32), "count": np.int64(number % 100)}
    return _stored((step_type, float(number), 1.0, observation), np.float32(number), None)


def test_most_steps_are_columns() -> None:
    """First, middle and last steps have layouts of their own."""
    records = [_step(0, step_type=FIRST), *(_step(number) for number in range(1, 300)), _step(300, step_type=LAST)]
    found = readers._episode(records, StoredEpisode(Path(), 0, 0, len(records), None), None, Layouts())
    assert isinstance(found.observed, Rows)
    assert isinstance(found.observed.columns["observation"]["joints"], np.ndarray)
    assert found.observed.columns["observation"]["count"].tolist() == [number % 100 for number in range(301)]
    assert found.acted[298]["reward"] == 299.0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.uint16, np.float32])
@pytest.mark.parametrize("others", [False, True])
def test_arrays_of_each_step_are_its_own(dtype: type[np.generic], *, others: bool) -> None:
    """In one stretch of steps, and where stretches are joined."""
    frames = np.random.default_rng(0).integers(0, 2, (60, 4, 5, 3)).astype(dtype)
    numbers = [number * (1000 if others else 1) for number in range(60)]  # Python's integers of one byte, or of several
    records = [_stored((MID, 0.0, 1.0, frame), 0, {"n": number}) for frame, number in zip(frames, numbers, strict=True)]
    assert len(Layouts().stretches(records)) == (3 if others else 1)
    observed, _ = readers._columns(Layouts().stretches(records))
    assert _shown([each["observation"] for each in observed]) == _shown([*frames])
    assert [each["n"] for each in observed] == numbers


def test_too_many_layouts_are_read_one_by_one() -> None:
    """Text that differs from step to step."""
    records = [_stored((MID, 0.0, 1.0, f"{number}"), 0, None) for number in range(100)]
    with pytest.raises(OtherLayoutError):
        Layouts().stretches(records)


@pytest.mark.parametrize(
    ("dtype", "top"),
    [(np.int32, 2**31 - 1), (np.uint32, 2**32 - 1), (np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)],
)
def test_integers_of_several_bytes_are_columns(dtype: type[np.integer[Any]], top: int) -> None:
    """Such as the numbers of frames, which differ in every step; those that would not fit are read one by one."""
    numbers = [*range(100, 400, 7), *(2**bits - 1 for bits in range(7, 64, 7) if 2**bits <= top), top]
    records = [_stored((MID, 0.0, 1.0, dtype(number)), np.array([number], dtype), None) for number in numbers]
    assert len(Layouts().stretches(records[:43])) == 2  # of one byte, and of two
    rows = [readers._record(data, Path(), 0) for data in records]
    first = _stored((FIRST, None, None, dtype(1)), None, None)
    observed, acted = readers._columns(Layouts().stretches([first, *records]))
    assert [_shown(each["action"]) for each in acted] == [_shown(row.action) for row in rows]
    assert [_shown(each["observation"]) for each in observed][1:] == [_shown(row.observation) for row in rows]


def test_integers_of_python_are_columns() -> None:
    """Such as those of an info; each size is a layout of its own, and those that NumPy's types cannot hold are, too."""
    for size in range(1, 9):
        top = 1 << (8 * size - 1)
        numbers = [-top, -top + 1, *(range(-3, 4) if size == 1 else ()), top - 2, top - 1]
        numbers = [number for number in numbers if number.bit_length() // 8 + 1 == size]
        records = [_stored((MID, 0.0, 1.0, np.zeros(2)), number, {"info": {"n": number}}) for number in numbers]
        (stretch,) = Layouts().stretches(records)
        observed, acted = readers._columns([*stretch.divided(1)])
        assert isinstance(acted.columns["action"], list)
        assert [_shown(each["info"]["n"]) for each in observed] == [_shown(number) for number in numbers]
        assert [_shown(each["action"]) for each in acted] == [_shown(number) for number in numbers[1:]]
    large = [_stored((MID, 0.0, 1.0, 1 << 64 + number), 0, None) for number in range(3)]
    assert len(Layouts().stretches(large)) == 3


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_negative_integers_are_constants(dtype: type[np.generic]) -> None:
    record = _stored((MID, 0.0, 1.0, dtype(-5)), 0, None)
    assert dtype not in {each.dtype for each in numbers_in(layout_of(record)) if isinstance(each, Numbers)}


def test_an_episode_without_columns_is_not_compared_in_vain() -> None:
    """Few of its large steps are compared before it is read one by one."""
    records = [_stored((MID, 0.0, 1.0, f"{number:03}"), np.zeros(1000, np.uint8), None) for number in range(500)]
    compared = 0

    class Counted(Layouts):
        def _layout(self, row: np.ndarray) -> Any:
            nonlocal compared
            compared += 1
            return super()._layout(row)

    with pytest.raises(OtherLayoutError):
        Counted().stretches(records)
    assert compared < 20


def test_numbers_are_found_in_the_bytes() -> None:
    """Those of arrays and scalars, in their order."""
    record = _step(7)
    numbers = [each for each in numbers_in(layout_of(record)) if isinstance(each, Numbers)]
    found = {(each.dtype, each.shape): each for each in numbers}  # a dict has no order
    assert {*found} == {(np.float64, None), (np.float32, (3,)), (np.int64, None), (np.float32, None)}
    joints = found[np.float32, (3,)]
    assert np.frombuffer(record[joints.begin : joints.end], joints.stored).tolist() == [7, 7, 7]


def test_an_array_is_no_empty_dict() -> None:
    """Where `step_fn` returned an array of large integers in place of a dict of fields."""
    sides = {"observed": {"x": np.float32(1)}, "acted": np.array([1, 2**25], np.int32)}
    record = _stored((FIRST, None, None, np.zeros(2)), None, {"rlds_kit": sides})
    found = readers._episode([record], StoredEpisode(Path(), 0, 0, 1, None), None, Layouts())
    rows = readers.episode_of([readers._record(record, Path(), 0)], None)
    assert content_of(found) == content_of(rows)


def test_deep_nests_are_refused_by_number() -> None:
    """As if every step was decoded by itself: no recursion without end."""
    deep = b""
    for _ in range(5000):
        deep = _message(3, _message(1, deep))
    four, two = (encode(each, "", []) or Data() for each in ((MID, 0.0, 1.0, 0), None))
    parts = [four.SerializeToString(), two.SerializeToString(), deep]
    record = _message(3, b"".join(_message(1, each) for each in parts))
    stored = StoredEpisode(Path("shard"), 7, 0, 1, None)
    with pytest.raises(FormatError, match=r"steps\.riegeli, step 7"):
        readers._episode([record], stored, None, Layouts())


def _message(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + varint.encode(len(content)) + content
