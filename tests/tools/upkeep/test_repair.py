"""`repair`: the copy is valid, lacks only damaged data, and the report lists them."""

import random
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

import rlds_kit
from rlds_kit import DatasetExistsError, EpisodeEnd
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import STEP_INDEX
from rlds_kit.riegeli import chunk, simple
from rlds_kit.riegeli.codec import Codec
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.sightings import SightedEpisode
from rlds_kit.tools.upkeep.repair import RepairReport, repair
from rlds_kit.tools.upkeep.repair_episode import Loss
from rlds_kit.tools.upkeep.survey import Survey, survey
from rlds_kit.tools.upkeep.verify import verify
from tests.repetitions import repetitions
from tests.tools.upkeep import foreign_records
from tests.tools.upkeep.mending import (
    BLOCKS_OF_4,
    DECLARED,
    acted,
    assert_equals_or_absent,
    content,
    damage,
    damage_column,
    observed,
    record,
    record_and_die,
    rows_of,
    shard,
)

pytestmark = pytest.mark.filterwarnings("ignore::rlds_kit.base.errors.DamageWarning")


def look(directory: Path) -> tuple[Path, Survey, SightedEpisode]:
    """The only shard of a dataset, and its first episode."""
    path = shard(directory)
    found = survey(ShardFile(path))
    return path, found, next(iter(found.episodes.values()))


def what(report: RepairReport) -> list[tuple[str, int | None, int | None]]:
    """The losses in short."""
    return [(loss.what, loss.first, loss.end) for loss in report.losses]


def repaired(source: Path) -> tuple[RepairReport, Path]:
    """Repairs a dataset and verifies the copy."""
    copy = source.with_name("copy")
    report = repair(source, copy)
    assert verify(copy).problems == ()
    return report, copy


@pytest.mark.parametrize("policy", [BLOCKS_OF_4, FlushPolicy.every_step()], ids=["blocks", "single rows"])
def test_good_dataset_is_copied_as_it_is(tmp_path: Path, policy: FlushPolicy) -> None:
    """Nothing is lost: ids, steps, metadata, endings and digests are the same, and so are the bytes of every block."""
    source = record(tmp_path / "d", policy=policy, max_shard_episodes=2)
    report, copy = repaired(source)
    assert report.losses == ()
    assert assert_equals_or_absent(copy, content(source)) == report.steps == 29
    for ours, theirs in zip(rlds_kit.open(copy).episodes, rlds_kit.open(source).episodes, strict=True):
        assert (ours.id, ours.end, ours.metadata, ours.seed) == (theirs.id, theirs.end, theirs.metadata, theirs.seed)
        assert ours.content_digest == theirs.content_digest
    blocks = [
        {ShardFile(path).record(each.position) for each in episode.blocks}
        for directory in (source, copy)
        for path in shards_in(directory)
        for episode in survey(ShardFile(path)).episodes.values()
    ]
    assert blocks[: len(blocks) // 2] == blocks[len(blocks) // 2 :]


def test_source_is_not_touched(tmp_path: Path) -> None:
    """No byte of a damaged dataset changes."""
    source = record(tmp_path / "d")
    damage(shard(source), 3000)
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    repaired(source)
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before


def test_destination_that_has_something_is_refused(tmp_path: Path) -> None:
    """Nothing is written over, not even the source."""
    source = record(tmp_path / "d")
    with pytest.raises(DatasetExistsError, match="give another path"):
        repair(source, source)


def test_lost_block_leaves_a_gap_that_no_transition_spans(tmp_path: Path) -> None:
    """The steps around it stay, `step_index` counts as the original did, and the action before it is undefined."""
    source = record(tmp_path / "d", lengths=(13,))
    original = content(source)
    path, _, episode = look(source)
    damage(path, episode.blocks[1].position + 3)
    report, copy = repaired(source)
    (saved,) = rlds_kit.open(copy).episodes
    assert saved[STEP_INDEX].tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 12]
    assert saved.mask("action").tolist() == [True, True, True, False, True, True, True, True, False]
    assert assert_equals_or_absent(copy, original) == 8
    assert ("steps", 4, 8) in what(report)
    assert ("field", 3, 4) in what(report)
    assert saved.end is EpisodeEnd.TERMINATED


