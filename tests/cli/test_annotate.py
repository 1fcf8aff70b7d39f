"""`rlds-kit annotate`, and the layers in `info`, `trim`, `filter` and `diff`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rlds_kit
from rlds_kit.cli import main
from tests.layers.recording import UNKNOWN, record


def run(*arguments: object) -> Result:
    """Runs a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def listed(dataset: Path, *arguments: object) -> list[dict[str, Any]]:
    """What `--json` lists."""
    return list(json.loads(run("annotate", dataset, *arguments, "--json").stdout)["annotations"])


def test_adds_lists_and_retracts(tmp_path: Path) -> None:
    """Tags, notes, rewards and returns, of episodes by number or id."""
    dataset = record(tmp_path / "d")
    say = ("annotate", dataset.path, "review", "--source", "anna")
    added = run(*say, "--episode", 1, "--steps", "2:4", "--tag", "crash", "--reward", -1, "--confidence", 0.5, "--json")
    assert (added.exit_code, len(json.loads(added.stdout)["added"])) == (0, 2)
    assert run(*say, "--episode", dataset.episodes[0].id, "--note", "hm", "--return", 3).exit_code == 0
    found = listed(dataset.path, "review")
    assert [(each["kind"], each["steps"], each["value"], each["confidence"]) for each in found] == [
        ("tag", [2, 4], "crash", 0.5),
        ("field", [2, 4], -1.0, 0.5),
        ("note", None, "hm", 1.0),
        ("return", None, 3.0, 1.0),
    ]
    assert rlds_kit.open(dataset.path).as_amended().episodes[1]["reward"][:4].tolist() == [100.0, 101.0, -1.0, -1.0]
    assert run(*say, "--retract", found[0]["id"]).exit_code == 0
    assert len(listed(dataset.path)) == len(listed(dataset.path, "--episode", 1)) + 2 == 3
    assert len(listed(dataset.path, "--history")) == 5
    text = run("annotate", dataset.path).output
    assert "reward: -1.0" in text
    assert "3 annotations" in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("review", "--source", "a", "--tag", "x"), 2, "which episodes"),
        (("review", "--source", "a", "--tag", "x", "--retract", str(UNKNOWN)), 2, "which episodes"),
        (("review", "--episode", 0, "--tag", "x"), 2, "--source"),
        (("--source", "a", "--episode", 0, "--tag", "x"), 2, "LAYER"),
        (("review", "--source", "a", "--episode", 0, "--tag", "x", "--steps", "a:b"), 2, "10:20"),
        (("review", "--source", "a", "--episode", "first", "--tag", "x"), 2, "a number or an id"),
        (("review", "--source", "a", "--episode", 9, "--tag", "x"), 1, "no episode 9"),
        (("review", "--source", "a", "--episode", 0, "--tag", "x", "--steps", "99"), 1, "6 steps"),
        (("review", "--source", "a", "--episode", 0, "--reward", "nan"), 1, "finite"),
        (("review", "--source", "a", "--retract", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"), 1, "no annotation"),
        (("review",), 1, "no layer 'review'"),
    ],
)
def test_errors_are_short(tmp_path: Path, arguments: tuple[object, ...], code: int, message: str) -> None:
    result = run("annotate", record(tmp_path / "d").path, *arguments)
    assert (result.exit_code, message in result.output, "Traceback" in result.output) == (code, True, False)


def test_info_shows_layers(tmp_path: Path) -> None:
    """The numbers of annotations and annotated episodes, and the sources."""
    dataset = record(tmp_path / "d")
    run("annotate", dataset.path, "review", "--source", "anna", "--episode", 0, "--tag", "good")
    assert "1 annotation of 1 episode by anna" in run("info", dataset.path).output
    assert json.loads(run("info", dataset.path, "--json").stdout)["layers"]["review"]["sources"] == ["anna"]


def test_verbs_know_tags(tmp_path: Path) -> None:
    """`filter` by them, `trim` at them; `diff` counts them."""
    dataset = record(tmp_path / "d")
    run("annotate", dataset.path, "review", "--source", "anna", "--episode", 1, "--steps", 3, "--tag", "done")
    assert run("filter", dataset.path, tmp_path / "some", "--where", '"done" in tags').exit_code == 0
    assert rlds_kit.open(tmp_path / "some").lengths() == [9]
    assert run("trim", dataset.path, tmp_path / "short", "--tag", "done").exit_code == 0
    assert rlds_kit.open(tmp_path / "short").lengths() == [6, 4]
    run("annotate", tmp_path / "some", "review", "--source", "bob", "--episode", 0, "--tag", "more")
    result = run("diff", dataset.path, tmp_path / "some")
    assert (result.exit_code, "layer review: 0 annotations only in A, 1 only in B" in result.output) == (1, True)
