"""The restricted unpickler gives back what data are, and refuses everything else by name."""

import collections
import datetime as dt
import doctest
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from rlds_kit.convert.crowdplay import pickled_data, restricted_unpickler
from rlds_kit.convert.crowdplay.restricted_unpickler import Limits, RefusedPickleError, load, loads

PROTOCOLS = (3, 4, 5)
NUMBERS = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", ">u2"]

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.timedeltas(),
    lambda items: st.lists(items, max_size=4) | st.tuples(items, items) | st.dictionaries(st.text(), items, max_size=4),
    max_leaves=20,
)


def spelled(value: Any) -> Any:
    """A value such that equal ones are equal bit for bit, of the same type."""
    match value:
        case dict():
            return [(key, spelled(item)) for key, item in value.items()]
        case list() | tuple():
            return type(value), [spelled(item) for item in value]
        case np.ndarray() | np.generic():
            return type(value), value.dtype.str, value.shape, value.tobytes()
        case float():
            return struct.pack("<d", value)
    return type(value), value


@given(plain_values, st.sampled_from(PROTOCOLS))
def test_plain_values_come_back(value: object, protocol: int) -> None:
    """What Python pickles of numbers, text, bytes, dates and containers is read as it was."""
    assert spelled(loads(pickle.dumps(value, protocol))) == spelled(value)


@given(
    st.sampled_from(NUMBERS).flatmap(lambda code: npst.arrays(code, npst.array_shapes(min_dims=0, min_side=0))),
    st.sampled_from(PROTOCOLS),
    st.booleans(),
)
def test_arrays_come_back(array: np.ndarray, protocol: int, fortran: bool) -> None:
    """Arrays keep dtype, byte order, shape and every bit, in either order of memory, with no elements too."""
    given_array = np.asfortranarray(array) if fortran and array.ndim else array
    assert spelled(loads(pickle.dumps(given_array, protocol))) == spelled(given_array)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("code", NUMBERS)
def test_scalars_come_back(code: str, protocol: int) -> None:
    """NumPy scalars keep their type."""
    scalar = np.array(1, code)[()]
    assert spelled(loads(pickle.dumps(scalar, protocol))) == spelled(scalar)


def test_numpy_1_is_read() -> None:
    """The names that NumPy 1 wrote into pickles, `numpy.core`, mean the same."""
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    old = pickle.dumps(array, 3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core" in old
    assert spelled(loads(old)) == spelled(array)


def test_sets_dtypes_and_ordered_dicts_come_back() -> None:
    """Sets and dtypes are data; an OrderedDict becomes a dict of the same order."""
    ordered = collections.OrderedDict(b=1, a=[2])
    value = loads(pickle.dumps([{1, 2}, np.dtype(">f4"), (np.dtype("u1"), 3), ordered], 4))
    assert value == [{1, 2}, np.dtype(">f4"), (np.dtype("u1"), 3), {"b": 1, "a": [2]}]
    assert list(value[3]) == ["b", "a"]


def test_one_object_in_two_places_is_read() -> None:
    """A value to which a pickle refers twice occurs twice."""
    frame = np.zeros((2, 2), np.uint8)
    first, second = loads(pickle.dumps([{"image": frame}, {"image": frame}], 4))
    assert spelled(first) == spelled(second)


class Call:
    """Pickles as a call of a function: what an attacker sends."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        return self.call


class WithState:
    """A class of the sender's own."""

    def __setstate__(self, state: object) -> None:
        raise AssertionError("a class of the sender's was made")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (os.system, "system"),
        (eval, "builtins.eval"),
        (exec, "builtins.exec"),
        (getattr, "builtins.getattr"),
        (np.load, "numpy.load"),
        (np.fromfile, "numpy.fromfile"),
        (np.save, "numpy.save"),
        (bytearray, "builtins.bytearray"),
    ],
)
def test_call_is_refused_by_name(function: Any, name: str, protocol: int, tmp_path: Path) -> None:
    """Functions of the system, of Python and of NumPy are not called; the error names the function in the pickle."""
    trap = tmp_path / "trap"
    arguments = (f"touch {trap}",) if function is os.system else (f"open({str(trap)!r}, 'w')",)
    with pytest.raises(RefusedPickleError, match=f"names .*{name}"):
        loads(pickle.dumps([Call(function, *arguments)], protocol))
    assert not trap.exists()


