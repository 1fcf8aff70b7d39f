"""`rlds-kit verify`."""

import json
from pathlib import Path

from click.testing import CliRunner

from rlds_kit.cli import main
from tests.tools.upkeep.mending import damage, record, record_and_die, shard


def test_good_dataset_exits_with_0(tmp_path: Path) -> None:
    """One line describes what was checked."""
    result = CliRunner().invoke(main, ["verify", str(record(tmp_path / "d"))])
    assert result.exit_code == 0
    assert "all is well (1 shard, 4 episodes, 29 steps" in result.output


def test_damage_exits_with_1_and_is_listed(tmp_path: Path) -> None:
    """Each problem with its rule and place, and what to do."""
    directory = record(tmp_path / "d")
    damage(shard(directory), 2000)
    result = CliRunner().invoke(main, ["verify", str(directory)])
    assert result.exit_code == 1
    assert "2 problems:" in result.output
    assert shard(directory).name in result.output
    assert "damaged" in result.output
    assert "rlds-kit repair" in result.output


def test_crash_exits_with_0_and_is_noted(tmp_path: Path) -> None:
    """An episode without an end is no damage."""
    result = CliRunner().invoke(main, ["verify", str(record_and_die(tmp_path / "d"))])
    assert result.exit_code == 0
    assert "incomplete" in result.output


def test_quiet_prints_nothing_of_a_good_dataset(tmp_path: Path) -> None:
    """For scripts that look at the exit code."""
    result = CliRunner().invoke(main, ["verify", "-q", str(record_and_die(tmp_path / "d"))])
    assert (result.exit_code, result.output) == (0, "")


def test_json_has_everything(tmp_path: Path) -> None:
    """Problems with bytes, episode and step; counts; and nothing but JSON is printed."""
    directory = record(tmp_path / "d")
    damage(shard(directory), 2000)
    result = CliRunner().invoke(main, ["verify", "--json", str(directory)])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["ok"], found["shards"]) == (1, False, 1)
    first = found["problems"][0]
    assert (first["rule"], first["shard"]) == ("damaged", shard(directory).name)
    assert first["begin"] <= 2000 < first["end"]
    assert first["episode"]
