"""Blocks of many lanes that are encoded together: the same bytes and digests as of each alone."""

import collections
import doctest
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import (
    block,
    block_header,
    column_encoder,
    digest,
    filters,
    lane_blocks,
    piece_functions,
    shard_set,
)
from rlds_kit.storage.batch_leaves import BatchLeaf, BatchLeaves
from rlds_kit.storage.block import join_lanes
from rlds_kit.storage.column import Column
from rlds_kit.storage.compression import FAST_LEVEL, THOROUGH_LEVEL
from rlds_kit.storage.episode_messages import start_message
from rlds_kit.storage.filter_choice import STORED, Choice, FilterChoice
from rlds_kit.storage.lane_blocks import EncodedBlock, EncodedLanes, LaneBlocks, LaneRows
from rlds_kit.storage.lane_pieces import LaneColumn
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey, Leaves
from rlds_kit.storage.policy import SMALL_BLOCK_BYTES, FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.verify import verify

LANES, ROWS = 3, 40
CHOICES: Final = [STORED, *(Choice(each, FAST_LEVEL) for each in (*filters.RELATION, pb.IDENTITY))]
SPEC: Final = specs.Dict({"observation": specs.Array((4,), np.float32), "action": specs.Array((), np.int64)})


class _Fixed(FilterChoice):
    """The same for every column whose rows differ."""

    def __init__(self, choice: Choice) -> None:
        super().__init__()
        self._choice = choice

    def __call__(self, key: ColumnKey, rows: Any, dtype: Any, shape: Any) -> Choice:
        found = super().__call__(key, rows, dtype, shape)
        return found if found.filter == pb.REPEAT else self._choice

    def known(self, *_: object) -> Choice | None:
        """That, unless it depends on the rows."""
        return self._choice if self._choice.filter in piece_functions.RELATION else None  # as the inherited one


def _column(name: str, values: np.ndarray, *, is_acted: bool = False, kind: int = pb.ARRAY) -> LaneColumn:
    dtype = None if kind == pb.TREE else values.dtype
    return LaneColumn(ColumnKey(name, kind, dtype, values.ndim - 2), values, is_acted)


def _columns(seed: int) -> list[LaneColumn]:
    rng = np.random.default_rng(seed)
    ones = np.ones((LANES, ROWS))
    ones[1, 20] = 0
    return [
        _column("observation", rng.normal(size=(LANES, ROWS, 3)).astype(np.float32)),
        _column("small", rng.integers(0, 3, (LANES, ROWS, 2)).cumsum(axis=1)),
        _column(
            "info",
            np.broadcast_to(np.frombuffer(EMPTY_DICT, np.uint8), (LANES, ROWS, len(EMPTY_DICT))).copy(),
            kind=pb.TREE,
        ),
        _column("action", rng.integers(0, 2, (LANES, ROWS)), is_acted=True),
        _column("discount", ones, is_acted=True),
        _column("flag", rng.integers(0, 2, (LANES, ROWS, 5)) > 0, is_acted=True),
    ]


def _alone(columns: list[LaneColumn], rows: LaneRows, choose: FilterChoice) -> list[block.Part]:
    """The columns of a block as they are encoded alone."""
    found = list[block.Part]()
    pieces = _cut(columns, rows)
    for each, packed in zip(pieces, column_encoder.pack(pieces, choose), strict=True):
        first, covered, number, codec, decoded, payload = packed
        fields = block_header.layout(each.key, first, covered, False, each.values.shape[1:], number, codec)
        found.append((fields, decoded, bytes(payload)))
    return found


def _cut(columns: list[LaneColumn], rows: LaneRows) -> list[Column]:
    found = []
    for key, values, is_acted, present in columns:
        begin = rows.begin + (is_acted and rows.first_row == 0)
        first = max(rows.first_row - is_acted, 0)
        places = np.arange(begin, rows.stop)
        if present is not None:
            places = places[present[places, rows.lane]]
        if len(places):
            found.append(Column(key, places - begin + first, values[rows.lane, places]))
    return found


def _encoded(
    columns: list[LaneColumn], rows: list[LaneRows], choose: FilterChoice, *, are_whole: bool = False
) -> list[EncodedBlock | None]:
    lanes = EncodedLanes(columns, _blocks(rows, are_whole=are_whole), choose)
    return [lanes.take(number) for number in range(len(rows))]


