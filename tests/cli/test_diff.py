"""`rlds-kit diff`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.convert.conversion import convert
from tests.tools.compare.recording import record
from tests.tools.compare.rewriting import rewrite


def _run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["diff", *map(str, arguments)])
    return result.exit_code, result.output


def _changed(directory: Path) -> tuple[Path, Path]:
    """A recording, and a copy with another reward in one step."""

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (1, 4):
            values["reward"] = 3.5

    source = record(directory / "a")
    return source, rewrite(source, directory / "b", change).path


def test_equal_datasets_exit_with_0(tmp_path: Path) -> None:
    """One line describes what was compared, and how."""
    code, output = _run(record(tmp_path / "a"), record(tmp_path / "b"))
    assert code == 0
    assert "equal; 3 episodes matched by order, 3 equal by content digest" in " ".join(output.split())


def test_different_datasets_exit_with_1_and_say_where(tmp_path: Path) -> None:
    """Field, place, both values, and by how much."""
    code, output = _run(*_changed(tmp_path))
    assert code == 1
    for part in ("reward", "episode 1, step 4", "1.0", "3.5", "2.5", "different (1 of the episodes matched)"):
        assert part in " ".join(output.split())


def test_named_fields_only(tmp_path: Path) -> None:
    a, b = _changed(tmp_path)
    assert _run(a, b, "--fields", "observation, action")[0] == 0
    assert _run(a, b, "--fields", "observation,reward")[0] == 1


def test_json_has_everything(tmp_path: Path) -> None:
    code, output = _run(*_changed(tmp_path), "--json", "--match", "digest")
    found = json.loads(output)
    assert (code, found["equal"], found["match"], found["only_a"], found["only_b"]) == (1, False, "digest", [1], [1])


def test_limit_0_lists_no_values(tmp_path: Path) -> None:
    """The fields that differ are still counted."""
    output = json.loads(_run(*_changed(tmp_path), "--json", "--limit", "0")[1])
    assert (output["first"], len(output["fields"])) == ([], 1)


def test_what_cannot_be_compared_exits_with_2(tmp_path: Path) -> None:
    """No dataset, no such field, and a slip on the command line are no difference."""
    a = record(tmp_path / "a", episodes=1)
    assert _run(a, tmp_path / "nothing")[0] == 2
    assert _run(a, a, "--fields", "rewards")[0] == 2
    assert _run(a, a, "--fields", ",")[0] == 2
    assert _run(a, a, "--match", "luck")[0] == 2
    assert "there is no field 'rewards'" in _run(a, a, "--fields", "rewards")[1]


def test_datasets_of_other_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are converted once, and compared as any other."""
    monkeypatch.setenv("RLDS_KIT_CACHE", str(tmp_path / "cache"))
    rows, ends = np.arange(6, dtype=np.float32), np.array([0, 0, 1, 0, 0, 1], np.bool_)
    arrays: dict[str, Any] = {"observations": rows, "next_observations": rows + 1, "actions": rows, "terminals": ends}
    np.savez(tmp_path / "a.npz", rewards=rows, **arrays)
    np.savez(tmp_path / "b.npz", rewards=rows + 1, **arrays)
    convert(tmp_path / "a.npz", tmp_path / "ours")
    assert _run(tmp_path / "a.npz", tmp_path / "ours")[0] == 0  # where it comes from is no difference
    assert _run(tmp_path / "a.npz", tmp_path / "ours", "--fields", "observation,reward")[0] == 0
    code, output = _run(tmp_path / "a.npz", tmp_path / "b.npz", "--fields", "observation,reward")
    assert (code, "reward" in output) == (1, True)
    said = f"{tmp_path / 'a.npz'} and {tmp_path / 'b.npz'}: different"
    assert "".join(said.split()) in "".join(output.split())  # a line is broken where it is full
    (made, _) = (each for each in sorted((tmp_path / "cache").iterdir()) if each.is_dir())
    assert made.name.startswith("arrays-a.npz-")
    (tmp_path / "empty").mkdir()
    assert _run(tmp_path / "empty", tmp_path / "ours")[0] == 2