def test_gap_keeps_a_step_index_that_was_recorded(tmp_path: Path) -> None:
    """An episode that had the environment's own numbers keeps them."""
    rng = random.Random(0)
    with Recorder(tmp_path / "d", DECLARED, policy=BLOCKS_OF_4) as recorder:
        episode = recorder.start_episode()
        for row in range(12):
            episode.append({**observed(rng, row), STEP_INDEX: 100 + row}, acted(rng, row) if row else None)
        episode.end(EpisodeEnd.TERMINATED)
    path, _, found = look(tmp_path / "d")
    damage(path, found.blocks[1].position + 3)
    _, copy = repaired(tmp_path / "d")
    assert rlds_kit.open(copy).episodes[0][STEP_INDEX].tolist() == [100, 101, 102, 103, 108, 109, 110, 111]


def test_lost_first_block_leaves_the_others(tmp_path: Path) -> None:
    """The first step of the copy is the first that was saved, by its number in the original."""
    source = record(tmp_path / "d", lengths=(9,))
    original = content(source)
    path, _, episode = look(source)
    damage(path, episode.blocks[0].position + 3)
    report, copy = repaired(source)
    assert rlds_kit.open(copy).episodes[0][STEP_INDEX].tolist() == [4, 5, 6, 7, 8]
    assert assert_equals_or_absent(copy, original) == 5
    assert what(report) == [("steps", 0, 4)]


def test_lost_last_block_makes_the_episode_incomplete(tmp_path: Path) -> None:
    """No saved step becomes the terminal one; the metadata of the end are kept."""
    source = record(tmp_path / "d", lengths=(9,))
    path, _, episode = look(source)
    damage(path, episode.blocks[2].position + 3)
    report, copy = repaired(source)
    (saved,) = rlds_kit.open(copy).episodes
    assert (saved.end, saved.length, saved.metadata) == (EpisodeEnd.INCOMPLETE, 8, {"number": 0, "score": 0})
    assert [kind for kind, _, _ in what(report)][0::4] == ["steps", "end"]


def test_lost_column_is_undefined(tmp_path: Path) -> None:
    """A damaged column costs its own rows; the other fields of these steps stay."""
    source = record(tmp_path / "d", lengths=(13,))
    original = content(source)
    path, _, episode = look(source)
    lost = damage_column(path, episode.blocks[1], "action")
    report, copy = repaired(source)
    assert [(loss.path, loss.first, loss.end) for loss in report.losses] == [lost]
    (saved,) = rlds_kit.open(copy).episodes
    assert np.flatnonzero(~saved.mask("action")).tolist() == [3, 4, 5, 6, 12]
    assert assert_equals_or_absent(copy, original) == 9


def test_lost_start_leaves_steps_without_metadata(tmp_path: Path) -> None:
    """The steps remain in their episode; the metadata of the end exist, and the provenance lists the losses."""
    source = record(tmp_path / "d", lengths=(9,))
    path, _, episode = look(source)
    damage(path, episode.start_position + 45)
    report, copy = repaired(source)
    (saved,) = rlds_kit.open(copy).episodes
    assert (saved.id.bytes, saved.length, saved.metadata) == (episode.episode_id, 9, {"score": 0})
    assert saved.provenance["repaired"]["start"] is True
    assert what(report) == [("start", None, None)]


def test_lost_end_makes_the_episode_incomplete(tmp_path: Path) -> None:
    """How it ended is not guessed."""
    source = record(tmp_path / "d", lengths=(9,))
    path, _, episode = look(source)
    damage(path, episode.end_position + 45)
    report, copy = repaired(source)
    assert rlds_kit.open(copy).episodes[0].end is EpisodeEnd.INCOMPLETE
    assert what(report) == [("end", None, None)]


@pytest.mark.parametrize("part", ["index", "footer", "postscript", "signature"])
def test_damage_beside_the_episodes_loses_nothing(tmp_path: Path, part: str) -> None:
    """Index and footer are written anew."""
    source = record(tmp_path / "d")
    original = content(source)
    path, found, _ = look(source)
    assert found.footer is not None
    places = {
        "index": found.index_position + 50,
        "footer": found.footer.offset + 50,
        "postscript": found.size - 65536 + 30,
        "signature": 5,
    }
    damage(path, places[part])
    report, copy = repaired(source)
    assert (report.losses, assert_equals_or_absent(copy, original)) == ((), 29)


