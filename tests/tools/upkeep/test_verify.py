"""`verify`: good datasets pass, and each kind of damage and each broken rule is named with its place."""

import json
import random
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import xxhash

from rlds_kit import EpisodeEnd, NotADatasetError
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage import block
from rlds_kit.storage.column import Column
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.finding import Finding
from rlds_kit.tools.upkeep.survey import survey
from rlds_kit.tools.upkeep.verify import VerifyReport, verify
from tests.tools.upkeep.mending import (
    BLOCKS_OF_4,
    DECLARED,
    acted,
    damage,
    damage_column,
    observed,
    record,
    record_and_die,
    rows_of,
    shard,
)

SMALL = specs.Dict({"observation": specs.Array((), np.int64), "action": specs.Array((), np.int64)})


def rules(findings: Sequence[Finding]) -> set[str]:
    """The rules that were broken."""
    return {finding.rule for finding in findings}


def only(report: VerifyReport, rule: str) -> Finding:
    """The first problem of a rule."""
    return next(problem for problem in report.problems if problem.rule == rule)


def ints(path: str, first: int, values: Sequence[int]) -> Column:
    """A column of Python integers."""
    rows = np.arange(first, first + len(values))
    return Column(ColumnKey(path, pb.INT, None, 0), rows, np.array(values, np.int64))


class Handmade:
    """Writes a shard that may break any rule."""

    def __init__(self, directory: Path, declared: specs.Dict = SMALL) -> None:
        directory.mkdir(exist_ok=True)
        nothing = value.encode({})
        header = pb.ShardHeader(
            shard_id=uuid.uuid4().bytes, spec=to_message(declared), metadata=nothing, environment=nothing
        )
        self.writer = ShardWriter(directory / f"episodes-{uuid.uuid4().hex}-00000.riegeli", header)
        self.id = uuid.uuid4().bytes

    def start(self) -> None:
        """Starts the episode."""
        nothing = value.encode({})
        none = value.encode(None)
        self.writer.start(pb.EpisodeStart(episode_id=self.id, metadata=nothing, seed=none, options=none))

    def block(self, rows: range, *columns: Column) -> None:
        """Writes a block."""
        self.writer.block(self.id, rows, columns, FilterChoice())

    def end(self, rows: int, **fields: object) -> None:
        """Ends the episode and closes the shard."""
        end = {"ending": pb.TERMINATED, "terminated": True, "metadata": value.encode({}), **fields}
        self.writer.end(pb.EpisodeEnd(episode_id=self.id, rows=rows, **end))  # type: ignore[arg-type]  # as given
        self.writer.close()


def verify_handmade(directory: Path, *columns: Column, rows: int, declared: specs.Dict = SMALL) -> VerifyReport:
    """Verifies an episode of one block; its digest is wrong on purpose and not looked at."""
    made = Handmade(directory, declared)
    made.start()
    made.block(range(rows), *columns)
    made.end(rows)
    return verify(directory)


@pytest.mark.parametrize("policy", [BLOCKS_OF_4, FlushPolicy.every_step()], ids=["blocks", "single rows"])
@pytest.mark.parametrize("max_shard_episodes", [None, 1])
def test_good_dataset_passes(tmp_path: Path, policy: FlushPolicy, max_shard_episodes: int | None) -> None:
    """Interleaved episodes of every kind of field, in one shard or several, have neither problems nor notes."""
    report = verify(record(tmp_path / "d", policy=policy, max_shard_episodes=max_shard_episodes))
    assert (report.problems, report.notes, report.ok) == ((), (), True)


def test_report_counts_what_was_checked(tmp_path: Path) -> None:
    """Shards, episodes, steps and bytes are those of the dataset."""
    directory = record(tmp_path / "d", lengths=(9, 4), max_shard_episodes=1)
    report = verify(directory)
    size = sum(path.stat().st_size for path in shards_in(directory))
    assert (report.shards, report.episodes, report.steps, report.bytes) == (2, 2, 13, size)


