"""Pieces of columns, and the records of their blocks: the same in C and in Python."""

import doctest
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, filters, lane_pieces
from rlds_kit.storage.block_header import after_rows, before_rows
from rlds_kit.storage.leaf import ColumnKey

RELATIONS: Final = [-1, *lane_pieces.RELATION.values()]


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
    bounds = np.array([each for each in pieces if each[0] + each[1] * width <= len(data)], np.int64).reshape(-1, 2)
    arguments = (data, bounds, width, itemsize, relation, 32, 2048)
    assert lane_pieces.describe(*arguments) == lane_pieces.describe_in_python(*arguments)


@pytest.mark.skipif(block.native is None, reason="the C extension is not built")
@pytest.mark.parametrize("size", [*range(1, 300), 511, 512, 513, 1023, 1024, 1025, 1088, 2049, 5000])
def test_hashes_are_those_of_xxhash(size: int) -> None:
    """Of every length that is hashed in a way of its own."""
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    arguments = (data, np.array([[0, size]]), 1, 1, -1, 32, 2048)
    assert lane_pieces.describe(*arguments) == lane_pieces.describe_in_python(*arguments)


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize("piece", [(-1, 1), (0, 0), (0, -1), (90, 2), (101, 1), (1 << 62, 1), (0, 1 << 62)])
def test_pieces_outside_of_their_column_are_refused(piece: tuple[int, int]) -> None:
    """No byte of other memory is read."""
    with pytest.raises(ValueError, match="expected pieces of 8 bytes a row in 100 bytes"):
        lane_pieces.describe(np.zeros(100, np.uint8), np.array([piece]), 8, 8, 0, 32, 2048)


@pytest.mark.parametrize(("width", "itemsize", "relation"), [(0, 1, 0), (8, 0, 0), (8, 3, 0), (6, 6, 2), (-8, 8, 0)])
def test_rows_that_are_no_elements_are_refused(width: int, itemsize: int, relation: int) -> None:
    """Differences need numbers."""
    if block.native is not None:
        with pytest.raises(ValueError, match="expected pieces of"):
            lane_pieces.describe(np.zeros(96, np.uint8), np.array([[0, 2]]), width, itemsize, relation, 1, 2048)


def _fields(data: np.ndarray, frames: bytes, table: Any, path: str = "observation") -> block.LaneFields:
    key = ColumnKey(path, pb.ARRAY, np.dtype(np.float32), 1)
    return before_rows(key), after_rows(key, (4,)), data, frames, np.array(table, np.int64).reshape(-1, 8)


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
    ids = data.draw(st.binary(min_size=16 * blocks, max_size=16 * blocks))
    bounds = np.array([data.draw(st.tuples(NUMBERS, NUMBERS)) for _ in range(blocks)], np.int64).reshape(-1, 2)
    assert block.join_lanes(ids, bounds, columns) == block.join_lanes_in_python(ids, bounds, columns)


@pytest.mark.parametrize("join", [block.join_lanes, block.join_lanes_in_python])
@pytest.mark.parametrize("place", [(0, -1, 1), (0, 0, -1), (0, 10, 1), (0, 1, 10), (1, 3, 3), (0, 1 << 62, 1 << 62)])
def test_payloads_outside_of_their_column_are_refused(join: Any, place: tuple[int, int, int]) -> None:
    """No byte of other memory is read."""
    column = _fields(np.zeros(10, np.uint8), b"frames"[:5], [(0, 1, 0, 0, 4, *place)])
    with pytest.raises(ValueError, match="expected the places of 1 payloads in 10 bytes"):
        join(b"x" * 16, np.array([[0, 1]]), [column])


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
@pytest.mark.parametrize(("ids", "rows"), [(15, 1), (16, 2), (32, 1)])
def test_ids_and_rows_have_the_same_number(ids: int, rows: int) -> None:
    with pytest.raises(ValueError, match=f"expected two rows for each of {ids} bytes of ids"):
        block.join_lanes(bytes(ids), np.zeros((rows, 2), np.int64), [])


@pytest.mark.skipif(block.native is None, reason="the twin leaves this to NumPy")
def test_tables_have_a_row_for_each_block() -> None:
    column = _fields(np.zeros(10, np.uint8), b"", [(0, 1, 0, 0, 4, 0, 0, 4)] * 2)
    with pytest.raises(ValueError, match="expected the places of 1 payloads"):
        block.join_lanes(bytes(16), np.zeros((1, 2), np.int64), [column])
    with pytest.raises(TypeError, match="expected a tuple"):
        block.join_lanes(bytes(16), np.zeros((1, 2), np.int64), [[*column]])  # type: ignore[list-item]


def test_examples() -> None:
    assert doctest.testmod(lane_pieces).failed == 0