def test_lost_shard_header_comes_from_the_index(tmp_path: Path) -> None:
    """The index has a copy of it."""
    source = record(tmp_path / "d")
    damage(shard(source), 120)
    report, copy = repaired(source)
    assert report.losses == ()
    assert set(rlds_kit.open(copy).spec.fields) == {*DECLARED.fields, "info"}


def test_lost_shard_header_without_index_comes_from_dataset_json(tmp_path: Path) -> None:
    """The spec is preserved; the metadata of the run are lost, which is reported."""
    source = record_and_die(tmp_path / "d")
    damage(shard(source), 120)
    report, copy = repaired(source)
    assert what(report) == [("header", None, None)]
    assert set(DECLARED.fields) <= set(rlds_kit.open(copy).spec.fields)


def test_killed_writer_s_dataset_is_closed(tmp_path: Path) -> None:
    """An INCOMPLETE episode stays INCOMPLETE with all its steps, and the shard gets an index."""
    source = record_and_die(tmp_path / "d")
    original = content(source)
    report, copy = repaired(source)
    assert (report.losses, assert_equals_or_absent(copy, original)) == ((), 15)
    assert [episode.end for episode in rlds_kit.open(copy).episodes] == [EpisodeEnd.TRUNCATED, EpisodeEnd.INCOMPLETE]
    assert verify(copy).notes[0].rule == "incomplete"