def test_progress_reaches_all_bytes(tmp_path: Path) -> None:
    """Progress only grows and ends at the total."""
    told: list[tuple[int, int]] = []
    report = verify(record(tmp_path / "d", max_shard_episodes=1), lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (report.bytes, report.bytes)


def test_directory_without_dataset_is_refused(tmp_path: Path) -> None:
    """An empty directory is no dataset."""
    with pytest.raises(NotADatasetError, match="has no shard"):
        verify(tmp_path)


def test_killed_writer_leaves_notes_only(tmp_path: Path) -> None:
    """A shard that was never closed and an episode without an end are no damage."""
    report = verify(record_and_die(tmp_path / "d"))
    assert (report.problems, rules(report.notes)) == ((), {"not-closed", "incomplete"})


def test_truncated_tail_is_a_note(tmp_path: Path) -> None:
    """A chunk that the writer did not finish is no damage; its bytes are named."""
    path = shard(record_and_die(tmp_path / "d"))
    path.write_bytes(path.read_bytes()[:-20])
    report = verify(tmp_path / "d")
    torn = next(note for note in report.notes if note.rule == "truncated")
    assert report.ok
    assert torn.end == path.stat().st_size


def test_open_shard_is_a_note(tmp_path: Path) -> None:
    """A shard that is being recorded is checked up to its end, and reported as open."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        list(rows_of(recorder.start_episode(), random.Random(0), 5))
        recorder.flush()
        report = verify(tmp_path / "d")
    assert (report.problems, rules(report.notes), report.steps) == ((), {"open"}, 5)


def test_empty_shard_is_a_note(tmp_path: Path) -> None:
    """A writer that was killed before its first byte leaves an empty file."""
    record(tmp_path / "d")
    (tmp_path / "d" / "episodes-20200101T000000Z-0-00000.riegeli").touch()
    report = verify(tmp_path / "d")
    assert (report.problems, rules(report.notes)) == ((), {"empty"})


def test_every_byte_of_a_shard_is_checked(tmp_path: Path) -> None:
    """No changed byte goes unseen, wherever it lies: signature, records, index, footer, padding, postscript."""
    directory = record(tmp_path / "d", lengths=(5, 3))
    path = shard(directory)
    raw = path.read_bytes()
    used = len(raw.rstrip(b"\0"))
    for position in [*range(0, 6000, 61), *range(65530, 65600, 9), *range(used - 200, used, 7), len(raw) - 1]:
        damage(path, position)
        assert not verify(directory).ok, position
        path.write_bytes(raw)


def test_damaged_block_is_named(tmp_path: Path) -> None:
    """Damage to a block's header names file, bytes, episode and first step, and which steps are missing."""
    directory = record(tmp_path / "d", lengths=(9,))
    file = ShardFile(shard(directory))
    (episode,) = survey(file).episodes.values()
    second = episode.blocks[1]
    damage(file.path, second.position + 60)
    report = verify(directory)
    found = only(report, "damaged")
    assert (found.shard, found.begin, found.end) == (file.path.name, second.position, second.end)
    assert (found.episode, found.step) == (uuid.UUID(bytes=episode.episode_id), 4)
    assert "steps 4 to 7 are missing" in only(report, "rows").message


def test_damaged_column_is_named(tmp_path: Path) -> None:
    """Damage to a column of a block names the column and its first step, and no step is reported as missing."""
    directory = record(tmp_path / "d", lengths=(9,))
    file = ShardFile(shard(directory))
    (episode,) = survey(file).episodes.values()
    damage_column(file.path, episode.blocks[1], "action")
    report = verify(directory)
    assert rules(report.problems) == {"damaged", "column"}
    assert ("action" in only(report, "column").message, only(report, "column").step) == (True, 3)


@pytest.mark.parametrize(
    ("kind", "rule"), [("start", "episode-start"), ("end", "damaged"), ("shard", "shard-header"), ("index", "damaged")]
)
def test_damaged_record_is_named(tmp_path: Path, kind: str, rule: str) -> None:
    """Damage to an episode's start or end, to the shard's header and to the index is distinguished."""
    directory = record(tmp_path / "d", lengths=(9,))
    file = ShardFile(shard(directory))
    found = survey(file)
    (episode,) = found.episodes.values()
    at = {"start": episode.start_position, "end": episode.end_position, "shard": 64, "index": found.index_position}
    damage(file.path, at[kind] + 45)
    report = verify(directory)
    assert rule in rules(report.problems)
    assert only(report, "damaged").begin == at[kind]


def test_damage_to_one_chunk_header_hides_no_other_chunk(tmp_path: Path) -> None:
    """In a shard without an index, the chunks after a damaged chunk header are found, however small they are."""
    directory = record_and_die(tmp_path / "d", policy=FlushPolicy.every_step())
    file = ShardFile(shard(directory))
    first = next(iter(survey(file).episodes.values()))
    damage(file.path, first.blocks[3].position + 3)
    report = verify(directory)
    assert [(each.begin, each.end) for each in report.problems if each.rule == "damaged"] == [
        (first.blocks[3].position, first.blocks[3].end)
    ]


def test_index_of_another_shard_is_found_out(tmp_path: Path) -> None:
    """An index and footer that were copied from another shard are a problem, and the steps are still checked."""
    one, other = shard(record(tmp_path / "a", seed=1)), shard(record(tmp_path / "b", seed=2))
    begin, theirs = (survey(ShardFile(path)).index_position for path in (one, other))
    raw = bytearray(one.read_bytes()[:begin])
    one.write_bytes(raw + other.read_bytes()[theirs:])
    assert not verify(tmp_path / "a").ok


def test_index_that_disagrees_with_its_shard_is_found_out(tmp_path: Path) -> None:
    """An intact index that names another position is a problem."""
    made = Handmade(tmp_path)
    made.start()
    made.block(range(2), ints("observation", 0, [1, 2]), ints("action", 0, [0]))
    made.writer._index._starts[0] += 1
    made.end(2)
    assert "the index has its start at" in only(verify(tmp_path), "index").message


def test_footer_that_disagrees_with_its_shard_is_found_out(tmp_path: Path) -> None:
    """An intact footer that leaves out a chunk is a problem."""
    made = Handmade(tmp_path)
    made.start()
    made.block(range(1), ints("observation", 0, [1]))
    del made.writer._chunks[2], made.writer._sizes[2]
    made.end(1)
    assert "footer" in rules(verify(tmp_path).problems)


def test_missing_rows_are_found(tmp_path: Path) -> None:
    """A block that does not follow the one before it."""
    made = Handmade(tmp_path)
    made.start()
    made.block(range(2), ints("observation", 0, [1, 2]), ints("action", 0, [0]))
    made.block(range(3, 5), ints("observation", 3, [1, 2]), ints("action", 3, [0]))
    made.end(5)
    assert only(verify(tmp_path), "rows").step == 2


def test_row_count_must_agree_with_the_end(tmp_path: Path) -> None:
    """The end counts more steps than there are."""
    made = Handmade(tmp_path)
    made.start()
    made.block(range(2), ints("observation", 0, [1, 2]), ints("action", 0, [0]))
    made.end(3)
    assert only(verify(tmp_path), "row-count").step == 2


@pytest.mark.parametrize(
    ("columns", "rule", "step"),
    [
        ([ints("observation", 0, [1, 2]), ints("action", 0, [5, 5])], "undefined", 2),
        ([ints("observation", 0, [1, 2, 3, 4]), ints("action", 0, [5])], "undefined", 1),
        ([ints("observation", 0, [1, 2, 3, 4]), ints("action", 0, [5, 5, 5, 5])], "last-step", 3),
        ([ints("observation", 0, [1] * 4), ints("action", 0, [5] * 3), ints("step_index", 0, [0, 1, 5, 6])], "gap", 1),
        (
            [ints("observation", 0, [1] * 4), ints("action", 0, [5] * 3), ints("step_index", 0, [3, 2, 5, 4])],
            "step-index",
            1,
        ),
        ([ints("observation", 0, [1] * 4), ints("action", 0, [5] * 3), ints("action", 1, [5])], "value-twice", 1),
    ],
    ids=["observation missing", "action missing", "action at the end", "action across a gap", "order", "twice"],
)
def test_values_stand_where_they_may(tmp_path: Path, columns: list[Column], rule: str, step: int) -> None:
    """Observations are in every row but perhaps the last, actions in every row but the last and before gaps."""
    assert only(verify_handmade(tmp_path, *columns, rows=4), rule).step == step


def test_gap_by_step_index_is_fine(tmp_path: Path) -> None:
    """A step after which steps were left out has no action, as `step_index` explains."""
    rng = random.Random(0)
    with Recorder(tmp_path / "d", DECLARED, policy=BLOCKS_OF_4) as recorder:
        episode = recorder.start_episode()
        for row, index in enumerate((0, 1, 2, 10, 11, 30)):
            joined = row > 0 and index not in (10, 30)
            episode.append({**observed(rng, index), "step_index": index}, acted(rng, index) if joined else None)
        episode.end(EpisodeEnd.TRUNCATED)
    assert verify(tmp_path / "d").problems == ()


def test_missing_final_observation_is_fine(tmp_path: Path) -> None:
    """Data that lacks its final observation keeps its last action."""
    rng = random.Random(0)
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        episode = recorder.start_episode()
        list(rows_of(episode, rng, 3))
        episode.end(EpisodeEnd.TERMINATED, acted=acted(rng, 3))
    report = verify(tmp_path / "d")
    assert (report.problems, report.steps) == ((), 4)


def test_value_that_does_not_fit_its_spec_is_found(tmp_path: Path) -> None:
    """A declared field of another dtype is a problem at its step."""
    rows = np.arange(3)
    wrong = Column(ColumnKey("observation", pb.FLOAT, None, 0), rows[1:2], np.array([0.5]))
    right = Column(ColumnKey("observation", pb.INT, None, 0), rows[[0, 2]], np.array([1, 1]))
    report = verify_handmade(tmp_path, right, wrong, ints("action", 0, [0, 0]), rows=3)
    assert only(report, "spec").step == 1


def test_action_outside_its_spec_is_a_note(tmp_path: Path) -> None:
    """What the agent did is data: a strange action is recorded, and noted."""
    with Recorder(tmp_path / "d", SMALL) as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 1})
        episode.append({"observation": 1}, {"action": "jump"})
        episode.end(EpisodeEnd.TERMINATED)
    report = verify(tmp_path / "d")
    assert (report.problems, rules(report.notes)) == ((), {"action"})


