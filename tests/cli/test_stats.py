"""`rlds-kit stats`."""

import json
from pathlib import Path

from click.testing import CliRunner

from rlds_kit.cli import main
from tests.tools.upkeep.mending import record


def test_numbers_are_shown(tmp_path: Path) -> None:
    """Episodes by ending, lengths, returns and fields."""
    result = CliRunner().invoke(main, ["stats", str(record(tmp_path / "d"))])
    assert result.exit_code == 0
    for text in ("2 terminated", "length", "return", "observation/pixels", "uint8 (6, 5)", "B per step"):
        assert text in result.output


def test_json_has_all_numbers(tmp_path: Path) -> None:
    """By the names of the Python function's result."""
    result = CliRunner().invoke(main, ["stats", "--json", str(record(tmp_path / "d", lengths=(9, 5)))])
    found = json.loads(result.stdout)
    assert (found["episodes"], found["steps"], found["length"]["mean"]) == (2, 14, 7.0)
    assert found["returns"]["reward"]["min"] > 0
    assert {"path", "types", "bytes"} <= found["fields"][0].keys()
