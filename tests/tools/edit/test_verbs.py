"""`merge`, `filter`, `split` and `delete`: whole episodes, as they are."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import DamagedError, DatasetExistsError, EpisodeEnd, FormatError, NotADatasetError, SpecError
from rlds_kit import spec as specs
from rlds_kit.storage.directory import shards_in
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools import edit
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.verify import verify
from tests.tools.edit.looking import blocks, digests, facts, leftovers, record_one
from tests.tools.upkeep.mending import DECLARED, damage, record, record_and_die, rows_of, shard

Verb: TypeAlias = Callable[[Path, Path], Any]
VERBS: dict[str, Verb] = {
    "merge": lambda source, copy: edit.merge([source], copy),
    "filter": lambda source, copy: edit.filter(source, copy, "True"),
    "split": lambda source, copy: edit.split(source, copy, {"all": 1.0}),
    "delete": lambda source, copy: edit.delete(source, copy, []),
    "trim": edit.trim,
}
WHOLE = pytest.mark.parametrize("name", sorted(VERBS))


@WHOLE
@pytest.mark.parametrize("recorder", [record, record_and_die])
def test_all_of_a_dataset_is_the_same_dataset(tmp_path: Path, name: str, recorder: Callable[[Path], Path]) -> None:
    """Nothing of an episode changes, not even a byte of a block, and INCOMPLETE stays INCOMPLETE."""
    source, copy = recorder(tmp_path / "d"), tmp_path / "copy"
    VERBS[name](source, copy)
    made = copy / "all" if name == "split" else copy
    assert facts(made) == facts(source)
    assert blocks(made) == blocks(source)
    assert rlds_kit.open(made).spec == rlds_kit.open(source).spec
    assert verify(made).problems == ()
    assert leftovers(tmp_path) == []


@WHOLE
def test_lineage_is_recorded(tmp_path: Path, name: str) -> None:
    """Verb, version, source and its digest stand in dataset.json; what stood there stays."""
    source = record_one(tmp_path / "d", name="Balls", citation="Me, 2026", licence="CC-BY-4.0")
    VERBS[name](source, tmp_path / "copy")
    dataset = rlds_kit.open(tmp_path / "copy" / ("all" if name == "split" else ""))
    lineage = dataset.description["lineage"]
    assert (lineage["verb"], lineage["version"]) == (name, rlds_kit.__version__)
    assert lineage["sources"] == [{"name": "Balls", "digest": rlds_kit.open(source).content_digest.hex()}]
    before = rlds_kit.open(source).description
    assert {key: dataset.description[key] for key in before} == before


def test_earlier_lineage_is_kept(tmp_path: Path) -> None:
    """Each source has its own, so the history of a merge is a tree."""
    for number in range(2):
        record_one(tmp_path / str(number), seed=number)
        edit.filter(tmp_path / str(number), tmp_path / f"{number}-long", "length > 2")
    edit.merge([tmp_path / "0-long", tmp_path / "1-long"], tmp_path / "both")
    lineage = rlds_kit.open(tmp_path / "both").description["lineage"]
    below = [each["lineage"] for each in lineage["sources"]]
    assert [each["name"] for each in lineage["sources"]] == ["0-long", "1-long"]
    assert [each["arguments"] for each in below] == [{"where": "length > 2"}] * 2
    assert [each["sources"][0]["name"] for each in below] == ["0", "1"]


@WHOLE
def test_damaged_source_leaves_nothing(tmp_path: Path, name: str) -> None:
    """Damage is for `repair`."""
    source = record(tmp_path / "d")
    damage(shard(source), 3000)
    with pytest.raises(DamagedError, match="rlds-kit repair"):
        VERBS[name](source, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@WHOLE
def test_what_is_there_is_not_replaced(tmp_path: Path, name: str) -> None:
    source = record_one(tmp_path / "d")
    with pytest.raises(DatasetExistsError, match="give another path"):
        VERBS[name](source, source)
    assert verify(source).ok


@WHOLE
def test_path_without_dataset_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotADatasetError, match="expected a dataset"):
        VERBS[name](tmp_path / "nothing", tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


@WHOLE
def test_wrong_bytes_are_found_by_comparison(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that is another episode's is found before the dataset has its name."""
    source = record(tmp_path / "d", lengths=(9,))
    right, first = ShardWriter.encoded_block, list[bytes]()

    def wrong(writer: ShardWriter, episode_id: bytes, rows: range, data: bytes) -> None:
        first.append(data)
        right(writer, episode_id, rows, data if len(first) < 3 else first[-1][:-1] + bytes([first[-1][-1] ^ 1]))

    monkeypatch.setattr(ShardWriter, "encoded_block", wrong)
    with pytest.raises(DamagedError, match="not what was meant"):
        VERBS[name](source, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_episodes_being_recorded_are_left_out(tmp_path: Path) -> None:
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        ended, going = recorder.start_episode(), recorder.start_episode()
        for episode in (ended, going):
            list(rows_of(episode, random.Random(0), 5))
        ended.end(EpisodeEnd.TERMINATED)
        recorder.flush()
        report = edit.merge([tmp_path / "d"], tmp_path / "copy")
    assert (report.left_out, report.episodes) == ((going.id,), 1)


def test_progress_counts_every_byte_twice(tmp_path: Path) -> None:
    source, seen = record(tmp_path / "d"), list[tuple[int, int]]()
    edit.merge([source], tmp_path / "copy", progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {2 * shard(source).stat().st_size}
    assert seen[-1][0] == 2 * sum(len(block) for each in blocks(source).values() for block in each)


LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(LENGTHS, st.floats(0.1, 0.9), st.integers(0, 2**63 - 1))
@settings(max_examples=12)
def test_split_then_merge_is_the_same(lengths: list[int], fraction: float, seed: int) -> None:
    """The multiset of digests, ids and blocks come through; the parts are those of `Dataset.split`."""
    with tempfile.TemporaryDirectory() as folder:
        source, parts, again = (Path(folder, name) for name in ("d", "parts", "again"))
        record(source, lengths=tuple(lengths), seed=seed % 1000)
        fractions = {"a": fraction, "b": 1 - fraction}
        reports = edit.split(source, parts, fractions, seed=seed)
        views = rlds_kit.open(source).split(fractions, seed)
        for name, view in views.items():
            part = rlds_kit.open(parts / name)
            assert [each.id for each in part.episodes] == [each.id for each in view.episodes]
            assert reports[name].digest == part.content_digest.hex() == view.content_digest.hex()
        edit.merge([parts / "a", parts / "b"], again)
        assert digests(again) == digests(source)
        assert facts(again) == facts(source)
        assert blocks(again) == blocks(source)


@given(LENGTHS, st.integers(0, 7))
@settings(max_examples=12)
def test_filters_of_a_condition_and_its_opposite_are_a_partition(lengths: list[int], length: int) -> None:
    """Each episode is in one of them, and their merge is the whole."""
    with tempfile.TemporaryDirectory() as folder:
        source, yes, no, again = (Path(folder, name) for name in ("d", "yes", "no", "again"))
        record(source, lengths=tuple(lengths))
        kept = edit.filter(source, yes, f"length > {length}")
        others = edit.filter(source, no, f"not length > {length}")
        assert (kept.episodes, kept.removed) == (others.removed, others.episodes)
        assert all(episode.length > length for episode in rlds_kit.open(yes).episodes)
        edit.merge([yes, no], again)
        assert digests(again) == digests(source)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("length > 6", [0, 1]),
        ("end == 'terminated'", [0, 3]),
        ("score >= 1 and number < 3", [1, 2]),
        ("seed == 1", [1, 3]),
        ("return == 0", [2]),
        ("metadata['number'] == 3", [3]),
        ("False", []),
    ],
)
def test_filter_keeps_what_the_condition_says(tmp_path: Path, where: str, expected: list[int]) -> None:
    """Metadata of start and end, and what is known of each episode."""
    edit.filter(record(tmp_path / "d"), tmp_path / "copy", where)
    dataset = rlds_kit.open(tmp_path / "copy")
    assert [episode.metadata["number"] for episode in dataset.episodes] == expected
    assert set(dataset.spec.fields) >= set(DECLARED.fields)
    assert verify(tmp_path / "copy").problems == ()