def test_value_outside_its_bounds_is_a_note(tmp_path: Path) -> None:
    """Environments break their own bounds; the first step is named."""
    declared = specs.Dict({"observation": specs.Array((2,), np.float32, minimum=-1, maximum=1)})
    with Recorder(tmp_path / "d", declared) as recorder:
        episode = recorder.start_episode()
        for step in range(5):
            episode.append({"observation": np.array([0, step], np.float32)})
        episode.end(EpisodeEnd.TERMINATED)
    report = verify(tmp_path / "d")
    assert (report.problems, [(note.rule, note.step) for note in report.notes]) == ((), [("bounds", 2)])


def test_wrong_digest_is_found(tmp_path: Path) -> None:
    """Content that is whole but not what was recorded has another digest."""
    made = Handmade(tmp_path)
    made.start()
    made.block(range(2), ints("observation", 0, [1, 2]), ints("action", 0, [0]))
    made.end(2, content_digest=bytes(16))
    assert rules(verify(tmp_path).problems) == {"digest"}


def test_column_that_is_not_where_protobuf_finds_it_is_found(tmp_path: Path) -> None:
    """The offsets in a block's header must agree with the message around the payloads."""
    made = Handmade(tmp_path)
    made.start()
    record_bytes = block.encode(made.id, range(1), [ints("observation", 0, [1])], FilterChoice())
    prefix = block.parse_prefix(record_bytes, "")
    prefix.header.columns[0].offset += 1
    message = pb.Record(version=1)
    message.block.header = prefix.header.SerializeToString()
    message.block.header_xxh3 = xxhash.xxh3_64_intdigest(message.block.header)
    message.block.payload.append(record_bytes[prefix.payload_base + 2 :])
    made.writer.encoded_block(made.id, range(1), message.SerializeToString())
    made.end(1)
    assert "block" in rules(verify(tmp_path).problems)


