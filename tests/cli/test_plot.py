"""`rlds-kit plot`, and `rlds-kit stats --plot`."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit.cli import main
from rlds_kit.cli.plot import names_of
from rlds_kit.storage.recorder import Recorder
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.survey import survey
from tests.tools.upkeep.mending import DECLARED, damage, damage_column, record, shard

PNG = b"\x89PNG\r\n\x1a\n"
ROOT = Path(rlds_kit.__file__).parent.parent


def run(*arguments: object) -> Result:
    """Runs the program."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_picture_of_one_dataset(tmp_path: Path) -> None:
    """A line says what was drawn."""
    result = run("plot", record(tmp_path / "d"), "-o", tmp_path / "d.png")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "d.png: 3 histograms of 1 dataset" in result.stdout.replace("\n", "")
    assert (tmp_path / "d.png").read_bytes().startswith(PNG)


def test_picture_of_several_datasets(tmp_path: Path) -> None:
    """The format is that of the file's suffix, also in capitals."""
    datasets = record(tmp_path / "a"), record(tmp_path / "b", seed=1)
    result = run("plot", *datasets, "--output", tmp_path / "d.SVG", "--bins", 5)
    assert result.exit_code == 0
    drawn = (tmp_path / "d.SVG").read_text("utf-8")
    assert "<svg" in drawn
    assert all(f"<!-- {name}: 4 episodes, 29 steps -->" in drawn for name in ("a", "b"))


def test_json_has_the_counts(tmp_path: Path) -> None:
    """Of each dataset by its name, in the same bins; no picture is needed."""
    result = run("plot", record(tmp_path / "a", lengths=(9, 13)), record(tmp_path / "b", lengths=(10,)), "--json")
    found = json.loads(result.stdout)
    assert found["datasets"] == {"a": {"episodes": 2, "steps": 22}, "b": {"episodes": 1, "steps": 10}}
    assert found["lengths"]["edges"] == [8.5, 9.5, 10.5, 11.5, 12.5, 13.5]
    assert found["lengths"]["datasets"]["a"]["bins"] == [1, 0, 0, 0, 1]
    assert found["lengths"]["datasets"]["b"]["bins"] == [0, 1, 0, 0, 0]
    assert sum(found["returns"][0]["datasets"]["a"]["bins"]) == 2
    assert sum(found["actions"][0]["datasets"]["a"]["bins"]) == 20


def test_json_and_picture(tmp_path: Path) -> None:
    """Standard output has JSON and nothing else."""
    result = run("plot", record(tmp_path / "d"), "--json", "-o", tmp_path / "d.pdf")
    assert json.loads(result.stdout)["datasets"]["d"]["episodes"] == 4
    assert (tmp_path / "d.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "d.gif"], "expected a name that ends in .png, .svg, .pdf, got 'd.gif'"),
        (["-o", "d"], "expected a name that ends in .png, .svg, .pdf, got 'd'"),
        (["-o", "nowhere/d.png"], "there is no folder 'nowhere'"),
        (["--bins", "1", "-o", "d.png"], "1 is not in the range 2<=x<=256"),
        ([], "expected a picture to write"),
    ],
)
def test_bad_command_line_is_refused(
    tmp_path: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, and what was expected."""
    monkeypatch.chdir(tmp_path)
    result = run("plot", record(tmp_path / "data"), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert list(tmp_path.glob("d*.*")) == []


def test_dataset_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    directory = record(tmp_path / "d")
    result = run("plot", directory, tmp_path / "x" / ".." / "d", "--json")
    assert (result.exit_code, "are the same" in result.stderr) == (2, True)


def test_missing_dataset_is_named(tmp_path: Path) -> None:
    """Also if other paths exist; nothing is drawn."""
    result = run("plot", record(tmp_path / "d"), tmp_path / "missing", "-o", tmp_path / "d.png")
    assert (result.exit_code, "missing: expected a dataset" in result.stderr) == (1, True)
    assert not (tmp_path / "d.png").exists()


def test_dataset_without_episodes_is_an_error(tmp_path: Path) -> None:
    """Of a picture; as JSON it has counts of nothing."""
    Recorder(tmp_path / "d", DECLARED).close()
    result = run("plot", tmp_path / "d", "-o", tmp_path / "d.png")
    assert (result.exit_code, "expected episodes to draw" in result.stderr) == (1, True)
    assert json.loads(run("plot", tmp_path / "d", "--json").stdout)["lengths"]["edges"] == []


@pytest.mark.parametrize("field", ["reward", "action"])
def test_damaged_column_is_an_error(tmp_path: Path, field: str) -> None:
    """Exit code 1, the field by name, and what to do."""
    directory = record(tmp_path / "d")
    (first, *_) = survey(ShardFile(shard(directory))).episodes.values()
    damage_column(shard(directory), first.blocks[1], field)
    result = run("plot", directory, "-o", tmp_path / "d.png")
    assert result.exit_code == 1
    assert f"column {field} does not match its checksum; run `rlds-kit repair`" in result.stderr
    assert not (tmp_path / "d.png").exists()


def test_damage_that_hides_episodes_is_an_error(tmp_path: Path) -> None:
    """A picture that lacks them would be wrong."""
    directory = record(tmp_path / "d")
    found = survey(ShardFile(shard(directory)))
    for position in (found.index_position, next(iter(found.episodes.values())).start_position):
        damage(shard(directory), position + 50, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a program of its own
        result = run("plot", directory, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "`rlds-kit repair` saves the rest" in result.stderr


@pytest.mark.parametrize("command", [["plot", "-o"], ["stats", "--plot"]])
def test_missing_matplotlib_is_named(tmp_path: Path, command: list[str]) -> None:
    """With the line that installs it, and no traceback."""
    code = "import sys; sys.modules['matplotlib'] = None; from rlds_kit.cli import main; main(sys.argv[1:])"
    name, option = command
    done = subprocess.run(
        [sys.executable, "-c", code, name, str(record(tmp_path / "d")), option, str(tmp_path / "d.png")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'Error: matplotlib is not installed: pip install ".[plot]" in a checkout of rlds_kit\n'


def test_stats_can_draw_too(tmp_path: Path) -> None:
    """The tables stay what they are."""
    directory = record(tmp_path / "d")
    result = run("stats", directory, "--plot", tmp_path / "d.png")
    assert (result.exit_code, result.stdout) == (0, run("stats", directory).stdout)
    assert (tmp_path / "d.png").read_bytes().startswith(PNG)


def test_stats_refuses_other_kinds_of_files(tmp_path: Path) -> None:
    """As `plot` does."""
    result = run("stats", record(tmp_path / "d"), "--plot", tmp_path / "d.gif")
    assert (result.exit_code, "expected a name that ends in" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/data/pong"], ["pong"]),
        (["/data/pong/", "/data/breakout"], ["pong", "breakout"]),
        (["/a/pong", "/b/pong"], ["a/pong", "b/pong"]),
        (["/pong", "/b/pong"], ["/pong", "b/pong"]),
        (["/"], ["/"]),
    ],
)
def test_names_are_the_last_parts_of_paths(paths: list[str], names: list[str]) -> None:
    """As few as are needed to distinguish them."""
    assert names_of([Path(path) for path in paths]) == names


def test_same_path_has_no_names() -> None:
    """Which of the two would be which?"""
    with pytest.raises(click.BadParameter, match="give each dataset once"):
        names_of([Path("a"), Path("b"), Path("a")])