def test_filter_by_id_and_return(tmp_path: Path) -> None:
    """The id as text; the return is the sum of the defined rewards."""
    source = record(tmp_path / "d")
    episode = rlds_kit.open(source).episodes[1]
    total = float(episode["reward"].sum())
    edit.filter(source, tmp_path / "copy", f"id == '{episode.id}' and {total - 1e-9} < return < {total + 1e-9}")
    assert [each.id for each in rlds_kit.open(tmp_path / "copy").episodes] == [episode.id]


def test_filter_by_what_only_some_episodes_have(tmp_path: Path) -> None:
    """It is None in the others, which can be tested, and comparing None with a number is an error."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        for metadata in ({"score": 3}, {}):
            episode = recorder.start_episode(metadata=metadata)
            list(rows_of(episode, random.Random(0), 3))
            episode.end(EpisodeEnd.TERMINATED)
    assert edit.filter(tmp_path / "d", tmp_path / "a", "score is not None and score > 2").episodes == 1
    with pytest.raises(ValueError, match=r"'>' not supported .*score=None"):
        edit.filter(tmp_path / "d", tmp_path / "b", "score > 2")
    with pytest.raises(ValueError, match="no episode has skore; there are end, id, length, metadata, return, score"):
        edit.filter(tmp_path / "d", tmp_path / "b", "skore > 2")
    assert not (tmp_path / "b").exists()


def test_return_of_several_rewards_is_an_error(tmp_path: Path) -> None:
    """It is ambiguous."""
    with Recorder(tmp_path / "d") as recorder:
        episode = recorder.start_episode()
        episode.append({"observation": 0})
        episode.append({"observation": 1}, {"action": 0, "reward": {"a": 1.0, "b": 2.0}})
        episode.end(EpisodeEnd.TERMINATED)
    with pytest.raises(SpecError, match="expected one reward a step"):
        edit.filter(tmp_path / "d", tmp_path / "copy", "return > 1")


def test_delete_leaves_out_what_is_named(tmp_path: Path) -> None:
    """By UUID or text; the others are as they were."""
    source = record(tmp_path / "d")
    first, second, third, fourth = rlds_kit.open(source).episodes
    report = edit.delete(source, tmp_path / "copy", [second.id, str(fourth.id)])
    assert (report.episodes, report.removed, report.steps) == (2, 2, first.length + third.length)
    assert facts(tmp_path / "copy") == {each: facts(source)[each] for each in (first.id, third.id)}


def test_delete_of_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Nothing is made: perhaps it is the wrong dataset."""
    source = record_one(tmp_path / "d")
    with pytest.raises(KeyError, match="there is no episode 0000"):
        edit.delete(source, tmp_path / "copy", [uuid.UUID(int=0)])
    with pytest.raises(ValueError, match="a UUID, got '7'"):
        edit.delete(source, tmp_path / "copy", ["7"])
    assert not (tmp_path / "copy").exists()


