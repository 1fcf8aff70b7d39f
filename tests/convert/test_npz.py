"""NPZ files: arrays are decompressed when they are needed, and damage is an error whenever it is found."""

import threading
import time
import weakref
import zipfile
from pathlib import Path
from typing import IO, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from rlds_kit.base.errors import FormatError
from rlds_kit.convert import npz, npz_array
from rlds_kit.convert.arrays import ArraysReader
from rlds_kit.convert.conversion import convert
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.npz import extract_npz, map_extracted, open_npz
from rlds_kit.convert.npz_array import NpzArray

LARGE = np.random.default_rng(0).normal(size=(20_000, 3))
ARRAYS: dict[str, Any] = {
    "observations": LARGE,
    "infos/turned": np.asfortranarray(LARGE),
    "infos/../é": np.arange(5, dtype=np.int16),
    "metadata/number": np.float32(1.5),
    "metadata/nothing": np.zeros((0, 4)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of a few arrays."""
    np.savez_compressed(tmp_path / "a.npz", **ARRAYS)
    return tmp_path / "a.npz"


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The arrays of a nest, by path."""
    found: dict[str, Any] = {}
    for name, each in tree.items():
        found |= flat(each, f"{prefix}{name}/") if isinstance(each, dict) else {f"{prefix}{name}": each}
    return found


def assert_arrays(tree: dict[str, Any]) -> None:
    """They are those that were written."""
    found = flat(tree)
    assert found.keys() == ARRAYS.keys()
    for name, each in ARRAYS.items():
        expected = np.asarray(each)
        assert (found[name].dtype, found[name].shape, found[name].ndim) == (expected.dtype, expected.shape, each.ndim)
        np.testing.assert_array_equal(found[name][()], expected)


def test_arrays_are_those_that_were_written(path: Path, tmp_path: Path) -> None:
    """From the file and from a directory, whatever their names are; nothing is written outside."""
    assert_arrays(open_npz(path))
    extract_npz(path, tmp_path / "extracted")
    assert_arrays(map_extracted(tmp_path / "extracted"))
    assert sorted(each.name for each in (tmp_path / "extracted").iterdir())[:2] == ["0.npy", "1.npy"]
    assert {each.name for each in tmp_path.iterdir()} == {"a.npz", "extracted"}


def test_only_what_is_needed_is_decompressed(path: Path) -> None:
    """One array whole is read alone; rows of one are followed by rows of the others."""
    tree = open_npz(path)
    members = flat(tree)
    assert float(members["metadata/number"][()]) == 1.5
    assert [name for name, each in members.items() if each.is_started] == ["metadata/number"]
    assert members["observations"][3:5].tolist() == LARGE[3:5].tolist()
    assert all(each.is_started for each in members.values())


def test_headers_are_not_parsed_by_threads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 may fail in `ast.literal_eval` of two threads: https://github.com/python/cpython/issues/106905."""
    threads = []

    def header(file: IO[bytes]) -> Any:
        threads.append(threading.current_thread())
        return npy.read_array_header_1_0(file)

    monkeypatch.setitem(npz._HEADERS, (1, 0), header)
    assert_arrays(open_npz(path))
    assert threads == [threading.main_thread()] * len(ARRAYS)


def test_rows_are_returned_before_the_rest_is_decompressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows of a large array are there, and its last ones raise an error, as their checksum is wrong."""
    go_on, notify = threading.Event(), NpzArray.notify

    def held(member: Any, more: int, error: Exception | None = None) -> None:
        notify(member, more, error)
        if member.info.filename == "observations.npy" and more:
            assert go_on.wait(60)

    monkeypatch.setattr(NpzArray, "notify", held)
    path, rows = tmp_path / "a.npz", np.arange(1_000_000).reshape(-1, 4)
    ends = np.arange(len(rows)) % 100 == 99
    np.savez(path, observations=rows, turned=np.asfortranarray(rows), actions=rows[:, 0], terminals=ends)
    data = bytearray(path.read_bytes())
    end = data.index(b"turned.npy")
    data[end - 1_000] ^= 1
    path.write_bytes(data)
    members = flat(open_npz(path))
    assert members["observations"][:1000].tolist() == rows[:1000].tolist()
    go_on.set()
    for key in (slice(len(rows) - 1, None), slice(None, None, -1), -1, ()):
        with pytest.raises(FormatError, match="CRC"):
            members["observations"][key]
    assert np.array_equal(members["turned"][5:7], rows[5:7])
    with pytest.raises(FormatError, match="CRC"):
        convert(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@given(begin=st.integers(-20, 20), stop=st.integers(-20, 20), step=st.sampled_from([-3, -1, 1, 2]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_of_an_array(path: Path, begin: int, stop: int, step: int) -> None:
    """Those of NumPy's slices."""
    rows = slice(begin, stop, step)
    for name in ("observations", "infos/turned", "infos/../é", "metadata/nothing"):
        assert np.array_equal(flat(open_npz(path))[name][rows], ARRAYS[name][rows])


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of some kilobytes count as large, of which only some rows are in memory."""
    for name, size in (("WHOLE", 999), ("PIECE", 1_000), ("AHEAD", 3_000), ("KEPT", 2_000)):
        monkeypatch.setattr(npz_array, f"_{name}_BYTES", size)
    monkeypatch.setattr(npz_array, "COPIED_BYTES", 300)


@pytest.mark.usefixtures("pieces")
@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 900), st.sampled_from([-2, -1, 1, 3])), max_size=8))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_rows_of_a_large_array(path: Path, requests: list[tuple[int, int, int]]) -> None:
    """In any order: rows that are not kept are decompressed again."""
    array = flat(open_npz(path))["observations"]
    for begin, count, step in requests:
        rows = slice(begin, begin + count, step) if step > 0 else slice(begin + count, begin, step)
        np.testing.assert_array_equal(array[rows], LARGE[rows])
    np.testing.assert_array_equal(array[()], LARGE)


@pytest.mark.usefixtures("pieces")
def test_a_large_array_is_never_whole_in_memory(path: Path) -> None:
    """Rows are requested in order, or again, as episodes are; two arrays do not wait for each other."""
    members = flat(open_npz(path))
    array, opened = members["observations"], mock.Mock(wraps=zipfile.ZipFile)
    with mock.patch("zipfile.ZipFile", opened):
        for begin in range(0, len(LARGE), 20):
            first = max(0, begin - 50)
            np.testing.assert_array_equal(array[first : begin + 20], LARGE[first : begin + 20])
            np.testing.assert_array_equal(members["infos/turned"][begin : begin + 20], LARGE[begin : begin + 20])
            with array._arrays.changed:
                assert _bytes_in_memory(array) < 10_000 < LARGE.nbytes // 40
        assert opened.call_count == 1
        for count in range(2, 9):  # no more is kept than before
            np.testing.assert_array_equal(array[:5], LARGE[:5])
            np.testing.assert_array_equal(array[900:1_000], LARGE[900:1_000])
            assert opened.call_count == count
        with array._arrays.changed:
            array._arrays.changed.wait_for(lambda: not array._is_running)
            assert _bytes_in_memory(array) < 10_000


def _bytes_in_memory(array: Any) -> int:
    return sum(len(each.memory) for each in array._pieces)


@pytest.mark.usefixtures("pieces")
def test_more_rows_are_kept_where_they_are_requested_again(path: Path) -> None:
    """Long episodes are not decompressed from the first row for each of their parts."""
    opened = mock.Mock(wraps=zipfile.ZipFile)
    with mock.patch("zipfile.ZipFile", opened):
        array = flat(open_npz(path))["observations"]
        for begin in range(0, len(LARGE), 700):
            for rows in (slice(begin, begin + 700), slice(begin + 700, begin + 900), slice(begin, begin + 10)):
                np.testing.assert_array_equal(array[rows], LARGE[rows])
    assert 2 < opened.call_count < 8


@pytest.mark.usefixtures("pieces")
def test_rows_in_one_piece_are_not_copied(path: Path) -> None:
    """Nor those of an array in Fortran's order, which is whole in memory."""
    members = flat(open_npz(path))
    for name, first in (("observations", 100), ("infos/turned", 0)):
        one, other = members[name][first : first + 5], members[name][first + 3 : first + 9]
        assert np.shares_memory(one, other)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("first", [None, 15_000, 19_990])
def test_rows_that_are_skipped_are_not_kept(path: Path, first: int | None) -> None:
    """Before the first request, or when it starts again far from the beginning."""
    array, most = flat(open_npz(path))["observations"], 0
    add_piece = array._add_piece

    def watched() -> None:
        nonlocal most
        add_piece()
        most = max(most, _bytes_in_memory(array))

    with mock.patch.object(array, "_add_piece", watched):
        for begin in (first, 12_000, 11_000):
            if begin is not None:
                np.testing.assert_array_equal(array[begin : begin + 30], LARGE[begin : begin + 30])
    assert most < 20_000 < LARGE.nbytes // 20


@pytest.mark.usefixtures("pieces")
def test_a_large_array_that_is_read_whole_is_not_copied(path: Path) -> None:
    """Such as the weights of a policy beside the steps."""
    array = flat(open_npz(path))["observations"]
    assert np.shares_memory(array[()], array[()])
    np.testing.assert_array_equal(array[-1], LARGE[-1])


@pytest.mark.parametrize("whole", [True, False])
def test_files_are_closed(path: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool) -> None:
    """With the last value that is read, or when the arrays are not used any more; no thread remains."""
    opened = list[zipfile.ZipFile]()
    original = zipfile.ZipFile

    def noted(*args: Any) -> zipfile.ZipFile:
        opened.append(original(*args))
        return opened[-1]

    def used() -> weakref.ref[Any]:
        members = flat(open_npz(path))
        monkeypatch.setattr("zipfile.ZipFile", noted)
        for each in members.values():
            each[()] if whole else each[:2] if each.ndim else None
        assert (opened[-1]._fileRefCnt == 0) == whole  # type: ignore[attr-defined]
        return weakref.ref(members["observations"]._arrays)

    for name in ("_AHEAD_BYTES", "COPIED_BYTES"):
        monkeypatch.setattr(npz_array, name, 1_000)
    gone = used()
    while any(thread.name == "rlds_kit-npz" for thread in threading.enumerate()):
        time.sleep(0.01)
    assert gone() is None
    assert {each._fileRefCnt for each in opened} == {0}  # type: ignore[attr-defined]


@pytest.mark.usefixtures("pieces")
def test_a_file_that_cannot_be_opened_again(path: Path) -> None:
    """Each request raises an error that says so, until it can."""
    array = flat(open_npz(path))["observations"]
    np.testing.assert_array_equal(array[5_000:5_005], LARGE[5_000:5_005])
    path.rename(path.with_suffix(".moved"))
    for _ in range(2):
        with pytest.raises(FormatError, match="No such file"):
            array[:5]
    path.with_suffix(".moved").rename(path)
    np.testing.assert_array_equal(array[:5], LARGE[:5])


def test_ctrl_c_while_a_thread_starts(path: Path) -> None:
    """The array does not wait for a thread twice."""
    array = flat(open_npz(path))["observations"]
    with mock.patch("threading.Thread.start", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        array[:5]
    assert not array._arrays._waiting
    np.testing.assert_array_equal(array[:], LARGE)


def test_ctrl_c_ends_the_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is decompressed; a later request goes on."""
    monkeypatch.setattr(npz_array, "COPIED_BYTES", 1_000)
    array = flat(open_npz(path))["observations"]
    with mock.patch.object(array._arrays.changed, "wait_for", side_effect=KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            array[:20_000]
        assert array._wanted == 0
    np.testing.assert_array_equal(array[:], LARGE)


@pytest.mark.usefixtures("pieces")
def test_many_large_arrays(tmp_path: Path) -> None:
    """More than there are threads: none waits for one whose rows are not requested."""
    arrays: dict[str, Any] = {f"x{number}": LARGE + number for number in range(9)}
    np.savez(tmp_path / "a.npz", **arrays)
    members = flat(open_npz(tmp_path / "a.npz"))
    for name in sorted(arrays, reverse=True):
        np.testing.assert_array_equal(members[name][:], arrays[name])


@pytest.mark.usefixtures("pieces")
def test_large_arrays_are_converted_in_parts(tmp_path: Path) -> None:
    """To what they are converted where they are whole in memory, in any order; damage at their end is an error."""
    ends, after = np.arange(len(LARGE)) % 700 == 699, np.roll(LARGE, -1, axis=0)
    np.savez(tmp_path / "a.npz", observations=LARGE, next_observations=after, actions=LARGE[:, 0], terminals=ends)
    found = convert(tmp_path / "a.npz", tmp_path / "pieces", part_bytes=10_000)
    reader, parts = ArraysReader(tmp_path / "a.npz"), [(0, 900), (900, 1_000), (1_000, 4_000)]
    in_any_order = {begin: [*map(content_of, reader.read(begin, end))] for begin, end in reversed(parts)}
    with mock.patch.object(npz_array, "_WHOLE_BYTES", 1 << 30):
        expected = convert(tmp_path / "a.npz", tmp_path / "whole", part_bytes=10_000)
        whole = ArraysReader(tmp_path / "a.npz")
        assert in_any_order == {begin: [*map(content_of, whole.read(begin, end))] for begin, end in parts}
    assert (found.content_digest, found.steps) == (expected.content_digest, expected.steps)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.index(b"actions.npy", data.index(b"observations.npy") + 100) - 200] ^= 1  # in its last rows
    (tmp_path / "b.npz").write_bytes(data)
    with pytest.raises(FormatError, match="CRC"):
        convert(tmp_path / "b.npz", tmp_path / "damaged", part_bytes=10_000)


def test_damage_is_an_error_when_it_is_read(tmp_path: Path) -> None:
    """Also where only the values of one array are damaged; a conversion leaves nothing."""
    path = tmp_path / "a.npz"
    ends = np.arange(20_000) % 100 == 99
    np.savez(path, observations=LARGE, actions=LARGE[:, 0], terminals=ends)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # without compression, this is a value of an array
    path.write_bytes(data)
    tree = open_npz(path)
    with pytest.raises(FormatError, match="CRC"):
        tree["observations"][:5]
    assert tree["observations"]._file.closed
    with pytest.raises(FormatError, match="CRC"):
        extract_npz(path, tmp_path / "extracted")
    for workers in (1, 2):
        with pytest.raises(FormatError, match="CRC"):
            convert(path, tmp_path / f"to-{workers}", workers=workers, part_bytes=1 << 16)
        assert not (tmp_path / f"to-{workers}").exists()


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("'|S0'", "(10,)", 0), ("('<f4', (2,))", "(10,)", 80), ("[]", "(10,)", 0), ("'<f4'", "(-1, -2)", 8)],
)
def test_headers_of_no_array(tmp_path: Path, dtype: str, shape: str, size: int) -> None:
    """Types without bytes, types that are arrays, and negative lengths."""
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}".encode()
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("goal.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size))
    with pytest.raises(FormatError, match="is no array"):
        open_npz(tmp_path / "a.npz")


def test_many_arrays(tmp_path: Path) -> None:
    """They have one open file."""
    arrays: dict[str, Any] = {f"x{number}": np.full(3, number) for number in range(300)}
    np.savez(tmp_path / "a.npz", **arrays)
    with mock.patch("zipfile.ZipFile", wraps=zipfile.ZipFile) as opened:
        members = flat(open_npz(tmp_path / "a.npz"))
        assert all(np.array_equal(members[name][:], array) for name, array in arrays.items())
        assert opened.call_count == 2


def test_a_thread_that_does_not_start_is_an_error(path: Path) -> None:
    """Also the next time, until one starts."""
    member = flat(open_npz(path))["observations"]
    with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="new thread"):
                member[:3]
            assert not member._arrays._waiting
    assert np.array_equal(member[:3], LARGE[:3])


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a")])
def test_a_name_is_not_an_array_and_a_group(tmp_path: Path, names: tuple[str, str]) -> None:
    """In either order; one of both would be lost."""
    arrays: dict[str, Any] = {name: np.arange(3) for name in names}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FormatError, match="by name, got a"):
        open_npz(tmp_path / "a.npz")
