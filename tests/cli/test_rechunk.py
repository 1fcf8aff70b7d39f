"""`rlds-kit rechunk`."""

import json
from pathlib import Path

from click.testing import CliRunner

import rlds_kit
from rlds_kit.cli import main
from tests.tools.upkeep.mending import damage, record, shard


def test_copy_has_larger_blocks_and_the_same_content(tmp_path: Path) -> None:
    """The output describes the changes, and the digest of the dataset does not change."""
    directory, copy = record(tmp_path / "d"), tmp_path / "copy"
    result = CliRunner().invoke(main, ["rechunk", str(directory), str(copy), "--block-rows", "64"])
    assert (result.exit_code, "10 blocks became 4" in result.output) == (0, True)
    assert rlds_kit.open(copy).content_digest == rlds_kit.open(directory).content_digest


def test_json_has_the_counts(tmp_path: Path) -> None:
    """Blocks and bytes before and after."""
    result = CliRunner().invoke(main, ["rechunk", str(record(tmp_path / "d")), str(tmp_path / "copy"), "--json"])
    found = json.loads(result.stdout)
    assert (found["episodes"], found["steps"], found["blocks_before"], found["blocks"]) == (4, 29, 10, 4)


def test_damaged_dataset_is_refused(tmp_path: Path) -> None:
    """With the advice to repair it, and no copy."""
    directory = record(tmp_path / "d")
    damage(shard(directory), 3000)
    result = CliRunner().invoke(main, ["rechunk", str(directory), str(tmp_path / "copy")])
    assert (result.exit_code, "rlds-kit repair" in result.stderr) == (1, True)
    assert not (tmp_path / "copy").exists()


def test_block_of_no_rows_is_a_usage_error(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["rechunk", "a", "b", "--block-rows", "0"]).exit_code == 2