def test_merge_keeps_identical_episodes_once(tmp_path: Path) -> None:
    """Also INCOMPLETE ones, which have no stored digest; a dataset merged with itself is itself."""
    source = record_and_die(tmp_path / "d")
    edit.merge([source], tmp_path / "copy")
    report = edit.merge([source, tmp_path / "copy"], tmp_path / "both")
    assert (report.episodes, report.duplicates) == (2, 2)
    assert facts(tmp_path / "both") == facts(source)


def test_merge_refuses_one_id_with_two_contents(tmp_path: Path) -> None:
    """An INCOMPLETE copy of an episode that went on is another content."""
    with Recorder(tmp_path / "d", DECLARED) as recorder:
        episode = recorder.start_episode()
        rows = rows_of(episode, random.Random(0), 8)
        for _ in range(4):
            next(rows)
        recorder.flush()
        (tmp_path / "early").mkdir()
        (tmp_path / "early" / shard(tmp_path / "d").name).write_bytes(shard(tmp_path / "d").read_bytes())
        list(rows)
        episode.end(EpisodeEnd.TERMINATED)
    with pytest.raises(FormatError, match=f"episode {episode.id} is in .*early.* and in "):
        edit.merge([tmp_path / "early", tmp_path / "d"], tmp_path / "both")
    assert not (tmp_path / "both").exists()


def test_merge_refuses_specs_that_contradict_each_other(tmp_path: Path) -> None:
    """The field and both datasets are named."""
    other = specs.Dict({**DECLARED.fields, "reward": specs.Array((), np.float32)})
    one = record_one(tmp_path / "one")
    with Recorder(tmp_path / "two", other):
        pass
    with pytest.raises(SpecError, match=r"(?s)two .*one \(the dataset\).*reward: .*float32"):
        edit.merge([one, tmp_path / "two"], tmp_path / "both")
    assert not (tmp_path / "both").exists()


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_merge_of_a_wider_and_a_narrower_spec_has_the_wider_one(tmp_path: Path, order: list[int]) -> None:
    """In either order; episodes do not change."""
    declared = [specs.Dict({"observation": specs.Array((size,), np.uint8)}) for size in (None, 2)]
    for number, spec in enumerate(declared):
        with Recorder(tmp_path / str(number), spec) as recorder:
            episode = recorder.start_episode()
            episode.append({"observation": np.zeros(2 + (number == 0), np.uint8)})
            episode.end(EpisodeEnd.TERMINATED)
    edit.merge([tmp_path / str(number) for number in order], tmp_path / "both")
    assert specs.from_json(rlds_kit.open(tmp_path / "both").description["spec"]) == declared[0]
    assert verify(tmp_path / "both").problems == ()
    assert digests(tmp_path / "both") == digests(tmp_path / "0", tmp_path / "1")


