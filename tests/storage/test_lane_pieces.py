"""Pieces of columns, and the records of their blocks: the same in C and in Python."""

import doctest
import sys
from array import array
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, filters, lane_pieces, piece_functions
from rlds_kit.storage.block_header import after_rows, before_rows
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.lane_pieces import LaneColumn
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.piece_functions import Described, Storing

RELATIONS: Final = [-1, *piece_functions.RELATION.values()]


@given(
    st.binary(min_size=1, max_size=4).map(lambda few: few * 2000),
    st.sampled_from([1, 2, 3, 4, 8, 24, 120]),
    st.sampled_from(RELATIONS),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 30)), max_size=6),
    st.integers(0, 4000),
)
def test_c_and_python_describe_alike(few: bytes, width: int, relation: int, pieces: Any, noisy: int) -> None:
    """What is repeated, hashes of all sizes, and byte planes."""
    data = np.frombuffer(few, np.uint8).copy()
    data[noisy:] ^= np.arange(len(data) - noisy, dtype=np.uint8) // 7
    itemsize = next(size for size in (8, 4, 2, 3, 1) if width % size == 0)
    if relation == filters.RELATION[pb.DELTA_SHUFFLE] and itemsize == 3:
        return
    spans = _spans(*[(each, count, width) for each, count in pieces if each + count * width <= len(data)])
    arguments = Described(data, spans, width, itemsize, relation, 32, 2048)
    assert piece_functions.describe((arguments,) * 2) == piece_functions.describe_in_python((arguments,) * 2)


def _spans(*pieces: tuple[int, int, int]) -> bytes:
    """Of the byte at which each begins, its rows, and their bytes."""
    spans = [(7, 7 + count, begin, begin + count * width) for begin, count, width in pieces]
    return np.array(spans, np.int64).tobytes()


@pytest.mark.skipif(block.native is None, reason="the C extension is not built")
@pytest.mark.parametrize("size", [*range(1, 300), 511, 512, 513, 1023, 1024, 1025, 1088, 2049, 5000])
def test_hashes_are_those_of_xxhash(size: int) -> None:
    """Of every length that is hashed in a way of its own."""
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    arguments = Described(data, _spans((0, size, 1)), 1, 1, -1, 32, 2048)
    assert piece_functions.describe((arguments,) * 2) == piece_functions.describe_in_python((arguments,) * 2)


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize(
    "span",
    [(0, 1, -1, 7), (1, 0, 8, 0), (-1, 0, 0, 8), (0, 2, 90, 106), (0, 1, 101, 109), (0, 1, 0, 7), (0, 2, 0, 8)],
)
def test_pieces_outside_of_their_column_are_refused(span: tuple[int, int, int, int]) -> None:
    """No byte of other memory is read."""
    spans = np.array(span, np.int64).tobytes()
    with pytest.raises(ValueError, match="expected pieces of 8 bytes a row in 100 bytes"):
        piece_functions.describe((Described(np.zeros(100, np.uint8), spans, 8, 8, 0, 32, 2048),))
    with pytest.raises(ValueError, match="expected pieces of 8 bytes a row in 100 bytes"):
        piece_functions.stored(
            np.zeros(100, np.uint8), spans, b"\0", b"\0", bytes(16), array("q"), Storing(8, 0, 32, 9, b"")
        )
    with pytest.raises(ValueError, match="expected pieces of"):
        piece_functions.describe((Described(np.zeros(100, np.uint8), spans[1:], 8, 8, 0, 32, 2048),))


