"""`trim`: episodes cut short."""

import random
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix, read_payload
from rlds_kit.tools import edit
from rlds_kit.tools.upkeep.repair import repair
from rlds_kit.tools.upkeep.survey import survey
from rlds_kit.tools.upkeep.verify import verify
from tests.tools.edit.looking import facts
from tests.tools.upkeep.mending import (
    BLOCKS_OF_4,
    DECLARED,
    acted,
    content,
    damage_column,
    observed,
    record,
    record_and_die,
)

ACTED = ("action", "reward", "discount")


def only(directory: Path) -> rlds_kit.Episode:
    """The only episode of a dataset."""
    (episode,) = rlds_kit.open(directory).episodes
    return episode


def same(ours: Any, theirs: Any) -> bool:
    """Whether two steps have the same values, type for type and bit for bit."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, np.ndarray):
        return (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())
    return type(ours) is type(theirs) and repr(ours) == repr(theirs)


@given(st.integers(1, 14), st.integers(-15, 15), st.none() | st.integers(-15, 15), st.integers(1, 6), st.booleans())
@settings(max_examples=25)
def test_steps_are_those_of_the_slice(length: int, begin: int, end: int | None, block_rows: int, dies: bool) -> None:
    """Every value and type stays; the last step has no action, unless it had one; the new dataset verifies."""
    with tempfile.TemporaryDirectory() as folder:
        source, copy = Path(folder, "d"), Path(folder, "copy")
        policy = FlushPolicy(block_rows=block_rows, interval=None)
        if dies:
            record_and_die(source, policy=policy, lengths=(length,))
        else:
            record(source, policy=policy, lengths=(length,))
        report = edit.trim(source, copy, begin=begin, end=end)
        before = only(source)
        expected = content(source)[before.id][begin:end]
        if not expected:
            assert (report.episodes, report.removed) == (0, 1)
            return
        after = only(copy)
        if len(range(length)[begin:end]) < length and range(length)[begin:end].stop < length:
            expected[-1] = {name: item for name, item in expected[-1].items() if name not in ACTED}
            assert after.end is EpisodeEnd.INTERRUPTED
            assert not after.terminated
        else:
            assert after.end is before.end
        assert same(dict(enumerate(content(copy)[after.id])), dict(enumerate(expected)))
        assert (after.id == before.id) == (len(expected) == length) == (report.cut == 0)
        assert verify(copy).problems == ()


@given(st.integers(2, 12), st.data())
@settings(max_examples=15)
def test_trim_twice_is_trim_once(length: int, data: st.DataObject) -> None:
    """The content after two cuts is that after the one of both; only ids differ."""
    begin = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(begin + 1, length))
    with tempfile.TemporaryDirectory() as folder:
        source, once, first, twice = (Path(folder, name) for name in ("d", "once", "first", "twice"))
        record(source, lengths=(length,))
        edit.trim(source, once, begin=begin, end=end)
        edit.trim(source, first, end=end)
        edit.trim(first, twice, begin=begin)
        assert only(twice).content_digest == only(once).content_digest


def test_ids_follow_from_the_old_one_and_the_cut(tmp_path: Path) -> None:
    """The same cut always makes the same ids, so merges know them again."""
    source = record(tmp_path / "d", lengths=(9,))
    ids = []
    for number, end in enumerate((5, 5, 6)):
        edit.trim(source, tmp_path / str(number), end=end)
        ids.append(only(tmp_path / str(number)).id)
    assert ids[0] == ids[1] == uuid.uuid5(only(source).id, "rlds_kit trim 0:5")
    assert ids[2] not in ids[:2]
    assert edit.merge([tmp_path / "0", tmp_path / "1"], tmp_path / "both").duplicates == 1


def test_episodes_that_lose_nothing_stay_as_they_are(tmp_path: Path) -> None:
    """Only the longer ones are cut."""
    source = record(tmp_path / "d")
    report = edit.trim(source, tmp_path / "copy", end=9)
    assert (report.episodes, report.cut, report.removed, report.steps) == (4, 1, 0, 9 + 9 + 1 + 6)
    same_ones = [each.id for each in rlds_kit.open(source).episodes if each.length <= 9]
    assert {each: facts(source)[each] for each in same_ones}.items() <= facts(tmp_path / "copy").items()


def test_what_it_was_cut_from_is_in_its_provenance(tmp_path: Path) -> None:
    """Seed and options too where no reset led to the first observation any more; metadata stay."""
    source = record(tmp_path / "d", lengths=(3, 9))
    before = next(each for each in rlds_kit.open(source).episodes if each.length == 9)
    edit.trim(source, tmp_path / "tail", begin=4, end=None)
    after = only(tmp_path / "tail")
    noted = {"id": str(before.id), "begin": 4, "end": 9, "seed": 1, "options": None}
    assert after.provenance["trimmed"] == noted
    assert (after.seed, after.metadata) == (None, before.metadata)
    edit.trim(tmp_path / "tail", tmp_path / "middle", end=2)
    assert only(tmp_path / "middle").provenance["trimmed"]["trimmed"] == noted
    edit.trim(source, tmp_path / "head", end=2)
    assert {each.seed for each in rlds_kit.open(tmp_path / "head").episodes} == {0, 1}


def payloads(directory: Path) -> list[bytes]:
    """The bytes of each column of the only episode."""
    (path,) = shards_in(directory)
    file = ShardFile(path)
    (episode,) = survey(file).episodes.values()
    found = []
    for block in episode.blocks:
        base = read_block_prefix(file, block.position).payload_base
        found += [
            bytes(read_payload(file, block.position, base + column.offset, column.length))
            for column in block.header.columns
        ]
    return found


def test_columns_that_the_cut_does_not_touch_keep_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those of the two blocks at its ends are encoded again."""
    source = record(tmp_path / "d", lengths=(40,))
    encoded: list[columns.Column] = []
    right = column_encoder.encode

    def encode(column: columns.Column, choose: FilterChoice) -> Any:
        encoded.append(column)
        return right(column, choose)

    monkeypatch.setattr(column_encoder, "encode", encode)
    edit.trim(source, tmp_path / "copy", begin=6, end=30)
    assert {int(column.rows[0]) for column in encoded} <= {*range(2), *range(21, 24)}
    assert len(set(payloads(source)) & set(payloads(tmp_path / "copy"))) > 40