def test_merge_says_what_all_sources_say(tmp_path: Path) -> None:
    """Names that differ are left out, citations and licences are put together."""
    record_one(tmp_path / "a", name="A", citation="One", licence="MIT")
    record_one(tmp_path / "b", name="B", citation="Two", licence="CC-BY-4.0")
    record_one(tmp_path / "c", name="C", citation="One")
    edit.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "ab")
    edit.merge([tmp_path / "a", tmp_path / "c"], tmp_path / "ac")
    merged = [rlds_kit.open(tmp_path / each).description for each in ("ab", "ac")]
    said = [[content[key] for key in ("name", "citation", "licence")] for content in merged]
    assert said == [["", "One\n\nTwo", "MIT AND CC-BY-4.0"], ["", "One", ""]]


def test_merge_of_nothing_is_an_error(tmp_path: Path) -> None:
    """There is no spec to give it."""
    with pytest.raises(ValueError, match="at least one dataset"):
        edit.merge([], tmp_path / "copy")


def test_runs_keep_their_metadata(tmp_path: Path) -> None:
    """Episodes of two runs are in shards of their own; those of one run share one."""
    for run in range(2):
        for _ in range(2):
            with Recorder(tmp_path / "d", DECLARED, metadata={"run": run}) as recorder:
                episode = recorder.start_episode()
                list(rows_of(episode, random.Random(0), 3))
                episode.end(EpisodeEnd.TERMINATED)
    edit.merge([tmp_path / "d"], tmp_path / "copy")
    assert [each.run_metadata["run"] for each in rlds_kit.open(tmp_path / "copy").episodes] == [0, 0, 1, 1]
    assert len(shards_in(tmp_path / "copy")) == 2


def test_full_shards_take_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next episode goes to another one."""
    monkeypatch.setattr("rlds_kit.tools.upkeep.episode_copy.NewShards.__init__.__defaults__", (1,))
    edit.merge([record(tmp_path / "d")], tmp_path / "copy")
    assert len(shards_in(tmp_path / "copy")) == 4
    assert facts(tmp_path / "copy") == facts(tmp_path / "d")


@pytest.mark.parametrize("fractions", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.6}, {"../a": 1.0}, {"": 1.0}])
def test_split_refuses_what_is_no_whole(tmp_path: Path, fractions: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        edit.split(tmp_path / "nothing", tmp_path / "copy", fractions)


def test_split_appears_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the second part fails the first is not there either."""
    source = record(tmp_path / "d")
    right, calls = Output.verify, list[int]()

    def fail(output: Output) -> int:
        calls.append(1)
        if len(calls) == 2:
            raise OSError
        return right(output)

    monkeypatch.setattr(Output, "verify", fail)
    with pytest.raises(OSError):  # noqa: PT011  it has no text
        edit.split(source, tmp_path / "copy", {"a": 0.5, "b": 0.5})
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
@pytest.mark.parametrize("name", ["merge", "split", "trim"])
def test_killed_edit_leaves_no_dataset(tmp_path: Path, name: str) -> None:
    """In the middle of its work nothing has the name of the new dataset, and the source is as it was."""
    source = record(tmp_path / "d")
    before = facts(source)
    call = {
        "merge": "merge(['d'], 'copy')",
        "split": "split('d', 'copy', {'a': 1})",
        "trim": "trim('d', 'copy', end=5)",
    }
    code = (
        "import os, signal; from rlds_kit.tools import edit; from rlds_kit.storage.shard_writer import ShardWriter\n"
        "ShardWriter.end = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"edit.{call[name]}"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "copy").exists()
    assert facts(source) == before


def test_dataset_json_that_is_not_there_is_made(tmp_path: Path) -> None:
    source = record_one(tmp_path / "d")
    (source / "dataset.json").unlink()
    edit.merge([source], tmp_path / "copy")
    content = json.loads((tmp_path / "copy" / "dataset.json").read_text("utf-8"))
    assert content["lineage"]["sources"][0]["name"] == "d"
    assert specs.from_json(content["spec"]) == DECLARED