def test_module_that_is_named_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming something of a module does not even import the module."""
    (tmp_path / "bait_module.py").write_text(f"open({str(tmp_path / 'trap')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RefusedPickleError, match=r"bait_module\.worm"):
        loads(b"cbait_module\nworm\n)R.")
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_objects_are_refused(protocol: int) -> None:
    """Classes are not data: instances are refused with the name of their class, and so are functions."""
    with pytest.raises(RefusedPickleError, match=r"names .*WithState"):
        loads(pickle.dumps({"collector": WithState()}, protocol))
    with pytest.raises(RefusedPickleError, match=r"builtins\.exec"):
        loads(pickle.dumps(exec, protocol))


@pytest.mark.parametrize(
    ("array", "named"),
    [
        (np.array([None, 1], object), "'O8'"),
        (np.array(["a"]), "'U1'"),
        (np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), "'V12'"),
        (np.array(["2020-01-01"], "M8[D]"), "'M8'"),
    ],
)
def test_arrays_of_other_things_are_refused(array: np.ndarray, named: str) -> None:
    """Arrays hold numbers or bool; others, above all those of objects, are refused by dtype."""
    with pytest.raises(RefusedPickleError, match=named):
        loads(pickle.dumps(array, 4))


def test_deep_nesting_is_refused() -> None:
    """A container deeper than the limit is refused, whether it was nested inside out or through the memo."""
    deep: list[Any] = []
    for _ in range(31):
        deep = [deep]
    assert loads(pickle.dumps(deep)) == deep
    with pytest.raises(RefusedPickleError, match="deeper than 32"):
        loads(pickle.dumps([deep]))
    with pytest.raises(RefusedPickleError, match="changes a container that is part of another"):
        loads(b"\x80\x04]\x94]\x94ah\x01]a.")


def test_cycles_are_refused() -> None:
    """A container that contains itself, directly or through another one, is refused."""
    own: list[Any] = []
    own.append(own)
    pair: dict[str, Any] = {}
    pair["other"] = [pair]
    for cycle in (own, pair):
        with pytest.raises(RefusedPickleError, match=r"into itself|part of another"):
            loads(pickle.dumps(cycle, 4))


def _array_of(shape: bytes, data: bytes) -> bytes:
    """A pickle of an array of uint8 with this claimed shape, and these bytes."""
    dtype = b"cnumpy\ndtype\nX\x02\x00\x00\x00u1\x89\x88\x87R"
    made = b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    return b"\x80\x04" + made + b"(K\x01" + shape + dtype + b"\x89B" + struct.pack("<I", len(data)) + data + b"tb."


def test_huge_arrays_are_refused() -> None:
    """An array that announces more elements than it brings is refused; nothing is allocated for it."""
    assert loads(_array_of(b"K\x04\x85", b"abcd")).tolist() == [97, 98, 99, 100]
    huge = b"\x8a\x07" + (10**15).to_bytes(7, "little") + b"\x85"
    with pytest.raises(RefusedPickleError, match="takes 1000000000000000 bytes, in 4"):
        loads(_array_of(huge, b"abcd"))
    with pytest.raises(RefusedPickleError, match=r"shape \(-1,\)"):
        loads(_array_of(b"J\xff\xff\xff\xff\x85", b"abcd"))
    with pytest.raises(RefusedPickleError, match=r"shape"):
        loads(_array_of(b"(" + b"K\x01" * 40 + b"t", b"a"))


def test_limits_hold() -> None:
    """Sizes that are announced, bytes that come, and operations are counted."""
    with pytest.raises(RefusedPickleError, match=f"announces a value of {1 << 50} bytes"):
        loads(b"\x80\x04\x8e" + struct.pack("<Q", 1 << 50))
    with pytest.raises(RefusedPickleError, match="announces a value of 1073741824 bytes"):
        loads(b"\x80\x04\x8b" + struct.pack("<i", 1 << 30))
    with pytest.raises(RefusedPickleError, match="more than 100 bytes"):
        loads(pickle.dumps(list(range(1000))), Limits(total_bytes=100))
    with pytest.raises(RefusedPickleError, match="more than 50 operations"):
        loads(pickle.dumps(list(range(1000))), Limits(operations=50))
    with pytest.raises(RefusedPickleError, match=r"value of 200 bytes, more than 100"):
        loads(pickle.dumps(np.zeros(200, np.uint8), 4), Limits(value_bytes=100))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (b"", "exhausted"),
        (b"\x80\x02N.", "protocol 2"),
        (b"\x80\x04N", "exhausted"),
        (b"\x80\x04NN.", "left over"),
        (b"\x80\x04N.N", "followed by"),
        (b"\x80\x04.", "empty stack"),
        (b"\x80\x04h\x07.", "without a value"),
        (b"\x80\x04\x8c\x09ab", "only 2 remain"),
        (b"\x80\x04}Na.", "no list"),
        (b"\x80\x04}(K\x01u.", "key without a value"),
        (b"\x80\x04}]K\x01s.", "unhashable"),
        (b"\x80\x04X\x01\x00\x00\x00\xff.", "decode"),
        (b"\x80\x04NN\x93.", "no text"),
        (b"\x80\x04K\x01)R.", "cannot be called"),
        (b"\x80\x04K\x01}b.", "no arguments|has none"),
        (b"\x80\x04cnumpy\nndarray\n.", "holds numpy.ndarray itself"),
        (b"\x80\x04cnumpy\nndarray\n)R.", "cannot be called"),
        (b"\x80\x04Q.", "BINPERSID"),
        (b"\x80\x04\x81.", "NEWOBJ"),
        (b"\x80\x04ios\nsystem\n.", "INST"),
        (b"\x80\x04\x82\x01.", "EXT1"),
        (b"\x80\x04\xff.", "opcode"),
        (b"c" + b"a" * 5000, "no newline"),
        (b"\x80\x04cdatetime\ndatetime\nC\x0a" + bytes(10) + b"\x85R.", "year"),
        (b"\x80\x04cdatetime\ndatetime\nN\x85R.", "ten bytes"),
        (b"\x80\x04ccollections\nOrderedDict\n]\x85R.", "OrderedDict"),
        (
            b"\x80\x04cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R.",
            "without its content",
        ),
        (b"\x80\x04cnumpy._core.multiarray\n_reconstruct\ncnumpy\ndtype\nK\x00\x85C\x01b\x87R.", "NumPy does not"),
    ],
)
def test_broken_pickles_are_refused(broken: bytes, message: str) -> None:
    """For other pickles, the error describes the problem and its position."""
    with pytest.raises(RefusedPickleError, match=message) as refused:
        loads(broken)
    assert "at byte" in str(refused.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever bytes come, the outcome is a value or this one error."""
    for start in (b"", b"\x80\x04"):
        try:
            loads(start + data)
        except RefusedPickleError as refused:
            assert "at byte" in str(refused)  # noqa: PT017  a value is an outcome too