@pytest.mark.parametrize("block_rows", [1, 3, 64])
def test_episode_ends_with_the_first_step_where_a_field_is_true(tmp_path: Path, block_rows: int) -> None:
    """A field of the observation: that step is the last. Episodes where it is never true stay as they are."""
    policy = FlushPolicy(block_rows=block_rows, interval=None)
    with EpisodeWriter(tmp_path / "d", policy=policy) as writer:
        for success in (3, 5, 100):
            with writer.episode() as episode:
                episode.start(0, info={"success": None})
                for step in range(1, 8):
                    info = {"success": np.bool_(step == success) if step % 2 else step == success}
                    episode.step(step, 0.0, step, info=info, terminated=step == 7)
    edit.trim(tmp_path / "d", tmp_path / "copy", at="info/success")
    episodes = rlds_kit.open(tmp_path / "copy").episodes
    assert [each.length for each in episodes] == [4, 6, 8]
    assert [each.steps[-1]["observation"] for each in episodes] == [3, 5, 7]
    assert [each.end for each in episodes] == [EpisodeEnd.INTERRUPTED] * 2 + [EpisodeEnd.TERMINATED]
    edit.trim(tmp_path / "d", tmp_path / "later", begin=4, at="info/success")
    assert [each.length for each in rlds_kit.open(tmp_path / "later").episodes] == [4, 2, 4]


@pytest.mark.parametrize("block_rows", [2, 64])
def test_field_of_the_action_takes_the_step_after(tmp_path: Path, block_rows: int) -> None:
    """What the action led to belongs to it; the new last step has neither action nor field."""
    policy = FlushPolicy(block_rows=block_rows, interval=None)
    with EpisodeWriter(tmp_path / "d", policy=policy) as writer, writer.episode() as episode:
        episode.start(0)
        for step in range(6):
            episode.step(step, 0.0, step + 1, acted={"takeover": step == 2}, terminated=step == 5)
    edit.trim(tmp_path / "d", tmp_path / "copy", at="takeover")
    after = only(tmp_path / "copy")
    assert after["observation"].tolist() == [0, 1, 2, 3]
    assert after["takeover"].tolist() == [False, False, True, False]
    assert after.mask("takeover").tolist() == after.mask("action").tolist() == [True, True, True, False]