def _blocks(rows: list[LaneRows], *, are_whole: bool) -> LaneBlocks:
    blocks = LaneBlocks()
    for number, each in enumerate(rows):
        blocks.add(_id(number), each, is_whole=are_whole and not each.first_row)
        assert blocks.rows_of(number) == each
    return blocks


def _id(number: int) -> bytes:
    return bytes([number]) * 16


def _record(number: int, rows: LaneRows, parts: list[block.Part]) -> bytes:
    """Of a block that is encoded alone."""
    return block.join(_id(number), rows.first_row, rows.first_row + rows.stop - rows.begin, parts)


def _add(to: digest.EpisodeDigest, encoded: EncodedBlock) -> None:
    if encoded.hashes:
        to.update_whole(encoded.hashes)
    else:
        to.update_values(encoded.leaves)


BLOCKS: Final = [
    LaneRows(0, 0, 40, 0),
    LaneRows(1, 3, 30, 0),
    LaneRows(1, 30, 32, 0),
    LaneRows(2, 0, 17, 95),
    LaneRows(2, 17, 40, 0),
]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("are_whole", [False, True])
def test_blocks_are_those_that_are_encoded_alone(choice: Choice, are_whole: bool) -> None:
    """Byte for byte, and so are their digests."""
    columns = _columns(0)
    found = _encoded(columns, BLOCKS, _Fixed(choice), are_whole=are_whole)
    for number, (rows, encoded) in enumerate(zip(BLOCKS, found, strict=True)):
        assert encoded is not None
        assert encoded.record == _record(number, rows, _alone(columns, rows, _Fixed(choice)))
        assert bool(encoded.hashes) == (are_whole and not rows.first_row) != bool(encoded.leaves)
        one, other = digest.EpisodeDigest(), digest.EpisodeDigest()
        _add(one, encoded)
        other.update(_cut(columns, rows))
        assert one.digest(pb.EpisodeStart(), None) == other.digest(pb.EpisodeStart(), None)


