"""`rechunk`: other blocks, the same content."""

import random
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import DamagedError, DatasetExistsError, EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.storage import block_parts
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep import regroup
from rlds_kit.tools.upkeep.rechunk import rechunk
from rlds_kit.tools.upkeep.survey import survey
from rlds_kit.tools.upkeep.verify import verify
from tests.tools.upkeep.mending import (
    BLOCKS_OF_4,
    DECLARED,
    assert_equals_or_absent,
    content,
    damage,
    record,
    record_and_die,
    rows_of,
    shard,
)


def block_rows(directory: Path) -> list[list[tuple[int, int]]]:
    """The first and end row of each block of each episode."""
    return [
        [(block.header.first_row, block.header.end_row) for block in episode.blocks]
        for path in shards_in(directory)
        for episode in survey(ShardFile(path)).episodes.values()
    ]


@pytest.mark.parametrize("rows", [1, 3, 4, 64])
@pytest.mark.parametrize("policy", [BLOCKS_OF_4, FlushPolicy.every_step()], ids=["blocks", "single rows"])
def test_content_is_the_same(tmp_path: Path, policy: FlushPolicy, rows: int) -> None:
    """Every step, its types, ids, metadata, endings and digests stay; the copy verifies."""
    source = record(tmp_path / "d", policy=policy)
    copy = tmp_path / "copy"
    rechunk(source, copy, block_rows=rows)
    assert verify(copy).problems == ()
    assert assert_equals_or_absent(copy, content(source)) == 29
    for ours, theirs in zip(rlds_kit.open(copy).episodes, rlds_kit.open(source).episodes, strict=True):
        assert (ours.id, ours.end, ours.metadata, ours.seed) == (theirs.id, theirs.end, theirs.metadata, theirs.seed)
        assert ours.content_digest == theirs.content_digest


def test_blocks_have_the_requested_rows(tmp_path: Path) -> None:
    """All but the last block of an episode are full."""
    source = record(tmp_path / "d", lengths=(9, 4))
    rechunk(source, tmp_path / "copy", block_rows=6)
    assert block_rows(tmp_path / "copy") == [[(0, 6), (6, 9)], [(0, 4)]]


def test_block_bytes_limit_the_rows(tmp_path: Path) -> None:
    """A block of large rows has fewer of them."""
    declared = specs.Dict({"observation": specs.Array((1000,), np.uint8)})
    with Recorder(tmp_path / "d", declared, policy=BLOCKS_OF_4) as recorder:
        episode = recorder.start_episode()
        for step in range(8):
            episode.append({"observation": np.full(1000, step, np.uint8)})
        episode.end(EpisodeEnd.TERMINATED)
    rechunk(tmp_path / "d", tmp_path / "copy", block_rows=64, block_bytes=2100)
    assert block_rows(tmp_path / "copy") == [[(0, 2), (2, 4), (4, 6), (6, 8)]]


def test_actions_stay_with_the_observation_after_them(tmp_path: Path) -> None:
    """If a block is lost later, no action of another block is lost, and no action leads to a missing step."""
    source = record(tmp_path / "d", lengths=(9,))
    rechunk(source, tmp_path / "copy", block_rows=3)
    (episode,) = survey(ShardFile(shard(tmp_path / "copy"))).episodes.values()
    rows = [
        (column.first_row, column.first_row + column.count)
        for block in episode.blocks
        for column in block.header.columns
        if column.path == "action"
    ]
    assert rows == [(0, 2), (2, 5), (5, 8)]


def test_single_rows_take_less_room_afterwards(tmp_path: Path) -> None:
    """What many small blocks cost is won back."""
    source = record_and_die(tmp_path / "d", policy=FlushPolicy.every_step(), lengths=(200, 200))
    report = rechunk(source, tmp_path / "copy")
    assert (report.blocks_before, report.blocks) == (400, 8)
    used = shard(tmp_path / "copy").read_bytes().rstrip(b"\0")
    assert len(used) < report.bytes_before * 2 / 3