def test_columns_are_encoded_together_as_far_as_memory_admits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same results; of a column whose filter is not known yet, all pieces are encoded too."""
    rng, rows = np.random.default_rng(1), np.array([[0, 0, 90, 0], [1, 10, 90, 5]])
    columns = [
        LaneColumn(
            ColumnKey(f"info/{number}", pb.ARRAY, np.dtype(np.int64), 0), rng.integers(0, 9, (2, 90)), number == 1
        )
        for number in range(5)
    ]
    describe, counts, choose = piece_functions.describe, list[int](), FilterChoice()

    def counted(several: tuple[Described, ...]) -> Any:
        counts.append(len(several))
        return describe(several)

    monkeypatch.setattr(lane_pieces, "describe", counted)
    found = lane_pieces.pack_pieces(columns, rows, choose)
    assert counts == [5] + [1] * 5  # each one again, whose filter was chosen
    assert [each.is_encoded for each in found] == [b"\x01\x01"] * 5
    assert lane_pieces.pack_pieces(columns, rows, choose) == found
    monkeypatch.setattr(lane_pieces, "TOGETHER_BYTES", 2 * columns[0].values.nbytes)
    del counts[:]
    assert lane_pieces.pack_pieces(columns, rows, choose) == found
    assert counts == [2, 2, 1]


def test_what_is_found_of_columns_is_freed() -> None:
    """Each result has one reference, which the caller has."""
    data, spans = (np.arange(4096) % 251).astype(np.uint8), _spans(*((512 * number, 64, 8) for number in range(8)))
    found = piece_functions.describe((Described(data, spans, 8, 8, 0, 32, 2048),))[0]
    assert len(found[4]) == 16 * 8
    references = [sys.getrefcount(each) for each in found]
    assert references == [references[0]] * len(found)


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
def test_what_are_no_columns_is_refused() -> None:
    """Nothing that was given is held afterwards."""
    data, fine = bytearray(16), _spans((0, 2, 8))
    right: Any = (data, fine, 8, 8, 0, 32, 2048)
    wrong: list[Any] = [(), None, (data, fine, 8, 3, 0, 32, 2048), (data, fine[1:], 8, 8, 0, 32, 2048), (data, fine)]
    for each in wrong:
        with pytest.raises((TypeError, ValueError)):
            piece_functions.describe((right, each))
        data += bytes(8)  # a BufferError while a buffer of it is open
    with pytest.raises(TypeError, match="expected a tuple of columns"):
        piece_functions.describe([])  # type: ignore[arg-type]
    assert piece_functions.describe(()) == []


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize(
    "rows", [(-1, 0, 1, 0), (2, 0, 1, 0), (0, -1, 1, 0), (0, 2, 1, 0), (0, 0, 4, 0), (0, 0, 1, -1)]
)
def test_rows_outside_of_their_lanes_are_refused(rows: tuple[int, int, int, int]) -> None:
    """Nor is any flag of other memory read."""
    with pytest.raises(ValueError, match="expected rows in 2 lanes of 3 rows"):
        piece_functions.spans_of(np.array([rows]), (2, 3), 8, False, None)
    good = np.array([(1, 0, 3, 0)])
    spans, _ = piece_functions.spans_of(good, (2, 3), 8, False, np.ones((3, 2), np.bool_))
    assert np.frombuffer(spans, np.int64).tolist() == [0, 3, 24, 48]
    for present in (np.ones((2, 2), np.bool_), np.ones((3, 3), np.bool_)):
        with pytest.raises(ValueError, match="expected rows in 2 lanes of 3 rows"):
            piece_functions.spans_of(good, (2, 3), 8, False, present)


@given(st.data())
def test_c_and_python_find_the_same_spans(data: st.DataObject) -> None:
    """Rows of either side, with values everywhere, nowhere, at the ends, and with gaps among them."""
    lanes, length = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 9))
    ends = st.integers(0, length)
    rows = st.tuples(st.integers(0, lanes - 1), ends, ends, st.integers(0, 3))
    blocks = [(lane, min(one, two), max(one, two), first) for lane, one, two, first in data.draw(st.lists(rows))]
    flags = data.draw(st.lists(st.booleans(), min_size=lanes * length, max_size=lanes * length))
    present = data.draw(st.sampled_from([None, np.array(flags, np.bool_).reshape(length, lanes)]))
    arguments = (np.array(blocks, np.int64).reshape(-1, 4), (lanes, length), 24, data.draw(st.booleans()), present)
    assert piece_functions.spans_of(*arguments) == piece_functions.spans_in_python(*arguments)


@given(st.data())
def test_c_and_python_store_alike(data: st.DataObject) -> None:
    """Pieces with frames and without, of equal rows and of others, none, and those that must be encoded otherwise."""
    width, memory = data.draw(st.sampled_from([1, 2, 8, 24])), np.arange(400, dtype=np.uint8) // 200
    pieces, flags, sizes = [], [], []
    for _ in range(data.draw(st.integers(0, 5))):
        count = data.draw(st.integers(0, 10))
        pieces.append((data.draw(st.integers(0, 400 - count * width)), count, width))
        flags.append(data.draw(st.tuples(st.booleans(), st.booleans(), st.booleans())))
        sizes += [data.draw(st.integers(0, 250))] * flags[-1][2]
    gaps, repeated = (bytes(each[at] for each in flags) for at in range(2))
    bounds = np.array([(0, each[2]) for each in flags], np.int64).tobytes()
    only = data.draw(st.sampled_from([None, b"", bytes(width), b"\1"]))
    how = (
        data.draw(st.sampled_from([0, 2])),
        data.draw(st.integers(0, 40)),
        data.draw(st.sampled_from([-1, 32, 1 << 62])),
    )
    arguments = (memory, _spans(*pieces), gaps, repeated, bounds, array("q", sizes), Storing(width, *how, only))
    assert piece_functions.stored(*arguments) == piece_functions.stored_in_python(*arguments)


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to Python")
def test_pieces_have_flags_and_frames() -> None:
    """As many as there are pieces, and pieces with planes."""
    native: Any = piece_functions.stored
    data, spans = np.zeros(100, np.uint8), _spans((0, 2, 8), (16, 2, 8))
    how = Storing(8, 0, 32, 9, b"")
    good: Any = (b"\0\0", b"\0\0", np.array([0, 0, 0, 16]).tobytes(), array("q", [9]), how)
    assert native(data, spans, *good) == piece_functions.stored_in_python(data, spans, *good)
    for at, other in enumerate((b"\0", b"\0\0\0", bytes(16), array("q"))):
        with pytest.raises(ValueError, match="flags of 2 pieces"):
            native(data, spans, *good[:at], other, *good[at + 1 :])
    with pytest.raises(ValueError, match="flags of 2 pieces"):
        native(data, spans, *good[:-1], how._replace(only=bytes(9)))


@pytest.mark.parametrize(("width", "itemsize", "relation"), [(0, 1, 0), (8, 0, 0), (8, 3, 0), (6, 6, 2), (-8, 8, 0)])
def test_rows_that_are_no_elements_are_refused(width: int, itemsize: int, relation: int) -> None:
    """Differences need numbers."""
    if block.native is not None:
        with pytest.raises(ValueError, match="expected pieces of"):
            piece_functions.describe(
                (Described(np.zeros(96, np.uint8), _spans((0, 2, 8)), width, itemsize, relation, 1, 2048),)
            )


def _fields(data: np.ndarray, frames: bytes, table: Any, path: str = "observation") -> block.LaneFields:
    key = ColumnKey(path, pb.ARRAY, np.dtype(np.float32), 1)
    return before_rows(key), after_rows(key, (4,)), data, frames, np.array(table, np.int64).tobytes()


NUMBERS: Final = st.one_of(st.integers(0, 300), st.integers(0, (1 << 62) - 1))


@given(st.data())
def test_c_and_python_join_alike(data: st.DataObject) -> None:
    """Numbers of all lengths, payloads of all sizes, from the column and from frames, and none."""
    blocks = data.draw(st.integers(0, 4))
    memory = np.arange(data.draw(st.integers(0, 400)), dtype=np.uint8)
    frames = bytes(range(data.draw(st.integers(0, 200))))
    columns = []
    for number in range(data.draw(st.integers(0, 3))):
        rows = []
        for _ in range(blocks):
            in_frames = data.draw(st.integers(0, 1))
            begin = data.draw(st.integers(0, len(frames if in_frames else memory)))
            size = data.draw(st.integers(0, len(frames if in_frames else memory) - begin))
            first, decoded = (data.draw(NUMBERS) for _ in range(2))
            count = data.draw(st.one_of(st.just(0), NUMBERS))  # 0: the block has no rows of this column
            rows.append((first, count, data.draw(st.integers(0, 11)), number % 2, decoded, in_frames, begin, size))
        columns.append(_fields(memory, frames, rows, f"observation/{number}"))
    numbers = np.array(data.draw(st.lists(st.integers(0, blocks - 1), max_size=6)) if blocks else [], np.int64)
    ids = data.draw(st.binary(min_size=16 * len(numbers), max_size=16 * len(numbers)))
    bounds = np.array([data.draw(st.tuples(NUMBERS, NUMBERS)) for _ in range(blocks)], np.int64).reshape(-1, 2)
    assert block.join_lanes(ids, bounds, columns, numbers) == block.join_lanes_in_python(ids, bounds, columns, numbers)


@pytest.mark.parametrize("join", [block.join_lanes, block.join_lanes_in_python])
@pytest.mark.parametrize("place", [(0, -1, 1), (0, 0, -1), (0, 10, 1), (0, 1, 10), (1, 3, 3), (0, 1 << 62, 1 << 62)])
def test_payloads_outside_of_their_column_are_refused(join: Any, place: tuple[int, int, int]) -> None:
    """No byte of other memory is read."""
    column = _fields(np.zeros(10, np.uint8), b"frames"[:5], [(0, 1, 0, 0, 4, *place)])
    with pytest.raises(ValueError, match="expected the places of 1 payloads in 10 bytes"):
        join(b"x" * 16, np.array([[0, 1]]), [column], np.array([0]))


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize(("ids", "numbers"), [(15, [0]), (16, [0, 1]), (32, [0]), (16, [2]), (16, [-1])])
def test_ids_and_numbers_are_those_of_blocks(ids: int, numbers: list[int]) -> None:
    with pytest.raises(ValueError, match=f"expected the number of a block for each of {ids} bytes of ids"):
        block.join_lanes(bytes(ids), np.zeros((2, 2), np.int64), [], np.array(numbers))


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
def test_tables_have_a_row_for_each_block() -> None:
    column = _fields(np.zeros(10, np.uint8), b"", [(0, 1, 0, 0, 4, 0, 0, 4)] * 2)
    with pytest.raises(ValueError, match="expected the places of 1 payloads"):
        block.join_lanes(bytes(16), np.zeros((1, 2), np.int64), [column], np.array([0]))
    with pytest.raises(TypeError, match="expected a tuple"):
        block.join_lanes(bytes(16), np.zeros((1, 2), np.int64), [[*column]], np.array([0]))  # type: ignore[list-item]


def test_examples() -> None:
    assert doctest.testmod(piece_functions).failed == 0