def test_episodes_being_recorded_are_left_out(tmp_path: Path) -> None:
    """What has ended is copied from an open shard; what has not is no loss."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        ended, going = recorder.start_episode(), recorder.start_episode()
        for episode in (ended, going):
            list(rows_of(episode, random.Random(0), 5))
        ended.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        report, copy = repaired(tmp_path / "d")
    assert (report.losses, report.left_out) == ((), (going.id,))
    assert [episode.id for episode in rlds_kit.open(copy).episodes] == [ended.id]


def test_discarded_episode_does_not_come_back(tmp_path: Path) -> None:
    """Not even when the record that discarded it is damaged, if the index knows."""
    with Recorder(tmp_path / "d", DECLARED, policy=BLOCKS_OF_4) as recorder:
        kept, discarded = recorder.start_episode(), recorder.start_episode()
        list(rows_of(kept, random.Random(0), 5))
        list(rows_of(discarded, random.Random(0), 5))
        discarded.discard()
        kept.end(EpisodeEnd.TERMINATED)
    path, found, _ = look(tmp_path / "d")
    damage(path, found.episodes[discarded.id.bytes].end_position + 45)
    _, copy = repaired(tmp_path / "d")
    assert [episode.id for episode in rlds_kit.open(copy).episodes] == [kept.id]


def test_damaged_dataset_json_is_made_anew(tmp_path: Path) -> None:
    """From the spec that the shards have."""
    source = record(tmp_path / "d")
    (source / "dataset.json").write_text("{")
    report, copy = repaired(source)
    assert what(report) == [("description", None, None)]
    assert rlds_kit.open(copy).description["format"] == "rlds_kit"


def test_episode_that_is_wholly_lost_is_named(tmp_path: Path) -> None:
    """The index knows how many steps it had."""
    source = record(tmp_path / "d", lengths=(4, 9), interleaved=False)
    path, _, episode = look(source)
    damage(path, episode.blocks[0].position + 3)
    report, copy = repaired(source)
    lost = Loss("episode", "all 4 steps are lost", path.name, UUID(bytes=episode.episode_id), 0, 4)
    assert report.losses == (lost,)
    assert len(rlds_kit.open(copy).episodes) == 1


def test_repaired_copy_can_be_repaired_again(tmp_path: Path) -> None:
    """A second damage to a copy is repaired like the first, and steps keep their first numbers."""
    source = record(tmp_path / "d", lengths=(21,))
    original = content(source)
    path, _, episode = look(source)
    damage(path, episode.blocks[1].position + 3)
    _, copy = repaired(source)
    path, _, episode = look(copy)
    damage(path, episode.blocks[2].position + 3)
    again = tmp_path / "again"
    repair(copy, again)
    assert verify(again).problems == ()
    assert rlds_kit.open(again).episodes[0][STEP_INDEX].tolist() == [*range(4), *range(8, 12), *range(16, 21)]
    assert_equals_or_absent(again, original)


def test_record_of_a_newer_version_is_not_left_out_in_silence(tmp_path: Path) -> None:
    """It is whole, so it is listed as what the copy lacks."""
    source = record_and_die(tmp_path / "d")
    with shard(source).open("ab") as file:
        data = simple.encode([pb.Record(version=2).SerializeToString()], Codec.NONE, bytes)
        header = chunk.ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=1, decoded_data_size=2)
        file.write(chunk.frame_chunk(file.tell(), header, data))
    report, _ = repaired(source)
    assert what(report) == [("record", None, None)]
    assert "upgrade rlds_kit" in report.losses[0].message


def test_second_repair_remembers_what_the_first_one_lost(tmp_path: Path) -> None:
    """A field that was lost in some steps stays excused when steps before them are lost too, and counted anew."""
    source = record(tmp_path / "d", lengths=(21,))
    path, _, episode = look(source)
    damage_column(path, episode.blocks[3], "observation/pixels")
    _, copy = repaired(source)
    path, _, episode = look(copy)
    damage(path, episode.blocks[1].position + 3)
    again = tmp_path / "again"
    repair(copy, again)
    assert verify(again).problems == ()
    before, after = (rlds_kit.open(each).episodes[0].provenance["repaired"]["undefined"] for each in (copy, again))
    assert [before[0][0], before[0][1] - 4, before[0][2] - 4] in after


@pytest.mark.sweep
@pytest.mark.parametrize("case", ["blocks", "single rows", "several shards", "killed", "killed, single rows"])
def test_any_damage_yields_no_wrong_step(tmp_path: Path, case: str) -> None:
    """Flips, zeroed and cut ranges anywhere: the copy verifies, and its steps are the original's or lack fields."""
    rng = random.Random(case)
    policy = FlushPolicy.every_step() if "single rows" in case else BLOCKS_OF_4
    if "killed" in case:
        source = record_and_die(tmp_path / "d", policy=policy)
    else:
        source = record(tmp_path / "d", policy=policy, max_shard_episodes=1 if case == "several shards" else None)
    original = content(source)
    for number in range(repetitions(40, least=16)):
        path = rng.choice(shards_in(source))
        raw = path.read_bytes()
        position = rng.randrange(len(raw.rstrip(b"\0")))
        changed = bytearray(raw)
        if number % 4 == 3:
            del changed[position:]
        else:
            damaged = slice(position, position + rng.choice((1, 9, 200, 2000)))
            changed[damaged] = bytes(byte ^ 0x41 if number % 2 else 0 for byte in changed[damaged])
        path.write_bytes(changed)
        copy = tmp_path / f"copy {number}"
        repair(source, copy)
        assert verify(copy).problems == ()
        assert_equals_or_absent(copy, original)
        path.write_bytes(raw)


def test_a_digest_that_was_wrong_stays_wrong(tmp_path: Path) -> None:
    """Of an episode with all its steps repair changes nothing: a digest made anew would vouch for other content."""
    path = shard(record_and_die(tmp_path / "d", lengths=(9, 6)))
    pieces = foreign_records.pieces_of(path)
    for number, piece in enumerate(pieces[1:], 1):
        stored = pb.Record.FromString(piece.record)
        if stored.WhichOneof("kind") == "end":
            stored.end.content_digest = bytes(16)
            pieces[number] = foreign_records.piece_of(stored.SerializeToString())
    foreign_records.write(path, pieces)
    repair(tmp_path / "d", tmp_path / "copy")
    ends = [episode.end for episode in survey(ShardFile(shard(tmp_path / "copy"))).episodes.values() if episode.end]
    assert [end.content_digest for end in ends] == [bytes(16)] * len(ends) != []
    assert {each.rule for each in verify(tmp_path / "copy").problems} == {"digest"}