def test_incomplete_stays_incomplete(tmp_path: Path) -> None:
    """No end is made up, and the shard is closed with an index all the same."""
    source = record_and_die(tmp_path / "d")
    rechunk(source, tmp_path / "copy")
    episodes = rlds_kit.open(tmp_path / "copy").episodes
    assert [episode.end for episode in episodes] == [EpisodeEnd.TRUNCATED, EpisodeEnd.INCOMPLETE]
    assert survey(ShardFile(shard(tmp_path / "copy"))).index is not None


def test_discarded_episodes_are_gone_for_good(tmp_path: Path) -> None:
    """Their bytes are not in the copy."""
    with Recorder(tmp_path / "d", DECLARED, policy=BLOCKS_OF_4) as recorder:
        kept, discarded = recorder.start_episode(), recorder.start_episode()
        list(rows_of(kept, random.Random(0), 5))
        list(rows_of(discarded, random.Random(0), 50))
        discarded.discard()
        kept.end(EpisodeEnd.TERMINATED)
    rechunk(tmp_path / "d", tmp_path / "copy")
    assert list(survey(ShardFile(shard(tmp_path / "copy"))).episodes) == [kept.id.bytes]


def test_small_shards_become_one(tmp_path: Path) -> None:
    """Shards of one run are put together, and the order of the episodes stays."""
    source = record(tmp_path / "d", max_shard_episodes=1)
    rechunk(source, tmp_path / "copy")
    assert len(shards_in(tmp_path / "copy")) == 1
    ids = [[episode.id for episode in rlds_kit.open(path).episodes] for path in (source, tmp_path / "copy")]
    assert ids[0] == ids[1]


def test_shards_are_cut_at_their_size(tmp_path: Path) -> None:
    """A full shard gets no further episode."""
    source = record(tmp_path / "d")
    rechunk(source, tmp_path / "copy", max_shard_bytes=1)
    assert len(shards_in(tmp_path / "copy")) == 4


def test_runs_keep_their_metadata(tmp_path: Path) -> None:
    """Episodes of two runs stay apart, for the metadata of a run are its shard's."""
    for run in range(2):
        with Recorder(tmp_path / "d", DECLARED, metadata={"run": run}) as recorder:
            episode = recorder.start_episode()
            list(rows_of(episode, random.Random(0), 3))
            episode.end(EpisodeEnd.TERMINATED)
    rechunk(tmp_path / "d", tmp_path / "copy")
    runs = [[episode.run_metadata for episode in rlds_kit.open(tmp_path / name).episodes] for name in ("d", "copy")]
    assert runs[0] == runs[1]
    assert runs[0] != runs[0][::-1]


def test_episodes_being_recorded_are_left_out(tmp_path: Path) -> None:
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        ended, going = recorder.start_episode(), recorder.start_episode()
        for episode in (ended, going):
            list(rows_of(episode, random.Random(0), 5))
        ended.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        report = rechunk(tmp_path / "d", tmp_path / "copy")
    assert (report.left_out, report.episodes) == ((going.id,), 1)


@pytest.mark.parametrize("position", [1500, 4000])
def test_damaged_source_leaves_no_copy(tmp_path: Path, position: int) -> None:
    """Damage is for `repair`; half a copy would look like a whole one."""
    source = record(tmp_path / "d")
    damage(shard(source), position)
    copy = tmp_path / "copy"
    with pytest.raises(DamagedError, match="rlds-kit repair"):
        rechunk(source, copy)
    assert not copy.exists()


def test_copy_that_differs_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in regrouping is found by the digests of the finished copy."""
    source = record(tmp_path / "d")
    right = block_parts.cut
    monkeypatch.setattr(regroup, "cut", lambda *arguments: right(*arguments)[1:])
    with pytest.raises(DamagedError, match="differs from the original"):
        rechunk(source, tmp_path / "copy", block_rows=2)
    assert not (tmp_path / "copy").exists()


def test_destination_that_has_something_is_refused(tmp_path: Path) -> None:
    """Nothing is overwritten or removed."""
    source = record(tmp_path / "d")
    with pytest.raises(DatasetExistsError, match="give another path"):
        rechunk(source, source)
    assert verify(source).ok


def test_size_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="block_rows: expected a number above 0"):
        rechunk(record(tmp_path / "d"), tmp_path / "copy", block_rows=0)
