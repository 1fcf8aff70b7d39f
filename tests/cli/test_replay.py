"""`rlds-kit replay`."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.cli.replay import numbers_of
from rlds_kit.logger import EpisodeWriter
from tests.tools.compare.recording import record
from tests.tools.compare.rewriting import rewrite


def _run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["replay", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def _tampered(directory: Path) -> Path:
    """A recording with another reward in one step of episode 1."""

    def change(episode: int, step: int, values: dict[str, Any]) -> None:
        if (episode, step) == (1, 4):
            values["reward"] = 3.5

    return rewrite(record(directory / "a"), directory / "b", change).path


def test_recording_that_comes_out_the_same_exits_with_0(tmp_path: Path) -> None:
    """One line with the numbers of replayed episodes and actions."""
    code, output = _run(record(tmp_path / "d"), "--info")
    assert code == 0
    assert "of 3 episodes taken again; 3 came out the same, 0 differ, 0 were not played to their end" in output


def test_divergence_exits_with_1_and_is_shown(tmp_path: Path) -> None:
    """Episode, step, field, both values, and by how much."""
    code, output = _run(_tampered(tmp_path))
    assert code == 1
    assert "1 4 reward 3.5 1.0 2.5" in output
    assert "2 came out the same, 1 differ" in output


def test_chosen_episodes(tmp_path: Path) -> None:
    directory = _tampered(tmp_path)
    assert _run(directory, "--episodes", "0,-1")[0] == 0
    assert _run(directory, "--episodes", "1:")[0] == 1


def test_what_cannot_be_played_exits_with_2_and_says_why(tmp_path: Path) -> None:
    """It is neither the same nor different."""
    with EpisodeWriter(tmp_path / "d") as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(1, 0.0, 0.1)
    code, output = _run(tmp_path / "d")
    assert code == 2
    assert "0 of 1 no environment id was recorded" in output
    assert _run(tmp_path / "nothing")[0] == 2


def test_json_has_everything(tmp_path: Path) -> None:
    code, output = _run(_tampered(tmp_path), "--json")
    found = json.loads(output)
    (divergence,) = found["outcomes"][1]["divergences"]
    assert (code, found["ok"], divergence["step"], divergence["field"]) == (1, False, 4, "reward")


def test_modules_are_imported_first(tmp_path: Path) -> None:
    """A module that does not exist is an error."""
    directory = record(tmp_path / "d", episodes=1)
    assert _run(directory, "--import", "ale_py")[0] == 0
    code, output = _run(directory, "--import", "no_such_games")
    assert (code, "--import no_such_games" in output) == (2, True)


@pytest.mark.parametrize(
    ("text", "numbers"), [("0", [0]), ("2,0", [2, 0]), ("1:3", [1, 2]), (":2,1", [0, 1]), ("-1", [4]), ("3:", [3, 4])]
)
def test_numbers_of_episodes(text: str, numbers: list[int]) -> None:
    """Each once, in the order in which they are written."""
    assert numbers_of(text, 5) == numbers


@pytest.mark.parametrize("text", ["0,", "a", "1-3", "5", "-6", "1;2"])
def test_bad_numbers_of_episodes(text: str) -> None:
    """The error states the expected form, or the number of episodes."""
    with pytest.raises(click.BadParameter, match=r"expected|there is no episode"):
        numbers_of(text, 5)
