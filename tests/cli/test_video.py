"""`rlds-kit video`."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rlds_kit.cli import main
from tests.tools.video import showing


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two episodes."""
    showing.record(tmp_path / "data")
    return tmp_path / "data"


def test_chosen_episodes_are_written(data: Path, tmp_path: Path) -> None:
    """The episodes are in the requested order, and the output names the written file."""
    target = tmp_path / "some.mp4"
    done = CliRunner().invoke(main, ["video", str(data), "--to", str(target), "--episodes", "1,0", "--lossless"])
    assert done.exit_code == 0, done.output
    assert "2 episodes, 10 frames, 30 a second" in done.output
    assert np.array_equal(showing.frames_of(target)[0], showing.screen(1, 0))


def test_json_lists_the_files(data: Path, tmp_path: Path) -> None:
    """One for each episode in a folder."""
    done = CliRunner().invoke(main, ["video", str(data), "--to", str(tmp_path / "all"), "--fps", "5", "--json"])
    found = json.loads(done.output)["videos"]
    assert [(Path(each["path"]).name, each["episodes"], each["fps"]) for each in found] == [
        ("episode-000000.mp4", [0], 5),
        ("episode-000001.mp4", [1], 5),
    ]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--episodes", "7"], 2),
        (["--episodes", "x"], 2),
        (["--field", "none"], 1),
        (["--scale", "0"], 1),
        (["--fps", "x"], 2),
    ],
)
def test_mistakes_have_exit_codes(options: list[str], code: int, data: Path, tmp_path: Path) -> None:
    """2 for the command line, 1 for what cannot be shown."""
    done = CliRunner().invoke(main, ["video", str(data), "--to", str(tmp_path / "a.mp4"), *options])
    assert done.exit_code == code, done.output
    assert not (tmp_path / "a.mp4").exists()
