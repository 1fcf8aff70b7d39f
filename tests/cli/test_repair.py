"""`rlds-kit repair`."""

import json
from pathlib import Path

from click.testing import CliRunner

import rlds_kit
from rlds_kit.cli import main
from tests.tools.upkeep.mending import damage, record, shard


def test_damaged_dataset_gets_a_good_copy(tmp_path: Path) -> None:
    """The copy passes verify; the losses are listed, and the exit code shows that there are some."""
    directory, copy = record(tmp_path / "d"), tmp_path / "copy"
    damage(shard(directory), 3000)
    result = CliRunner().invoke(main, ["repair", str(directory), str(copy)])
    assert result.exit_code == 1
    assert "lost:" in result.output
    assert CliRunner().invoke(main, ["verify", str(copy)]).exit_code == 0


def test_good_dataset_loses_nothing(tmp_path: Path) -> None:
    """Exit code 0, and everything is in the copy."""
    directory, copy = record(tmp_path / "d"), tmp_path / "copy"
    result = CliRunner().invoke(main, ["repair", str(directory), str(copy)])
    assert (result.exit_code, "4 episodes and 29 steps saved in 1 shard" in result.output) == (0, True)
    assert rlds_kit.open(copy).content_digest == rlds_kit.open(directory).content_digest


def test_json_lists_losses(tmp_path: Path) -> None:
    """Each with episode and steps."""
    directory = record(tmp_path / "d")
    damage(shard(directory), 3000)
    result = CliRunner().invoke(main, ["repair", "--json", str(directory), str(tmp_path / "copy")])
    found = json.loads(result.stdout)
    assert (found["complete"], found["shards"]) == (False, 1)
    assert {"what", "episode", "first", "end", "path", "message"} <= found["losses"][0].keys()


def test_copy_over_something_is_refused(tmp_path: Path) -> None:
    """Exit code 1, one line, and the dataset stays."""
    directory = str(record(tmp_path / "d"))
    result = CliRunner().invoke(main, ["repair", directory, directory])
    assert (result.exit_code, "give another path" in result.stderr) == (1, True)
    assert CliRunner().invoke(main, ["verify", directory]).exit_code == 0
