"""`rlds-kit merge`, `filter`, `trim`, `split` and `delete`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit import layers
from rlds_kit.cli import main
from tests.tools.edit.looking import record_one
from tests.tools.upkeep.mending import damage, record, shard


def run(*arguments: object) -> Result:
    """Runs a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_merge_takes_any_number_of_datasets(tmp_path: Path) -> None:
    """The last path is the destination; one line summarises the result."""
    sources = [record_one(tmp_path / str(number), seed=number) for number in range(3)]
    result = run("merge", *sources, sources[0].parent / "all")
    assert (result.exit_code, "all: 3 episodes, 18 steps" in result.output.replace("\n", "")) == (0, True)
    result = run("merge", *sources, tmp_path / "all", tmp_path / "again", "--json")
    found = json.loads(result.stdout)
    assert (found["episodes"], found["duplicates"]) == (3, 3)
    assert found["digest"] == rlds_kit.open(tmp_path / "all").content_digest.hex()


def test_filter_says_how_many_are_left(tmp_path: Path) -> None:
    result = run("filter", record(tmp_path / "d"), tmp_path / "copy", "--where", "length > 6 and end != 'truncated'")
    assert result.exit_code == 0
    assert "1 episode, 9 steps" in result.output
    assert "3 episodes left out" in result.output


def test_filter_warns_where_no_episode_is_left(tmp_path: Path) -> None:
    """There is a dataset, and scripts that read reports go on."""
    result = run("filter", record(tmp_path / "d"), tmp_path / "copy", "--where", "length > 600", "--json")
    assert (result.exit_code, json.loads(result.stdout)["episodes"]) == (0, 0)
    assert "no episode meets the condition length > 600" in result.stderr


@pytest.mark.parametrize(("where", "code"), [("length >", 2), ("open('x')", 2), ("skore > 1", 1), ("end > 1", 1)])
def test_condition_that_cannot_be_read_or_decided_is_a_short_error(tmp_path: Path, where: str, code: int) -> None:
    """A usage error if it is no condition; nothing is made."""
    result = run("filter", record_one(tmp_path / "d"), tmp_path / "copy", "--where", where)
    assert (result.exit_code, result.stdout, "Error: " in result.stderr) == (code, "", True)
    assert not (tmp_path / "copy").exists()


def test_trim_cuts_at_steps(tmp_path: Path) -> None:
    result = run("trim", record(tmp_path / "d"), tmp_path / "copy", "--begin", 1, "--end", "-1")
    assert result.exit_code == 0
    assert "3 episodes, 22 steps" in result.output
    assert "1 episode left out; 3 episodes cut" in result.output.replace("\n", " ")
    assert run("trim", tmp_path / "d", tmp_path / "other", "--at", "nothing").exit_code == 1


def test_split_has_a_part_for_each_name(tmp_path: Path) -> None:
    """JSON has a report of each."""
    result = run("split", record(tmp_path / "d"), tmp_path / "s", "--part", "a=0.5", "--part", "b=0.5", "--json")
    found = json.loads(result.stdout)
    assert [each["destination"] for each in found] == [str(tmp_path / "s" / name) for name in "ab"]
    assert sum(each["episodes"] for each in found) == 4


@pytest.mark.parametrize(
    ("parts", "code"), [(["a"], 2), (["a=x"], 2), (["a=0.5", "a=0.5"], 2), (["a=0.5"], 1), (["..=1"], 1), ([], 2)]
)
def test_parts_that_make_no_sense_are_a_short_error(tmp_path: Path, parts: list[str], code: int) -> None:
    """A usage error if they cannot be read."""
    options = [f"--part={part}" for part in parts]
    result = run("split", record_one(tmp_path / "d"), tmp_path / "copy", *options)
    assert (result.exit_code, result.stdout, "Error: " in result.stderr) == (code, "", True)


def test_delete_takes_ids(tmp_path: Path) -> None:
    """One that is not there is a short error, one that is no UUID a usage error."""
    source = record(tmp_path / "d")
    first, second = (episode.id for episode in rlds_kit.open(source).episodes[:2])
    assert run("delete", source, tmp_path / "copy", "--id", first, "--id", second).exit_code == 0
    assert len(rlds_kit.open(tmp_path / "copy").episodes) == 2
    missing = run("delete", tmp_path / "copy", tmp_path / "other", "--id", first)
    assert (missing.exit_code, f"there is no episode {first}" in missing.stderr.replace("\n", " ")) == (1, True)
    assert run("delete", source, tmp_path / "other", "--id", "7").exit_code == 2


def test_damaged_dataset_is_refused(tmp_path: Path) -> None:
    """With the advice to repair it."""
    source = record(tmp_path / "d")
    damage(shard(source), 3000)
    result = run("merge", source, tmp_path / "copy")
    assert (result.exit_code, "rlds-kit repair" in result.stderr) == (1, True)


def test_what_is_not_carried_over_is_reported(tmp_path: Path) -> None:
    """Annotations of steps that were cut off."""
    dataset = rlds_kit.open(record_one(tmp_path / "d"))
    dataset.annotate("review", [layers.tag(dataset.episodes[0], "late", 5)], source="anna")
    result = run("trim", dataset.path, tmp_path / "copy", "--end", 3)
    assert "1 annotation of steps that were cut off left out" in result.output
