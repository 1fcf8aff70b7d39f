"""Digests of episodes whose leaves have a common state in C: those of values that are added leaf by leaf."""

from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, leaf_states
from rlds_kit.storage.column import Column
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.lane_blocks import EncodedLanes, LaneBlocks
from rlds_kit.storage.lane_pieces import LaneColumn
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.leaf_states import StateColumn

pytestmark = pytest.mark.skipif(not leaf_states.IS_THERE, reason="the C extensions are not built")
LANES, ROWS = 2, 90
KEYS: Final = [
    ("observation", np.float32, (4,)),
    ("action", np.int64, ()),
    ("time_ns", np.int64, ()),
    ("info/x", np.bool_, (3,)),
]


def _columns(which: list[int], present: np.ndarray) -> list[LaneColumn]:
    """Some columns, of which the last one may lack values; one is a clock, whose values no digest has."""
    rng, found = np.random.default_rng(0), list[LaneColumn]()
    for at in which:
        path, dtype, shape = KEYS[at]
        values: np.ndarray = rng.integers(0, 2, (LANES, ROWS, *shape)).astype(dtype)
        key = ColumnKey(path, pb.ARRAY, np.dtype(dtype), len(shape))
        found.append(LaneColumn(key, values, path == "action", present if path == "info/x" else None))
    return found


def _cut(columns: list[LaneColumn], rows: tuple[int, int, int, int]) -> list[Column]:
    lane, begin, stop, first_row = rows
    found = []
    for key, values, is_acted, present in columns:
        places = np.arange(begin + (is_acted and first_row == 0), stop)
        places = places if present is None else places[present[places, lane]]
        if len(places):
            found.append(Column(key, places - begin + first_row - is_acted, values[lane, places]))
    return found


@given(st.data())
def test_digests_are_those_of_single_leaves(data: st.DataObject) -> None:
    """Whichever blocks follow each other, have other columns, lack rows, or are added leaf by leaf."""
    flags = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    present = np.array([flags[row // 24] for row in range(ROWS)])[:, None] | np.zeros((1, LANES), np.bool_)
    found, expected = [EpisodeDigest() for _ in range(LANES)], [EpisodeDigest() for _ in range(LANES)]
    firsts = [0] * LANES
    for _ in range(data.draw(st.integers(1, 4))):
        columns = _columns(data.draw(st.sampled_from([[0, 1, 2, 3], [3, 1, 0], [0, 1]])), present)
        begin = data.draw(st.integers(0, ROWS - 2))
        counts = [data.draw(st.integers(1, ROWS - begin)) for _ in range(LANES)]
        blocks = LaneBlocks()
        places = [(lane, begin, begin + count, firsts[lane]) for lane, count in enumerate(counts)]
        for each in places:
            blocks.add(bytes(16), each, is_whole=False)
        lanes = EncodedLanes(columns, blocks, FilterChoice())
        numbers = [number for number in range(LANES) if lanes.sizes([number])]
        is_alone = data.draw(st.integers(0, 3)) == 0
        if is_alone:
            for number in numbers:
                found[number].update(_cut(columns, places[number]))
        else:
            lanes.add_values(numbers, [found[number] for number in numbers])
        for number in numbers:
            expected[number].update(_cut(columns, places[number]))
        skipped = data.draw(st.sampled_from([0, 0, 0, 1]))
        firsts = [first + count + skipped for first, count in zip(firsts, counts, strict=True)]
    for one, other in zip(found, expected, strict=True):
        assert one.hashes_of_leaves() == other.hashes_of_leaves()


def _added(spans: Any, numbers: Any = (0,), states: Any = None, bytes_: int = 100) -> bytes:
    column = StateColumn(np.zeros(bytes_, np.uint8), np.array(spans, np.int64).tobytes())
    return leaf_states.add_values(
        [column], np.array(numbers, np.int64), [leaf_states.new_state(1)] if states is None else states
    )


def test_rows_follow_each_other() -> None:
    """If not, nothing is added."""
    state = leaf_states.new_state(1)
    assert _added([(3, 5, 0, 16)], states=[state]) == b"\1"
    before = bytes(state)
    assert _added([(6, 7, 0, 8)], states=[state]) == _added([(4, 6, 0, 8)], states=[state]) == b"\0"
    assert bytes(state) == before
    assert _added([(0, 0, 0, 0)], states=[state]) == b"\1"
    assert bytes(state) == before
    assert _added([(5, 6, 0, 8)], states=[state]) == b"\1"
    assert [leaf[:2] for leaf in leaf_states.leaves_of(state)] == [(3, 6)]


@pytest.mark.parametrize(
    ("spans", "numbers"),
    [
        ([(0, 1, -8, 0)], [0]),
        ([(0, 1, 96, 104)], [0]),
        ([(0, 1, 8, 0)], [0]),
        ([(2, 1, 0, 8)], [0]),
        ([(-1, 1, 0, 8)], [0]),
        ([(0, 1, 0, 8)], [1]),
        ([(0, 1, 0, 8)], [-1]),
        ([(0, 1, 0, 8)], [0, 0]),
        ([(0, 1, 0, 8)], []),
    ],
)
def test_rows_outside_of_their_column_are_refused(spans: Any, numbers: Any) -> None:
    """No byte of other memory is read."""
    with pytest.raises(ValueError, match="expected"):
        _added(spans, numbers)


def test_what_is_no_state_is_refused() -> None:
    """Nothing else is changed."""
    native: Any = block.native
    broken = leaf_states.new_state(1)
    broken[16 + 80] = 255  # bytes that were kept
    reversed_ = leaf_states.new_state(1)
    reversed_[0] = 1
    for state in (bytearray(), leaf_states.new_state(2), bytes(leaf_states.new_state(1)), broken, reversed_, None):
        with pytest.raises(ValueError, match="expected the states of 1 leaves"):
            _added([(0, 1, 0, 8)], states=[state])
        with pytest.raises(ValueError, match="expected the states of 1 leaves"):
            native.hashes_of_states([(b"", b"")], state)
    for state in (bytearray(5), None, broken):
        with pytest.raises(ValueError, match="expected the states of"):
            native.leaves_of(state)
    full = leaf_states.new_state(1)
    _added([(0, 1, 0, 8)], states=[full])
    for layout in ((b"",), None, ("", 1), (b"", bytes(8 * 257))):
        with pytest.raises(TypeError):
            native.hashes_of_states([layout], full)
    with pytest.raises(TypeError):
        native.add_values([None], b"", [])