def test_field_that_no_episode_has_or_that_is_no_bool_is_an_error(tmp_path: Path) -> None:
    source = record(tmp_path / "d")
    with pytest.raises(ValueError, match="no episode has the field 'info/succes'"):
        edit.trim(source, tmp_path / "copy", at="info/succes")
    with pytest.raises(ValueError, match="observation/pixels: expected one bool a step, got uint8"):
        edit.trim(source, tmp_path / "copy", at="observation/pixels")
    with pytest.raises(ValueError, match="observation/words: expected one bool a step, got TEXT"):
        edit.trim(source, tmp_path / "copy", at="observation/words")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_gaps_stay_gaps(tmp_path: Path) -> None:
    """`step_index` still counts as the environment did, and the dataset verifies."""
    rng = random.Random(0)
    with Recorder(tmp_path / "d", DECLARED, policy=BLOCKS_OF_4) as recorder:
        episode = recorder.start_episode()
        for number, step in enumerate((0, 1, 5, 6, 7, 11, 12)):
            row = {**observed(rng, step), "step_index": step}
            episode.append(row, acted(rng, step - 1) if number and step not in (5, 11) else None)
        episode.end(EpisodeEnd.TERMINATED)
    edit.trim(tmp_path / "d", tmp_path / "copy", begin=1, end=6)
    after = only(tmp_path / "copy")
    assert after["step_index"].tolist() == [1, 5, 6, 7, 11]
    assert after.mask("action").tolist() == [False, True, True, False, False]
    assert verify(tmp_path / "copy").problems == ()


def test_missing_final_observation_stays_missing(tmp_path: Path) -> None:
    """The last action is preserved if the last step is, and is removed with it."""
    with EpisodeWriter(tmp_path / "d", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(1, 1.0, 1.5)
        episode.step(2, 1.0, terminated=True)
    edit.trim(tmp_path / "d", tmp_path / "tail", begin=1)
    assert only(tmp_path / "tail").mask("observation").tolist() == [True, False]
    assert only(tmp_path / "tail").mask("action").tolist() == [True, False]
    assert only(tmp_path / "tail").end is EpisodeEnd.TERMINATED
    edit.trim(tmp_path / "d", tmp_path / "head", end=-1)
    assert only(tmp_path / "head").mask("action").tolist() == [True, False]
    assert only(tmp_path / "head")["observation"].tolist() == [0.5, 1.5]


def test_what_a_repair_noted_moves_along(tmp_path: Path) -> None:
    """Steps that are known to lack a field still are, so the dataset verifies."""
    source = record(tmp_path / "d", lengths=(13,))
    (path,) = shards_in(source)
    (episode,) = survey(ShardFile(path)).episodes.values()
    damage_column(path, episode.blocks[1], "reward")
    repair(source, tmp_path / "repaired")
    assert not only(tmp_path / "repaired").mask("reward")[3:7].any()
    edit.trim(tmp_path / "repaired", tmp_path / "copy", begin=2, end=11)
    assert only(tmp_path / "copy").mask("reward").tolist() == [True, *[False] * 4, True, True, True, False]
    assert only(tmp_path / "copy").provenance["repaired"]["undefined"] == [["reward", 1, 5]]
    assert verify(tmp_path / "copy").problems == ()
    edit.trim(tmp_path / "repaired", tmp_path / "tail", begin=9)
    assert only(tmp_path / "tail").provenance["repaired"]["undefined"] == []


def test_incomplete_episode_that_is_cut_short_is_interrupted(tmp_path: Path) -> None:
    """Then it has an end and a digest; one with its last step is INCOMPLETE as before."""
    source = record_and_die(tmp_path / "d", lengths=(9,))
    edit.trim(source, tmp_path / "head", end=5)
    edit.trim(source, tmp_path / "tail", begin=5)
    assert [only(tmp_path / name).end for name in ("head", "tail")] == [EpisodeEnd.INTERRUPTED, EpisodeEnd.INCOMPLETE]
    assert [len(only(tmp_path / name).content_digest) for name in ("head", "tail")] == [16, 0]
    assert [verify(tmp_path / name).problems for name in ("head", "tail")] == [(), ()]


def test_report_has_the_digest_of_the_new_dataset(tmp_path: Path) -> None:
    """Cut episodes with their own, others with theirs."""
    report = edit.trim(record(tmp_path / "d"), tmp_path / "copy", end=7)
    assert report.digest == rlds_kit.open(tmp_path / "copy").content_digest.hex()
