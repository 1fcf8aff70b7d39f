"""XOR_RUNS: rows come back, C and Python write and read the same, and what no filter makes is refused."""

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, runs
from rlds_kit.storage.column_layout import MOST_FILTERED, layout_of
from rlds_kit.storage.compression import FAST_LEVEL, THOROUGH_LEVEL
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.rows import Rows
from tests import independent_reader
from tests.storage.image_columns import (
    Always,
    as_rows,
    assert_comes_back,
    assert_the_first_rows_are_decoded_alone,
    column_of,
)

UNDO = (runs.unruns, runs.unruns_twin)
MAKE = (runs.runs, runs.runs_twin)
WIDTHS = (1, 7, 8, 64, 65, 200, 65_535, 65_536, 65_537, 200_000)


@st.composite
def rows_with_runs(draw: st.DrawFn) -> Rows:
    """Rows like those before but for some stretches, which may be as long as a row, or beside each other."""
    count, width = draw(st.integers(1, 5)), draw(st.sampled_from(WIDTHS))
    rows = np.full((count, width), draw(st.sampled_from([0, 7])), np.uint8)
    lengths = st.sampled_from([1, 2, 3, 5, 40, 65_534, 65_535, 65_536, 131_071])
    for row, begin, length in draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, width - 1), lengths))):
        rows[row, begin : begin + length] = np.random.default_rng(begin).integers(0, 3, len(rows[row, begin:][:length]))
    return rows


def undone(undo: Any, stored: np.ndarray, shape: tuple[int, int]) -> Any:
    """The rows, or that they were refused."""
    out = np.full(shape, 9, np.uint8)
    try:
        undo(stored, out)
    except ValueError:
        return "refused"
    return out.tolist()


def spread(*parts: tuple[str, tuple[int, ...]]) -> np.ndarray:
    """Stored bytes, put together by hand: formats of struct, and numbers."""
    return np.frombuffer(b"".join(struct.pack(f"<{len(numbers)}{kind}", *numbers) for kind, numbers in parts), np.uint8)


@settings(deadline=None)
@given(rows_with_runs())
def test_both_implementations_write_and_read_the_same(rows: Rows) -> None:
    """The C extension writes the bytes that the NumPy twin writes, and each undoes the other's."""
    stored, other = [make(rows) for make in MAKE]
    assert np.array_equal(stored, other)
    for undo in UNDO:
        out = np.full_like(rows, 9)
        undo(stored, out)
        assert np.array_equal(out, rows)


@settings(deadline=None)
@given(rows_with_runs(), st.integers(0, 63), st.integers(0, 255), st.booleans())
def test_damage_is_refused_alike(rows: Rows, at: int, byte: int, is_cut: bool) -> None:
    """Bytes that no filter made are refused by both implementations, or give the same rows."""
    stored = runs.runs(rows)[: -at or None].copy() if is_cut else runs.runs(rows).copy()
    if stored.size:
        stored[at % stored.size] = byte
    assert undone(UNDO[0], stored, rows.shape) == undone(UNDO[1], stored, rows.shape)


@given(st.binary(max_size=60), st.integers(1, 4), st.integers(1, 17))
def test_anything_is_refused_alike(stored: bytes, count: int, width: int) -> None:
    given_ = np.frombuffer(stored, np.uint8)
    assert undone(UNDO[0], given_, (count, width)) == undone(UNDO[1], given_, (count, width))


@pytest.mark.parametrize("undo", UNDO)
@pytest.mark.parametrize(
    "stored",
    [
        spread(("I", (1,))),  # a row has no number of runs
        spread(("I", (1, 0))),  # a run has no place
        spread(("I", (1, 0)), ("H", (7, 2)), ("B", (1, 2))),  # a run goes beyond its row
        spread(("I", (1, 0)), ("H", (9, 0))),  # a gap does
        spread(("I", (2, 0)), ("H", (5, 1, 3, 0)), ("B", (1,))),  # the second gap does
        spread(("I", (1, 0)), ("H", (0, 2)), ("B", (1,))),  # a run has a byte too few
        spread(("I", (1, 0)), ("H", (0, 2)), ("B", (1, 2, 3))),  # a byte too many
        spread(("I", (2**32 - 1, 2**32 - 1)), ("H", (0, 1)), ("B", (1,))),  # more runs than there is memory
    ],
)
def test_contradictions_are_refused(undo: Any, stored: np.ndarray) -> None:
    """Each error describes what does not fit, and no byte outside the given ones is accessed."""
    with pytest.raises(ValueError, match="runs and their bytes do not fit together"):
        undo(stored, np.zeros((2, 8), np.uint8))


@pytest.mark.parametrize("undo", UNDO)
def test_runs_of_other_writers_are_read(undo: Any) -> None:
    """A run may be empty, divided in two, or contain bytes that do not differ."""
    out = np.full((2, 4), 9, np.uint8)
    undo(spread(("I", (3, 1)), ("H", (0, 1, 0, 2, 1, 0)), ("H", (3, 1)), ("B", (1, 0, 3, 4))), out)
    assert out.tolist() == [[1, 0, 3, 0], [1, 0, 3, 4]]


