"""`rlds-kit publish`."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit.cli import main
from tests.tools.publish.recording import record

ABOUT = ("--licence", "MIT", "--citation", "Us")


def run(*arguments: object) -> Result:
    """Runs the program."""
    return CliRunner().invoke(main, ["publish", *(str(argument) for argument in arguments)])


def test_publishes(tmp_path: Path) -> None:
    """One line has the destination and the size; exit code 0."""
    result = run(record(tmp_path / "d"), "--to", tmp_path / "out", *ABOUT)
    assert (result.exit_code, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    assert "3 episodes, 21 steps (9 files" in text
    assert "9 written, 0 there already)" in text
    assert len(rlds_kit.open(tmp_path / "out").episodes) == 3


def test_problems_are_listed(tmp_path: Path) -> None:
    """Each with what to do; exit code 1, and nothing is written."""
    result = run(record(tmp_path / "d", metadata={"email": "ada@example.org"}), "--to", tmp_path / "out")
    assert result.exit_code == 1
    for said in ("not published; 3 problems", "--licence", "--citation", "--allow-field metadata/email"):
        assert said in " ".join(result.stdout.split())
    assert not (tmp_path / "out").exists()


def test_json(tmp_path: Path) -> None:
    """One object: of what was done, or of what is wrong."""
    directory = record(tmp_path / "d")
    problems = json.loads(run(directory, "--to", tmp_path / "out", "--json").stdout)
    assert problems["ok"] is False
    assert [problem["rule"] for problem in problems["problems"]] == ["licence", "citation"]
    done = json.loads(run(directory, "--to", tmp_path / "out", "--json", *ABOUT).stdout)
    assert (done["ok"], done["episodes"], len(done["sent"]["written"])) == (True, 3, 9)
    assert done["files"]["README.md"][0] == (tmp_path / "out/README.md").stat().st_size


def test_dry_run(tmp_path: Path) -> None:
    """Lists files and writes none."""
    result = run(record(tmp_path / "d"), "--to", tmp_path / "out", "--dry-run", *ABOUT)
    assert result.exit_code == 0
    assert "croissant.json" in result.stdout
    assert not (tmp_path / "out").exists()


def test_another_dataset_is_replaced_with_yes(tmp_path: Path) -> None:
    run(record(tmp_path / "a"), "--to", tmp_path / "out", *ABOUT)
    other = record(tmp_path / "b", episodes=5)
    assert run(other, "--to", tmp_path / "out", *ABOUT).exit_code == 1
    assert run(other, "--to", tmp_path / "out", "--yes", *ABOUT).exit_code == 0
    assert len(rlds_kit.open(tmp_path / "out").episodes) == 5


def test_citation_from_a_file(tmp_path: Path) -> None:
    """Instead of on the command line."""
    (tmp_path / "c.bib").write_text("@misc{grid}", "utf-8")
    directory = record(tmp_path / "d")
    options = ("--to", tmp_path / "out", "--licence", "MIT", "--citation-file", tmp_path / "c.bib")
    assert run(directory, *options, "--citation", "Us").exit_code == 2
    assert run(directory, *options).exit_code == 0
    assert "```bibtex\n@misc{grid}\n```" in (tmp_path / "out/README.md").read_text("utf-8")


def test_destination_in_the_dataset(tmp_path: Path) -> None:
    """One line, exit code 1."""
    directory = record(tmp_path / "d")
    result = run(directory, "--to", directory / "out", *ABOUT)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "give a folder outside of it" in result.stderr


def test_destination_is_needed(tmp_path: Path) -> None:
    assert run(record(tmp_path / "d")).exit_code == 2
