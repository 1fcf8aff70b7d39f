"""Rules RK501 to RK504: duplicates."""

from pathlib import Path

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.lint import lint
from tests.lint.datasets import Course, courses, found, write


def test_sound_episodes(tmp_path: Path) -> None:
    """None of these rules finds anything in sound data."""
    assert found(write(tmp_path / "d", courses()), "RK5").findings == ()


def test_duplicate_episode(tmp_path: Path) -> None:
    """The same content under another id."""
    report = found(write(tmp_path / "d", [*courses(3), Course(1)]), "RK5")
    assert [(each.rule, str(each.places[0]), each.message) for each in report.findings] == [
        ("RK501", "3", "the same content as episode 1")
    ]


def test_duplicate_course(tmp_path: Path) -> None:
    """The same course with other metadata."""
    copy = Course(1)
    copy.metadata, copy.seed = {"player": "ada"}, None
    report = found(write(tmp_path / "d", [*courses(3), copy]), "RK5")
    assert [(each.rule, str(each.places[0])) for each in report.findings] == [("RK502", "3")]


def test_short_episodes_may_be_equal_by_chance(tmp_path: Path) -> None:
    made = [Course(0, 3), Course(0, 3)]
    made[1].metadata = {"number": 2}
    assert found(write(tmp_path / "d", made), "RK502").findings == ()


def test_leaked_episodes_between_datasets(tmp_path: Path) -> None:
    """Whether both are looked at, or one is only compared with."""
    train, test = write(tmp_path / "train", courses(5)), write(tmp_path / "test", [Course(7), Course(3), Course(8)])
    report = lint(train, test, select=["RK5"])
    assert [(each.rule, each.dataset, str(each.places[0])) for each in report.findings] == [("RK503", str(test), "1")]
    against = lint(train, against=[test], select=["RK5"])
    assert [(each.dataset, str(each.places[0])) for each in against.findings] == [(str(train), "3")]
    assert (against.episodes, against.datasets) == (5, (str(train),))
    assert lint(train, against=[write(tmp_path / "other", [Course(9)])], select=["RK5"]).findings == ()


def test_leaked_course_under_other_metadata(tmp_path: Path) -> None:
    """A copy that was relabelled is a copy."""
    copy = Course(3)
    copy.metadata = {"split": "test"}
    train, test = write(tmp_path / "train", courses(5)), write(tmp_path / "test", [copy])
    assert lint(train, against=[test], select=["RK503"]).errors[0].episodes == 1


def test_reused_seed(tmp_path: Path) -> None:
    """Every episode begins alike, though they differ later."""

    def change(course: Course) -> None:
        course.observations[0], course.seed = np.ones(4, np.float32), 0

    report = found(write(tmp_path / "d", courses(5, change)), "RK5")
    assert [(each.rule, each.count) for each in report.findings] == [("RK504", 5)]
    assert "with the seed 0" in report.findings[0].message


def test_equal_starts_under_different_seeds(tmp_path: Path) -> None:
    """A game that always begins alike."""

    def change(course: Course) -> None:
        course.observations[0] = np.ones(4, np.float32)

    assert found(write(tmp_path / "d", courses(5, change)), "RK504").findings == ()


def test_short_episodes_without_a_seed_may_be_equal_by_chance(tmp_path: Path) -> None:
    """With one they are duplicates."""
    made = [Course(0, 3), Course(0, 3)]
    assert found(write(tmp_path / "seeded", made), "RK501").rules == ("RK501",)
    made[0].seed = made[1].seed = None
    assert found(write(tmp_path / "d", made), "RK501").findings == ()


def test_values_of_several_shapes_are_compared_in_full(tmp_path: Path) -> None:
    """NumPy leaves out the middle of a large array when it writes it down."""

    def change(course: Course) -> None:
        course.seed, course.actions, course.rewards = 0, [0.0] * 20, [0.0] * 20
        course.observations = [np.zeros((40, 30 + row % 2, 1), np.uint8) for row in range(21)]
        course.observations[0][20, 15] = course.observations[-1][20, 15] = course.metadata["number"]

    spec = specs.Dict({"observation": specs.Array((None, None, 1), np.uint8)})
    path = write(tmp_path / "d", courses(4, change), spec=spec)
    assert found(path, "RK502", "RK504").findings == ()
