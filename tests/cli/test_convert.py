"""`rlds-kit convert`."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import rlds_kit
from rlds_kit.cli import main
from rlds_kit.logger import EpisodeWriter


def _arrays(path: Path) -> Path:
    rows = np.arange(6, dtype=np.float32)
    ends = np.array([0, 0, 1, 0, 0, 1], np.bool_)
    np.savez(path, observations=rows, next_observations=rows + 1, actions=rows, rewards=rows, terminals=ends)
    return path


def test_says_what_it_made(tmp_path: Path) -> None:
    """How much, of what format, and that nothing was lost."""
    result = CliRunner().invoke(main, ["convert", str(_arrays(tmp_path / "a.npz")), str(tmp_path / "b")])
    assert result.exit_code == 0
    assert "rlds_kit from arrays, 2 episodes, 8 steps, read back and compared" in result.output.replace("\n", " ")
    assert "nothing was lost" in result.output
    assert len(rlds_kit.open(tmp_path / "b").episodes) == 2


def test_json_has_the_report(tmp_path: Path) -> None:
    """Losses with field, reason and number of values."""
    with EpisodeWriter(tmp_path / "a", record_time=False) as writer, writer.episode(metadata={"x": None}) as episode:
        episode.start(np.zeros(2))
        episode.step(1, 1.0, np.ones(2), terminated=True)
    command = ["convert", str(tmp_path / "a"), str(tmp_path / "b-v0"), "--to", "minari", "--json"]
    refused = CliRunner().invoke(main, command)
    assert (refused.exit_code, "--allow-loss" in refused.stderr, (tmp_path / "b-v0").exists()) == (1, True, False)
    found = json.loads(CliRunner().invoke(main, [*command, "--allow-loss"]).stdout)
    assert found["losses"] == [{"field": "metadata/x", "reason": "is of type NoneType", "values": 1}]
    assert (found["episodes"], found["steps"], len(found["content_digest"])) == (1, 2, 32)


def test_table_of_what_was_not_held(tmp_path: Path) -> None:
    with EpisodeWriter(tmp_path / "a", record_time=True) as writer, writer.episode() as episode:
        episode.start(np.zeros(2))
        episode.step(1, 1.0, np.ones(2), terminated=True)
    command = ["convert", str(tmp_path / "a"), str(tmp_path / "b-v0"), "--to", "minari", "--allow-loss"]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, "time_ns" in result.output) == (0, True)


def test_unknown_source_lists_the_formats(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["convert", str(tmp_path), str(tmp_path / "b")])
    assert (result.exit_code, "minari" in result.stderr) == (1, True)


def test_format_that_is_not_known_is_a_usage_error() -> None:
    assert CliRunner().invoke(main, ["convert", "a", "b", "--to", "arrays"]).exit_code == 2


def test_names_of_formats_have_hyphens_or_underscores(tmp_path: Path) -> None:
    """`rlds-kit` is what the program is called, and `rlds_kit` what the package is."""
    command = ["convert", str(_arrays(tmp_path / "a.npz")), str(tmp_path / "b"), "--to", "rlds-kit"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert len(rlds_kit.open(tmp_path / "b").episodes) == 2
