"""`rlds-kit lint`."""

import json
from pathlib import Path

from click.testing import CliRunner

from rlds_kit.cli import main
from rlds_kit.lint import RULES
from rlds_kit.lint.catalogue import page
from tests.lint.datasets import Course, courses, write


def _run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["lint", *map(str, arguments)])
    return result.exit_code, result.output


def _warned(course: Course) -> None:
    course.observations.pop()


def _wrong(course: Course) -> None:
    course.discounts[-1] = 1.0


def test_sound_dataset_exits_with_0(tmp_path: Path) -> None:
    """One line describes what was checked."""
    code, output = _run(write(tmp_path / "d", courses(3)))
    assert (code, output) == (0, "3 episodes and 63 steps checked: 0 errors, 0 warnings, 0 for information\n")


def test_errors_exit_with_1_and_are_shown_by_rule(tmp_path: Path) -> None:
    """Field, message, counts and the first places."""
    code, output = _run(write(tmp_path / "d", courses(8, _wrong)))
    assert code == 1
    words = " ".join(output.split())
    assert "RK210 A terminal step has a discount that is not zero" in words
    assert "error discount terminated with a discount of 1 8 8 0:19, 1:19, 2:19, 3:19, 4:19, ..." in words
    assert "rlds-kit lint --explain RK210" in words


def test_warnings_exit_with_1_only_if_strict(tmp_path: Path) -> None:
    """They are shown either way."""
    path = write(tmp_path / "d", courses(3, _warned))
    code, output = _run(path)
    assert (code, "RK204" in output) == (0, True)
    assert _run(path, "--strict")[0] == 1


def test_bad_use_exits_with_2(tmp_path: Path) -> None:
    """No dataset, no such rule, nothing to look at."""
    path = write(tmp_path / "d", courses(1))
    assert _run(tmp_path / "nothing")[0] == 2
    code, output = _run(path, "--select", "RK999")
    assert (code, "got 'RK999'" in output) == (2, True)
    assert _run()[0] == 2
    assert _run("--explain", "nonsense")[0] == 2


def test_rules_are_chosen(tmp_path: Path) -> None:
    """With commas or again and again."""
    path = write(tmp_path / "d", courses(3, _wrong))
    assert _run(path, "--ignore", "RK1,RK210")[0] == 0
    assert _run(path, "--select", "RK3", "--select", "RK210")[0] == 1


def test_against(tmp_path: Path) -> None:
    """What both have is an error."""
    train, test = write(tmp_path / "train", courses(3)), write(tmp_path / "test", [Course(2)])
    code, output = _run(train, "--against", test)
    assert (code, "RK503" in output) == (1, True)
    assert "also in" in _run(train, test)[1]
    assert _run(train)[0] == 0


def test_json_has_everything(tmp_path: Path) -> None:
    code, output = _run(write(tmp_path / "d", courses(3, _wrong)), "--json")
    found = json.loads(output)
    (finding,) = found["findings"]
    assert (code, found["errors"], found["warnings"], found["statistics"]) == (1, 1, 0, {"RK210": 3})
    assert (finding["rule"], finding["severity"], finding["places"][0]) == (
        "RK210",
        "error",
        {"episode": 0, "step": 19},
    )


def test_statistics(tmp_path: Path) -> None:
    code, output = _run(write(tmp_path / "d", courses(3, _wrong)), "--statistics")
    assert code == 1
    assert "3 RK210 error A terminal step has a discount that is not zero" in " ".join(output.split())


def test_explain() -> None:
    """The page of a rule, or of a theme, without a dataset."""
    code, output = _run("--explain", "RK101")
    assert (code, output) == (0, page(RULES["RK101"]))
    assert _run("--explain", "RK4")[1].count("# RK40") == 2


def test_datasets_are_named_where_there_are_several(tmp_path: Path) -> None:
    """One would not know which episode 0 is meant."""
    one, other = write(tmp_path / "one", courses(2)), write(tmp_path / "other", [Course(number) for number in (5, 6)])
    wrong = write(tmp_path / "wrong", [Course(8, 0)])
    found = json.loads(_run(one, other, wrong, "--json")[1])["findings"]
    assert [(each["rule"], Path(each["dataset"]).name) for each in found] == [("RK604", "wrong")]
    said = "".join(_run(one, other, wrong)[1].split())
    assert "wrong" in said
    assert str(tmp_path) not in said