def test_records_are_made_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the groups end, whichever blocks are not needed, and in whatever order."""
    columns, rows = _columns(0), [LaneRows(lane, at, at + 2, 0) for at in range(0, 40, 2) for lane in range(LANES)]

    def made(found: Sequence[EncodedBlock | None]) -> list[tuple[bytes, bytes]]:
        return [each[:2] for each in found if each is not None]

    all_at_once = made(_encoded(columns, rows, _Fixed(STORED), are_whole=True))
    monkeypatch.setattr(lane_blocks, "_TOGETHER", 7)
    assert made(_encoded(columns, rows, _Fixed(STORED), are_whole=True)) == all_at_once
    lanes = EncodedLanes(columns, _blocks(rows, are_whole=True), _Fixed(STORED))
    assert made([lanes.take(number) for number in (3, 4, 50)]) == [all_at_once[number] for number in (3, 4, 50)]
    numbers = [58, 2, 40]
    assert lanes.sizes(numbers) == [len(all_at_once[number][0]) for number in numbers]
    assert made(lanes.take_all(numbers)) == [all_at_once[number] for number in numbers]


def test_records_are_made_ahead_as_far_as_memory_admits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the next blocks too, until they have so many bytes: one call takes less time than several."""
    columns, rows = _columns(0), [LaneRows(lane, at, at + 2, 0) for at in range(0, 40, 2) for lane in range(LANES)]
    nbytes, counts = sum(column.values.nbytes for column in columns), list[int]()

    def counted(*given: Any) -> list[bytes]:
        counts.append(len(given[-1]))
        return join_lanes(*given)

    monkeypatch.setattr(lane_blocks, "join_lanes", counted)
    for most, expected in ((nbytes + len(rows), [len(rows)]), (nbytes // 4, [len(rows) // 4, len(rows) // 4])):
        monkeypatch.setattr(lane_blocks, "TOGETHER_BYTES", most)
        lanes = EncodedLanes(columns, _blocks(rows, are_whole=True), _Fixed(STORED))
        assert lanes.sizes([1, 2])
        assert lanes.sizes([len(rows) // 4])
        assert [abs(one - other) <= 1 for one, other in zip(counts, expected, strict=True)] == [True] * len(expected)
        del counts[:]
        lanes = EncodedLanes(columns, _blocks(rows, are_whole=True), _Fixed(STORED))
        assert None not in [lanes.take(number) for number in range(len(rows))]
        assert abs(counts[0] - expected[0]) <= 1
        del counts[:]
    monkeypatch.setattr(lane_blocks, "TOGETHER_BYTES", 1)
    assert len(EncodedLanes(columns, _blocks(rows, are_whole=True), _Fixed(STORED)).sizes([0, 5])) == 2


def test_long_episodes_are_hashed_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those whose numbers of rows are not worth a place in the cache."""
    monkeypatch.setattr(lane_blocks, "CACHED_ROWS", 30)
    first, second, *_ = _encoded(_columns(0), BLOCKS, _Fixed(STORED), are_whole=True)
    assert first is not None
    assert second is not None
    assert (bool(first.hashes), bool(second.hashes)) == (False, True)
    one, other = digest.EpisodeDigest(), digest.EpisodeDigest()
    _add(one, first)
    other.update(_cut(_columns(0), BLOCKS[0]))
    assert one.digest(pb.EpisodeStart(), None) == other.digest(pb.EpisodeStart(), None)


def test_digests_of_blocks_that_follow_each_other() -> None:
    """Whether each was encoded alone or with others; also where a row is missing between them."""
    columns = _columns(0)
    parts = [LaneRows(0, 0, 10, 0), LaneRows(0, 10, 25, 10), LaneRows(0, 25, 40, 25), LaneRows(1, 0, 9, 41)]
    found = _encoded(columns, parts, _Fixed(STORED))
    one, other = digest.EpisodeDigest(), digest.EpisodeDigest()
    for number, (rows, encoded) in enumerate(zip(parts, found, strict=True)):
        assert encoded is not None
        if number == 1:
            one.update(_cut(columns, rows))
        else:
            _add(one, encoded)
        other.update(_cut(columns, rows))
    assert one.digest(pb.EpisodeStart(), None) == other.digest(pb.EpisodeStart(), None)


@pytest.mark.parametrize("are_whole", [False, True])
@pytest.mark.parametrize("choice", [STORED, Choice(pb.SHUFFLE, FAST_LEVEL)])
def test_rows_may_lack_a_column(choice: Choice, are_whole: bool) -> None:
    """The first ones, the last ones, or all of a block; where values have gaps, the block is encoded alone."""
    columns = _columns(0)
    present = np.ones((ROWS, LANES), np.bool_)
    for rows, lane in ((slice(38, None), 0), (slice(3, 6), 1), (slice(30, 32), 1), (5, 2), (slice(17, 39), 2)):
        present[rows, lane] = False
    for number in (0, 3):  # of the observation side, and of the action side
        lacking = [*columns]
        lacking[number] = columns[number]._replace(present=present)
        found = _encoded(lacking, BLOCKS, _Fixed(choice), are_whole=are_whole)
        for at, (rows_of_block, encoded) in enumerate(zip(BLOCKS, found, strict=True)):
            assert (encoded is None) == (at == 3)  # the block with a gap
            if encoded is None:
                continue
            assert encoded.record == _record(at, rows_of_block, _alone(lacking, rows_of_block, _Fixed(choice)))
            one, other = digest.EpisodeDigest(), digest.EpisodeDigest()
            _add(one, encoded)
            other.update(_cut(lacking, rows_of_block))
            assert one.digest(pb.EpisodeStart(), None) == other.digest(pb.EpisodeStart(), None)


def test_an_episode_of_one_row_has_no_action() -> None:
    """Nor columns of the action side."""
    columns, rows = _columns(0), LaneRows(0, 5, 6, 0)
    for are_whole in (False, True):
        (encoded,) = _encoded(columns, [rows], _Fixed(STORED), are_whole=are_whole)
        assert encoded is not None
        assert encoded.record == _record(0, rows, _alone(columns, rows, _Fixed(STORED)))
        assert len(block.decode(encoded.record, "here")[1]) == 3


def test_filters_are_chosen_by_trials() -> None:
    """A trial is made when it is due; until then it is not repeated."""
    choose = FilterChoice()
    assert None not in _encoded(_columns(0)[:1], BLOCKS, choose)
    assert choose.known(_columns(0)[0].key) is STORED
    left = choose.TRY_EVERY - 2  # a trial and a look, of one block each
    assert choose.known(_columns(0)[0].key, (left - 1) * SMALL_BLOCK_BYTES + 1) is STORED
    assert choose.known(_columns(0)[0].key) is None


def test_small_blocks_count_by_their_bytes_until_the_next_trial() -> None:
    """Otherwise columns of many short episodes would have a trial each time that they are written."""
    looks = 0

    class Counting(FilterChoice):
        def __call__(self, *arguments: Any) -> Choice:
            nonlocal looks
            looks += 1
            return super().__call__(*arguments)

    choose, found = Counting(), list[int]()
    for _ in range(98):
        assert None not in _encoded(_columns(0)[:1], BLOCKS, choose)  # less than 256 KiB
        found.append(looks)
    assert found == [1] * 32 + [2] * 64 + [3] * 2  # as many again when a trial confirms the choice


def test_what_is_not_simple_is_left_to_others() -> None:
    """Dicts that are not empty, and filters that look at rows."""
    full = np.full((LANES, ROWS, 4), 7, np.uint8)
    assert _encoded([_column("info", full, kind=pb.TREE)], BLOCKS, FilterChoice()) == [None] * len(BLOCKS)
    lanes = EncodedLanes([_column("info", full, kind=pb.TREE)], _blocks(BLOCKS, are_whole=False), FilterChoice())
    assert lanes.sizes([0, 1]) == []
    ints = np.random.default_rng(0).integers(0, 256, (LANES, ROWS, 8), np.uint8)
    found_some = _encoded([_column("x", ints)], BLOCKS, _Fixed(Choice(pb.SPARSE_XOR, THOROUGH_LEVEL)))
    assert found_some == [None] * len(BLOCKS)


@pytest.mark.parametrize(("row_bytes", "are_together"), [(8, True), (512, True), (800, True), (1000, False)])
@pytest.mark.parametrize("choice", CHOICES[1:])
def test_long_blocks_are_encoded_together_too(choice: Choice, row_bytes: int, are_together: bool) -> None:
    """Up to 64 KiB of a column: with a call of zstd for each block, a program that trains would wait for it often."""
    rng, rows = np.random.default_rng(0), 80
    values = rng.integers(0, 9, (LANES, rows, row_bytes // 8)).cumsum(axis=1)
    columns, blocks = [_column("x", values)], [LaneRows(lane, 0, rows, 0) for lane in range(LANES)]
    for rows_of_block, encoded in zip(blocks, _encoded(columns, blocks, _Fixed(choice)), strict=True):
        assert (encoded is not None) == are_together
        if encoded is not None:
            _, found = block.decode(encoded.record, "here")
            assert [column.values.tobytes() for column in found.values()] == [values[rows_of_block.lane].tobytes()]


@pytest.mark.parametrize("dtype", [">f8", "U2", "S3"])
def test_bytes_that_are_stored_in_another_form_are_not_light(dtype: str) -> None:
    """Nor are rows without bytes, and heavy ones."""
    assert not lane_blocks.is_light(ColumnKey("x", pb.ARRAY, np.dtype(dtype), 1), np.zeros((2, 2, 3), dtype))
    assert not lane_blocks.is_light(ColumnKey("x", pb.ARRAY, np.dtype(np.uint8), 1), np.zeros((2, 2, 0), np.uint8))
    assert not lane_blocks.is_light(ColumnKey("x", pb.ARRAY, np.dtype(np.uint8), 1), np.zeros((2, 2, 1025), np.uint8))


def _recorded(directory: Path, steps: int, every: int = 50, **limits: Any) -> list[bytes]:
    """Episodes of several lengths, flushed after every so many steps; returns their sorted content digests."""
    rng = np.random.default_rng(1)
    with Recorder(directory, SPEC, policy=FlushPolicy.manual(), **limits) as recorder:
        batch = recorder.start_batch(LANES)
        leaves = batch.fields.leaves({"observation": np.zeros(4, np.float32)}, {"action": np.int64(0)})
        observed, acted = leaves[0].keys[0], leaves[1].keys[0]
        batch.start({lane: start_message(metadata={"lane": lane}) for lane in range(LANES)})
        for step in range(steps):
            values = rng.normal(size=(LANES, 4)).astype(np.float32)
            actions = rng.integers(0, 2, LANES)
            batch.append(BatchLeaves([BatchLeaf(observed, values)], [BatchLeaf(acted, actions)]))
            for lane in range(LANES):
                if step % (9 + 4 * lane) == 8:
                    batch.end([lane], EpisodeEnd.TERMINATED)
                    batch.start({lane: start_message(metadata={"lane": lane, "step": step})})
            if step % every == every - 1:
                recorder.flush()
        assert recorder._intake._thread.buffered_bytes == 0
    return sorted(episode.content_digest for episode in rlds_kit.open(directory).episodes)


def test_recorded_episodes_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first cut, which shows that nothing new will come, blocks are encoded together."""
    alone, count = list[int](), ShardWriter.block

    def counted(self: Any, *arguments: Any) -> int:
        alone.append(1)
        return count(self, *arguments)

    monkeypatch.setattr(ShardWriter, "block", counted)
    together = _recorded(tmp_path / "together", 400)
    few = len(alone)
    monkeypatch.setattr(shard_set.ShardSet, "_write_encoded", lambda *_: False)
    monkeypatch.setattr(shard_set.ShardSet, "_together", lambda *_: [])
    assert _recorded(tmp_path / "alone", 400) == together
    assert few < 8
    assert len(alone) - few > 100
    assert rlds_kit.open(tmp_path / "together").episodes[0]["observation"].dtype == np.float32


@pytest.mark.parametrize(
    "limits", [{"max_shard_episodes": 1}, {"max_shard_episodes": 3}, {"max_shard_bytes": 3000}, {"max_shard_bytes": 1}]
)
def test_full_shards_get_no_more_episodes(tmp_path: Path, limits: dict[str, int]) -> None:
    """Also where many episodes are written together."""
    found = _recorded(tmp_path / "limited", 600, every=300, **limits)
    assert found == _recorded(tmp_path / "one", 600)
    counts = collections.Counter(episode.shard_id for episode in rlds_kit.open(tmp_path / "limited").episodes)
    assert len(counts) > 10
    assert len(counts) == len([*(tmp_path / "limited").glob("*.riegeli")])  # none is empty
    assert max(counts.values()) <= limits.get("max_shard_episodes", 8)


def test_full_shards_are_closed_when_their_last_episode_has_ended(tmp_path: Path) -> None:
    """Also where it ends together with others, in a later cut; and what later blocks need is known."""
    with Recorder(tmp_path, policy=FlushPolicy.manual(), max_shard_episodes=2) as recorder:
        batch = recorder.start_batch(LANES)
        keys = [each.keys[0] for each in batch.fields.leaves({"x": np.zeros(4)}, {"y": np.zeros(4)})]
        shards = recorder._intake._shards

        def append(turn: int, lanes: np.ndarray | None = None) -> None:
            values = np.random.default_rng(turn).normal(size=(LANES, 4))
            batch.append(BatchLeaves(*[[BatchLeaf(key, values)] for key in keys]), lanes)
            recorder.flush()

        for turn in range(3):
            batch.start({lane: start_message() for lane in range(LANES)})
            append(turn)
            append(turn)
            shards._acted = set()
            append(turn)
            assert shards._acted == {"y"}
            batch.end([*range(LANES)], EpisodeEnd.TERMINATED)
            recorder.flush()
            assert len(shards._shards) <= 1
            shards._row_bytes = 0
        batch.start({0: start_message()})
        append(9, np.array([0]))
        assert shards._row_bytes > 32


def test_fields_whose_values_come_a_row_later() -> None:
    """They are found where a block that is not the first of its episode begins with one."""
    present = np.ones((ROWS, LANES), np.bool_)
    present[3, 0] = False
    info = _column("info/late", np.zeros((LANES, ROWS)), is_acted=True)._replace(present=present)
    columns, rows = [*_columns(0)[:4], info], [LaneRows(0, 0, 3, 0), LaneRows(0, 3, 9, 3), LaneRows(1, 3, 9, 3)]
    lanes = EncodedLanes(columns, _blocks(rows, are_whole=False), _Fixed(STORED))
    assert lanes.acted_fields([0], set()) == set()
    assert lanes.acted_fields([0, 1], set()) == {"action"}
    assert lanes.acted_fields([0, 1, 2], set()) == {"action", "info"}
    assert lanes.acted_fields([1, 2], {"action"}) == {"info"}
    for number in (1, 2):
        leaves = lanes.leaves(number)
        expected = {key.path.split("/")[0] for key, _, _, first, *_ in leaves if first < rows[number].first_row}
        assert lanes.acted_fields([number], set()) == expected


def test_metadata_fill_shards(tmp_path: Path) -> None:
    """A shard is full after the episode that fills it, whatever the bytes are of."""
    with Recorder(tmp_path, policy=FlushPolicy.manual(), max_shard_bytes=100_000) as recorder:
        batch = recorder.start_batch(LANES)
        key = batch.fields.leaves({"x": np.zeros(4)}, {})[0].keys[0]
        for turn in range(8):
            batch.start({lane: start_message(metadata={"text": f"{turn}" * 20_000}) for lane in range(LANES)})
            for row in range(3):
                batch.append(BatchLeaves([BatchLeaf(key, np.full((LANES, 4), row / 7))]))
            batch.end([*range(LANES)], EpisodeEnd.TERMINATED)
    counts = collections.Counter(episode.shard_id for episode in rlds_kit.open(tmp_path).episodes)
    assert max(counts.values()) <= 5


def test_episodes_are_in_the_order_in_which_they_are_written(tmp_path: Path) -> None:
    """Those that began earlier, those that are whole, and those that go on; and their metadata are known."""
    with Recorder(tmp_path, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        key = batch.fields.leaves({"x": np.zeros(4)}, {})[0].keys[0]
        for turn in range(3):
            batch.start({lane: start_message(metadata={"turn": turn}) for lane in range(LANES)})
            for row in range(6):
                batch.append(BatchLeaves([BatchLeaf(key, np.full((LANES, 4), row / 7))]))
                if row == 2:
                    recorder.flush()
                if row % 2:
                    batch.end([1], EpisodeEnd.TERMINATED)
                    batch.start({1: start_message(metadata={"turn": turn, f"row{row}": row})})
            batch.end([*range(LANES)], EpisodeEnd.TERMINATED)
    dataset = rlds_kit.open(tmp_path)
    orders = [(episode.metadata["turn"], len(episode)) for episode in dataset.episodes]
    assert orders == [(turn, length) for turn in range(3) for length in (2, 6, 2, 6, 2)]
    known = dataset.source().metadata
    assert isinstance(known, specs.Dict)
    assert known.fields.keys() == {"turn", "row1", "row3"}  # the last ones of a turn have no rows


def test_episodes_that_differ_in_form_are_written_in_order(tmp_path: Path) -> None:
    """Those that are encoded alone between others."""
    with Recorder(tmp_path, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        key = batch.fields.leaves({"x": np.zeros(4)}, {})[0].keys[0]
        other = batch.fields.leaves({"y": 1.0}, {})[0]
        for number in range(30):
            batch.start({lane: start_message(metadata={"number": number}) for lane in range(LANES)})
            for row in range(5):
                batch.append(BatchLeaves([BatchLeaf(key, np.full((LANES, 4), number + row / 7))]))
            if number % 7 == 3:
                batch.append_row(1, other, Leaves([], []))
            batch.end([*range(LANES)], EpisodeEnd.TERMINATED)
            if number % 10 == 0:
                recorder.flush()
    episodes = rlds_kit.open(tmp_path).episodes
    assert [episode.metadata["number"] for episode in episodes] == [
        number for number in range(30) for _ in range(LANES)
    ]
    for at, episode in enumerate(episodes):
        number, has_more = at // LANES, at // LANES % 7 == 3 and at % LANES == 1
        assert len(episode) == 5 + has_more
        assert episode[:5]["x"].tolist() == [[number + row / 7] * 4 for row in range(5)]
    assert verify(tmp_path).ok


def test_measured_times_are_in_no_digest() -> None:
    """As in blocks that are encoded alone."""
    columns = [*_columns(0), _column("time_ns", np.arange(LANES * ROWS).reshape(LANES, ROWS))]
    for are_whole in (True, False):
        one, other = digest.EpisodeDigest(), digest.EpisodeDigest()
        for made, each in ((one, columns), (other, columns[:-1])):
            (encoded,) = _encoded(each, BLOCKS[:1], _Fixed(STORED), are_whole=are_whole)
            assert encoded is not None
            _add(made, encoded)
        assert one.digest(pb.EpisodeStart(), None) == other.digest(pb.EpisodeStart(), None)


def test_what_is_new_is_described_before_it_is_written(tmp_path: Path) -> None:
    """A field that comes after the first cut is in the spec of the dataset."""
    with Recorder(tmp_path, policy=FlushPolicy.manual()) as recorder:
        batch = recorder.start_batch(LANES)
        keys = [batch.fields.leaves({name: np.zeros(4)}, {})[0].keys[0] for name in ("x", "y")]
        for count in (1, 1, 2):
            batch.start({lane: start_message() for lane in range(LANES)})
            for row in range(5):
                batch.append(BatchLeaves([BatchLeaf(key, np.full((LANES, 4), row / 7)) for key in keys[:count]]))
            recorder.flush()
    dataset = rlds_kit.open(tmp_path)
    assert {"x", "y"} <= dataset.spec.fields.keys()
    assert dataset.episodes[-1]["y"].tolist() == [[row / 7] * 4 for row in range(5)]


def test_examples() -> None:
    assert doctest.testmod(lane_blocks).failed == 0