@settings(max_examples=25, deadline=None)
@given(rows_with_runs().filter(lambda rows: rows.size < 2_000))
def test_a_reader_that_was_written_from_the_page_alone_agrees(rows: Rows) -> None:
    """docs/format.md is sufficient."""
    stored = runs.runs(rows).tobytes()
    assert independent_reader.unfilter(pb.XOR_RUNS, stored, *rows.shape, 1, rows.shape[1:]) == rows.tobytes()


@pytest.mark.parametrize("width", [20, 21, 22, runs.WIDE, runs.WIDE + 1, runs.WIDE + 2, 100, 1_000, 70_000])
@pytest.mark.parametrize("every", [1, 2, 3, 4])
def test_the_worst_rows_are_not_too_large_for_readers(width: int, every: int) -> None:
    """Of rows of 20 bytes or more `runs` makes at most twice as many, whatever is in them; fewer are never tried."""
    rows = np.zeros((3, width), np.uint8)
    rows[:, ::every] = [[1], [2], [3]]
    assert runs.runs(rows).size <= MOST_FILTERED * rows.size


@pytest.mark.parametrize("width", [1, 3, 19, 20, runs.WIDE - 1, runs.WIDE, runs.WIDE + 1, 300])
def test_rows_of_every_width_are_stored_as_readers_take_them(width: int) -> None:
    """Also those of which runs would be largest: nothing is written that is refused later."""
    values = np.zeros((64, width), np.uint8)
    values[:, ::3] = np.arange(64)[:, None] % 2 + 1
    header, payload = column_encoder.encode(column_of(values), FilterChoice())
    read = columns.decode(layout_of(header, "here"), payload, "here")
    assert np.array_equal(read.values, values)


@pytest.mark.parametrize("shape", [(40,), (9, 30), (7, 16, 3)])
def test_columns_with_missing_rows_come_back(shape: tuple[int, ...]) -> None:
    """Runs see only the rows that have a value."""
    values = np.random.default_rng(0).integers(0, 2, (5, *shape), np.uint8)
    for rows in ([0, 1, 2, 3, 4], [3, 4, 9, 10, 20]):
        assert_comes_back(column_of(values, rows), Choice(pb.XOR_RUNS, FAST_LEVEL))


@pytest.fixture(scope="module")
def frames() -> np.ndarray:
    """Of a game, `[64, 210, 160, 3]`."""
    ale = pytest.importorskip("ale_py", reason="needs the extra `atari`").ALEInterface()
    ale.setInt("random_seed", 0)
    ale.loadROM(pytest.importorskip("ale_py.roms").get_rom_path("space_invaders"))
    found = []
    for number in range(64):
        for _ in range(4):
            ale.act(number % 6)
        found.append(ale.getScreenRGB())
    return np.stack(found)


def test_frames_of_a_game_are_made_runs_of_which_take_fewer_bytes_than_a_bitmap(frames: np.ndarray) -> None:
    """What changes side by side is what the filter is for."""
    column = column_of(frames)
    chosen, _ = column_encoder.encode(column, FilterChoice())
    assert chosen.filter == pb.XOR_RUNS
    other, _ = column_encoder.encode(column, Always(Choice(pb.SPARSE_XOR, THOROUGH_LEVEL)))
    assert 10 * chosen.length < 9 * other.length


def test_short_rows_are_not_made_runs_of(frames: np.ndarray) -> None:
    """Readers would refuse what that may make: the choice of longer rows of the same field is not taken for them."""
    choose, key = FilterChoice(), ColumnKey("x", pb.ARRAY, np.dtype(np.uint8), 3)
    short: Rows = np.random.default_rng(0).integers(0, 256, (64, runs.WIDE - 1), np.uint8)
    assert choose(key, as_rows(frames), frames.dtype, frames.shape[1:]).filter == pb.XOR_RUNS
    assert choose(key, short, short.dtype, short.shape[1:]).filter == pb.SPARSE_XOR


@pytest.mark.parametrize("until", [0, 1, 20, 40])
def test_the_first_rows_of_a_block_are_decoded_alone(until: int) -> None:
    """In place, where frames are large; what comes after them does not matter."""
    assert_the_first_rows_are_decoded_alone(until, Choice(pb.XOR_RUNS, FAST_LEVEL))


@pytest.mark.parametrize("offset", [0, 1, 64])
def test_many_rows_are_undone_in_memory_that_was_used_before(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written past the cache, unless they begin at an odd place; damage is refused."""
    monkeypatch.setattr(runs, "array_bytes", lambda _: 1 << 40)  # larger than every cache
    rows = np.zeros((600, 1 << 12), np.uint8)
    for row in range(600):
        rows[row:, row * 5 : row * 5 + 30] += 1
    stored = runs.runs(rows)
    array = np.full(offset + rows.size, 7, np.uint8)
    out: Rows = array[offset:].reshape(rows.shape)
    runs.unruns(stored, out)
    assert np.array_equal(out, rows)
    with pytest.raises(ValueError, match="do not fit together"):
        runs.unruns(stored[:-1], out)