@given(st.data())
def test_damaged_pickles_are_read_or_refused(data: st.DataObject) -> None:
    """A pickle with a byte changed gives a value or this one error."""
    step = {
        "prev_obs": collections.OrderedDict(image=np.zeros((3, 2), np.uint8)),
        "reward": np.float64(1),
        "n": [1, "a"],
    }
    stored = bytearray(pickle.dumps([step, step], data.draw(st.sampled_from(PROTOCOLS))))
    stored[data.draw(st.integers(0, len(stored) - 1))] = data.draw(st.integers(0, 255))
    try:
        loads(bytes(stored))
    except RefusedPickleError as refused:
        assert "at byte" in str(refused)  # noqa: PT017


def test_dates_keep_their_fold() -> None:
    """The second of two equal times at the end of summer time stays the second."""
    date = dt.datetime(2021, 10, 31, 2, 30, 0, 5, fold=1)  # noqa: DTZ001  it has no zone
    read = loads(pickle.dumps(date))
    assert (read, read.fold) == (date, 1)


def test_load_reads_a_file_in_pieces() -> None:
    """If a file returns fewer bytes than requested, reading continues."""

    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 1, 7))

    array = np.arange(100, dtype=np.uint8)
    assert spelled(load(Trickle(pickle.dumps(array, 4)))) == spelled(array)


@pytest.mark.parametrize("module", [pickled_data, restricted_unpickler])
def test_docstring_examples_run(module: Any) -> None:
    """The examples in docstrings do what they show."""
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