def test_text_that_is_no_text_is_found(tmp_path: Path) -> None:
    """A column with a valid checksum whose bytes do not match its kind."""
    broken = Column(ColumnKey("note", pb.TEXT, None, 1), np.arange(1), np.array([[0xFF]], np.uint8))
    assert "column" in rules(verify_handmade(tmp_path, ints("observation", 0, [1]), broken, rows=1).problems)


def test_episode_in_two_shards_is_found(tmp_path: Path) -> None:
    """Ids are unique over the dataset."""
    path = shard(record(tmp_path / "d", lengths=(5,)))
    shutil.copy(path, path.with_name("episodes-copy-00000.riegeli"))
    assert "episode-id" in rules(verify(tmp_path / "d").problems)


def test_shards_of_contradicting_specs_are_found(tmp_path: Path) -> None:
    """A shard that was copied in from another dataset."""
    record(tmp_path / "d", lengths=(5,))
    made = Handmade(tmp_path / "d")
    made.writer.close()
    assert {"shards-differ", "dataset-json"} <= rules(verify(tmp_path / "d").problems)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: "{",
        lambda content: "[]",
        lambda content: json.dumps({**content, "version": 99}),
        lambda content: json.dumps({**content, "format": "other"}),
        lambda content: json.dumps({**content, "spec": {"action": {"kind": "text"}}}),
    ],
    ids=["no JSON", "no object", "newer", "other format", "other spec"],
)
def test_bad_dataset_json_is_found(tmp_path: Path, spoil: Callable[[dict[str, object]], str]) -> None:
    """dataset.json must be readable and not contradict the shards."""
    path = record(tmp_path / "d", lengths=(5,)) / "dataset.json"
    path.write_text(spoil(json.loads(path.read_text())))
    assert rules(verify(tmp_path / "d").problems) == {"dataset-json"}


def test_missing_dataset_json_is_a_note(tmp_path: Path) -> None:
    (record(tmp_path / "d", lengths=(5,)) / "dataset.json").unlink()
    report = verify(tmp_path / "d")
    assert (report.problems, rules(report.notes)) == ((), {"dataset-json"})


def test_shard_of_a_newer_version_is_a_problem(tmp_path: Path) -> None:
    """It is named, with the upgrade to make, and the other shards are still checked."""
    record(tmp_path / "d", lengths=(5,))
    made = Handmade(tmp_path / "d")
    made.writer._write(pb.Record(version=2, start=pb.EpisodeStart()).SerializeToString())
    made.writer.abandon()
    assert any("upgrade rlds_kit" in problem.message for problem in verify(tmp_path / "d").problems)


def test_file_that_is_no_shard_is_a_problem(tmp_path: Path) -> None:
    """A stray file under the name of a shard."""
    record(tmp_path / "d", lengths=(5,))
    (tmp_path / "d" / "episodes-x-00000.riegeli").write_bytes(b"not a shard" * 100)
    assert {"damaged", "shard-header"} <= rules(verify(tmp_path / "d").problems)
