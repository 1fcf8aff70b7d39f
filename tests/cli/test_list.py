"""`rlds-kit list`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from tests.hub import running_hub
from tests.tools.upkeep.mending import record


def test_datasets_of_a_directory(tmp_path: Path) -> None:
    """Also those in directories below, in the order of their paths; hidden directories are not searched."""
    for name in ("b", "a/deep", ".hidden"):
        record(tmp_path / name)
    found = json.loads(CliRunner().invoke(main, ["list", str(tmp_path), "--json"]).stdout)
    assert [each["path"] for each in found] == [str(tmp_path / "a/deep"), str(tmp_path / "b")]
    assert all(each["episodes"] and each["steps"] and each["bytes"] and not each["problem"] for each in found)
    shown = CliRunner().invoke(main, ["list", str(tmp_path)])
    assert (shown.exit_code, "2 datasets" in shown.output) == (0, True)


def test_a_dataset_that_cannot_be_opened_is_listed(tmp_path: Path) -> None:
    """With what is wrong; the others are listed too."""
    record(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "episodes-x.riegeli").write_bytes(b"no shard" * 100)
    found = json.loads(CliRunner().invoke(main, ["list", str(tmp_path), "--json"]).stdout)
    assert [bool(each["problem"]) for each in found] == [False, True]
    unknown = {"environment": "", "episodes": 0, "steps": 0, "bytes": 0}
    assert {name: found[1][name] for name in unknown} == unknown
    assert "cannot be opened" in CliRunner().invoke(main, ["list", str(tmp_path)]).output


def test_no_datasets(tmp_path: Path) -> None:
    """For an empty directory a message says that there are none; a path that is not a directory is an error."""
    result = CliRunner().invoke(main, ["list", str(tmp_path)])
    assert (result.exit_code, "no dataset" in result.output) == (0, True)
    result = CliRunner().invoke(main, ["list", str(tmp_path / "missing")])
    assert (result.exit_code, "expected a dataset" in result.stderr) == (1, True)


def test_published_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one owner that carry the tag of `rlds-kit publish`."""
    pytest.importorskip("huggingface_hub")
    with running_hub(monkeypatch, tmp_path) as hub:
        for name in ("me/pong", "me/breakout", "you/pong"):
            hub.add(name, {"README.md": b'---\ntags:\n- "rlds-kit"\n---\n'})
        hub.add("me/other", {"README.md": b"---\ntags:\n- robots\n---\n"})
        result = CliRunner().invoke(main, ["list", "hf://me", "--json"])
        assert [each["location"] for each in json.loads(result.stdout)] == ["hf://me/breakout", "hf://me/pong"]
        assert "no dataset" in CliRunner().invoke(main, ["list", "hf://nobody"]).output
