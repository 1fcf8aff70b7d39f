"""Rules RK001 and RK601 to RK605: episodes and what is known of them."""

from pathlib import Path

import pytest

from rlds_kit import EpisodeEnd
from rlds_kit.lint import lint
from rlds_kit.tools.replay.rebuilt import TIME_LIMIT
from tests.lint.datasets import Course, courses, found, write


def test_sound_episodes(tmp_path: Path) -> None:
    """None of these rules finds anything in sound data."""

    def change(course: Course) -> None:
        course.others = [{"timestamp": row / 10, "step_index": row} for row in range(21)]

    assert found(write(tmp_path / "d", courses(4, change)), "RK6").findings == ()


@pytest.mark.parametrize("name", ["recorded_is_first", "recorded_is_last", "recorded_terminations"])
def test_flags_in_the_middle(tmp_path: Path, name: str) -> None:
    """Readers keep the flags of a source where they are true in the middle."""

    def change(course: Course) -> None:
        course.others = [{name: row in (7, 20 if "first" not in name else 0)} for row in range(21)]

    report = found(write(tmp_path / "d", courses(2, change)), "RK6")
    assert [(each.rule, each.field, str(each.places[0])) for each in report.findings] == [("RK601", name, "0:7")]


def test_longer_than_the_limit(tmp_path: Path) -> None:
    """The environment would have cut it."""
    limited = {"interface": "gymnasium", "spec": {"max_episode_steps": 15}, "wrapper_classes": [TIME_LIMIT]}
    report = found(write(tmp_path / "d", courses(2), environment=limited), "RK601")
    assert str(report.errors[0].places[0]) == "0:15"


def test_longer_than_a_limit_that_may_not_have_been_there(tmp_path: Path) -> None:
    """Only the environment's spec has a limit, not its recorded wrappers."""
    limited = {"interface": "gymnasium", "spec": {"max_episode_steps": 15}}
    report = found(write(tmp_path / "d", courses(2), environment=limited), "RK601")
    assert (report.errors, report.warnings[0].episodes) == ((), 2)


@pytest.mark.parametrize("name", ["timestamp", "step_index"])
def test_backward_time(tmp_path: Path, name: str) -> None:
    """The first row that is too early."""

    def change(course: Course) -> None:
        course.others = [{name: row - 5 * (row >= 12)} for row in range(21)]

    report = found(write(tmp_path / "d", courses(2, change)), "RK6")
    assert [(each.rule, each.field, str(each.places[0])) for each in report.findings] == [("RK602", name, "0:12")]


def test_missing_metadata(tmp_path: Path) -> None:
    """A key that most episodes have."""
    made = courses(6)
    made[2].metadata = {}
    made[4].metadata, made[4].end = {}, EpisodeEnd.INTERRUPTED
    report = found(write(tmp_path / "d", made), "RK6")
    assert [(each.rule, each.field, [str(place) for place in each.places]) for each in report.findings] == [
        ("RK603", "metadata/number", ["2"])
    ]


def test_empty_episode(tmp_path: Path) -> None:
    """A reset, and no step."""
    empty = Course(9, 0)
    empty.end, empty.discounts = EpisodeEnd.INTERRUPTED, []
    report = found(write(tmp_path / "d", [*courses(2), empty]), "RK6")
    assert [(each.rule, str(each.places[0])) for each in report.findings] == [("RK604", "2")]


def test_damaged_episode(tmp_path: Path) -> None:
    """It is reported, and the others are looked at."""
    path = write(tmp_path / "d", courses(6))
    (shard,) = path.glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    data[data.index(b"discount") + 400] ^= 0xFF
    shard.write_bytes(data)
    report = lint(path)
    assert report.rules == ("RK001",)
    assert (report.episodes, report.findings[0].episodes) == (6, 1)


def test_clocks_that_begin_after_the_first_row(tmp_path: Path) -> None:
    """A reset whose info has no timestamp: the next episode may begin earlier than the one before ended."""

    def change(course: Course) -> None:
        course.others = [{"timestamp": row / 10} if row else {} for row in range(21)]

    assert found(write(tmp_path / "d", courses(3, change)), "RK602").findings == ()
