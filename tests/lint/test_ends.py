"""Rules RK201 to RK211: how episodes end."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.lint import Severity
from tests.lint.datasets import WIDTH, Course, cartpoles, courses, found, write
from tests.tools.compare.rewriting import rewrite

LIMITED = {"interface": "gymnasium", "spec": {"max_episode_steps": 20}}
FINAL = np.array([0.25, 0.5, 0.75, 1.5], np.float32)


def test_sound_episodes(tmp_path: Path) -> None:
    """None of these rules finds anything in sound data."""

    def change(course: Course) -> None:
        if course.seed % 2:
            course.truncate()

    assert found(write(tmp_path / "d", courses(12, change)), "RK2").findings == ()
    assert found(cartpoles(tmp_path / "c"), "RK2").findings == ()


def test_repeated_final_observation(tmp_path: Path) -> None:
    """The one before once more."""

    def change(course: Course) -> None:
        course.observations[-1] = course.observations[-2]

    report = found(write(tmp_path / "d", courses(12, change)), "RK201")
    assert (report.rules, report.findings[0].episodes) == (("RK201",), 12)
    assert str(report.findings[0].places[0]) == "0:20"


def test_observations_that_often_repeat_may_do_so_at_the_end(tmp_path: Path) -> None:
    """Two equal frames are nothing special in some games."""

    def change(course: Course) -> None:
        course.observations[:] = [course.observations[row // 3 * 3] for row in range(19)] + [FINAL, FINAL]

    assert found(write(tmp_path / "d", courses(6, change)), "RK201").findings == ()


def test_same_final_observation(tmp_path: Path) -> None:
    """That of the whole file."""

    def change(course: Course) -> None:
        course.observations[-1] = FINAL

    report = found(write(tmp_path / "d", courses(6, change)), "RK2")
    assert report.rules == ("RK202",)


@pytest.mark.parametrize(("truncated", "severity"), [(0, Severity.WARNING), (1, Severity.ERROR)])
def test_same_final_observation_may_be_the_goal_of_a_task(tmp_path: Path, truncated: int, severity: Severity) -> None:
    """That is for terminations only: a limit cuts off anywhere."""

    def change(course: Course) -> None:
        course.observations[-1] = FINAL
        if course.seed < truncated:
            course.truncate()

    report = found(write(tmp_path / "d", courses(6, change)), "RK202")
    assert [each.severity for each in report.findings] == [severity]


def test_same_final_observation_of_whole_numbers_may_be_a_goal(tmp_path: Path) -> None:
    """All successes in a grid end in one cell."""

    def change(course: Course) -> None:
        course.observations[-1] = np.ones(WIDTH, np.float32)

    assert found(write(tmp_path / "d", courses(6, change)), "RK202").findings == ()


@pytest.mark.parametrize(("truncates", "severity"), [(False, Severity.ERROR), (True, Severity.WARNING)])
def test_first_observation_of_the_next_episode(tmp_path: Path, *, truncates: bool, severity: Severity) -> None:
    """As vector environments return it."""
    made = courses(6)
    for one, following in itertools.pairwise(made):
        one.observations[-1] = following.observations[0]
    for each in made if truncates else ():
        each.truncate()
    report = found(write(tmp_path / "d", made), "RK203")
    assert [each.severity for each in report.findings] == [severity]
    assert report.findings[0].episodes == 5


def test_stream_that_the_caller_cut_may_go_on_where_it_was(tmp_path: Path) -> None:
    """Pieces of one long episode."""
    made = courses(6)
    for one, following in itertools.pairwise(made):
        one.observations[-1], one.end, one.discounts[-1] = following.observations[0], EpisodeEnd.INTERRUPTED, 1.0
    assert found(write(tmp_path / "d", made), "RK203").findings == ()


def test_missing_final_observation(tmp_path: Path) -> None:
    """No row stands after the last action."""
    report = found(write(tmp_path / "d", courses(3, lambda course: course.observations.pop())), "RK2")
    assert (report.rules, report.findings[0].episodes) == (("RK204",), 3)


def test_final_observation_of_zeros(tmp_path: Path) -> None:
    """A place that was filled."""

    def change(course: Course) -> None:
        course.observations[-1] = np.zeros(WIDTH, np.float32)

    assert found(write(tmp_path / "d", courses(6, change)), "RK2").rules == ("RK205",)


def test_terminated_at_the_limit(tmp_path: Path) -> None:
    """The limit is known, and both flags would be set there."""
    report = found(write(tmp_path / "d", courses(3), environment=LIMITED), "RK206")
    assert report.findings[0].episodes == 3
    both = courses(3)
    for each in both:
        each.truncated = True
    assert found(write(tmp_path / "e", both, environment=LIMITED), "RK206").findings == ()
    unwrapped = {**LIMITED, "wrapper_classes": []}
    assert found(write(tmp_path / "f", courses(3), environment=unwrapped), "RK206").findings == ()


def test_false_end(tmp_path: Path) -> None:
    """The environment was not over, or over in another way."""
    recording = rlds_kit.open(cartpoles(tmp_path / "c", 3))
    made = []
    for number, (episode, end) in enumerate(
        zip(recording.episodes, (EpisodeEnd.TRUNCATED, EpisodeEnd.TRUNCATED, EpisodeEnd.TERMINATED), strict=True)
    ):
        course = Course(number)
        actions = len(episode) - 1 - (number == 1)
        course.observations = [step["observation"] for step in episode.steps][: actions + 1]
        course.actions = [step["action"] for step in episode.steps][:actions]
        course.rewards, course.discounts, course.others = [1.0] * actions, [1.0] * actions, [{}] * (actions + 1)
        course.end = end
        made.append(course)
    report = found(write(tmp_path / "d", made, environment=recording.environment), "RK207", "RK101", "RK103")
    assert report.rules == ("RK207",)
    assert [str(place).partition(":")[0] for place in report.findings[0].places] == ["0", "1"]


def test_all_of_one_length(tmp_path: Path) -> None:
    """An unknown limit."""
    assert found(write(tmp_path / "d", courses(10)), "RK209").rules == ("RK209",)
    assert found(write(tmp_path / "e", [*courses(10), Course(11, 21)]), "RK209").findings == ()


def test_terminal_step_with_a_discount(tmp_path: Path) -> None:
    """One that is not zero."""

    def change(course: Course) -> None:
        course.discounts[-1] = 0.5

    report = found(write(tmp_path / "d", courses(2, change)), "RK2")
    assert (report.rules, str(report.findings[0].places[0])) == (("RK210",), "0:19")


@pytest.mark.parametrize("row", [5, 19])
def test_discount_of_zero_before_the_end(tmp_path: Path, row: int) -> None:
    """In the middle, or where the episode was truncated."""

    def change(course: Course) -> None:
        course.truncate()
        course.discounts[row] = 0.0

    report = found(write(tmp_path / "d", courses(2, change)), "RK2")
    assert (report.rules, str(report.findings[0].places[0])) == (("RK211",), f"0:{row}")


def test_steps_after_the_environments_end(tmp_path: Path) -> None:
    """Two episodes that were joined: the environment ended in the middle."""
    recording = rlds_kit.open(cartpoles(tmp_path / "c", 2))
    first, second = recording.episodes
    course = Course(0)
    course.observations = [*(step["observation"] for step in first.steps), *(s["observation"] for s in second.steps)]
    course.actions = [*(step["action"] for step in first.steps), *(step["action"] for step in second.steps[:-1])]
    count = len(course.actions)
    course.rewards, course.discounts = [1.0] * count, [1.0] * (count - 1) + [0.0]
    course.others, course.seed = [{}] * (count + 1), first.seed
    report = found(write(tmp_path / "d", [course], environment=recording.environment), "RK601")
    assert str(report.findings[0].places[0]) == f"0:{len(first) - 1}"


def test_the_same_episodes_rewritten_are_sound(tmp_path: Path) -> None:
    """A copy loses nothing that these rules need."""
    assert found(rewrite(cartpoles(tmp_path / "c"), tmp_path / "d").path, "RK1", "RK2", "RK6").findings == ()
