"""Rules RK301 to RK309: what values there are."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.lint.catalogue import chosen
from rlds_kit.lint.own_subject import OwnSubject
from rlds_kit.lint.rule import Stretch
from rlds_kit.logger import GymnasiumLogger
from tests.lint.datasets import SPEC, WIDTH, Course, courses, found, write


def test_sound_values(tmp_path: Path) -> None:
    """None of these rules finds anything in sound data."""
    assert found(write(tmp_path / "d", courses(), spec=SPEC), "RK3").findings == ()


@pytest.mark.parametrize("field", ["observation", "action", "reward", "discount"])
def test_not_a_number(tmp_path: Path, field: str) -> None:
    """In any field that is learned from."""

    def change(course: Course) -> None:
        match field:
            case "observation":
                course.observations[3] = np.full(WIDTH, np.inf, np.float32)
            case "action":
                course.actions[3] = np.float32("nan")
            case "reward":
                course.rewards[3] = np.float64("nan")
            case _:
                course.discounts[3] = float("nan")

    report = found(write(tmp_path / "d", courses(4, change)), "RK301", "RK302")
    assert [(each.rule, each.field, each.episodes) for each in report.findings] == [("RK301", field, 4)]
    assert str(report.findings[0].places[0]) == "0:3"


def test_not_a_number_elsewhere(tmp_path: Path) -> None:
    """In metadata and in fields of the caller's own."""

    def change(course: Course) -> None:
        course.metadata["score"] = {"mean": float("nan")}
        course.others[2] = {"speed": float("inf")}

    report = found(write(tmp_path / "d", courses(2, change)), "RK301", "RK302")
    assert [(each.rule, each.field) for each in report.findings] == [
        ("RK302", "speed"),
        ("RK302", "metadata/score/mean"),
    ]


def test_constant_fields(tmp_path: Path) -> None:
    """One part of an observation, and the rewards; the part that changes is not reported."""

    def change(course: Course) -> None:
        course.observations = [{"camera": each, "lamp": np.uint8(3)} for each in course.observations]
        course.rewards = [1.0] * 20

    report = found(write(tmp_path / "d", courses(8, change)), "RK303", "RK304")
    assert [(each.rule, each.field) for each in report.findings] == [("RK303", "observation/lamp"), ("RK304", "reward")]


@pytest.mark.parametrize(("rows", "is_found"), [(99, False), (100, True)])
def test_few_rows_prove_nothing(tmp_path: Path, rows: int, is_found: bool) -> None:
    """A short recording may be constant: with fewer than 100 rows nothing is reported."""
    made = [Course(0, actions=49), Course(1, actions=rows - 51)]
    for course in made:
        course.observations = [np.zeros(WIDTH, np.float32)] * len(course.observations)
    report = found(write(tmp_path / "d", made), "RK303")
    assert bool(report.findings) == is_found


def test_clipped_values(tmp_path: Path) -> None:
    """The elements that crowd at a limit, and at which."""

    def change(course: Course) -> None:
        course.rewards = [min(float(each), 1.0) for each in course.rewards]
        for each in course.observations:
            each[2] = max(each[2], -1)

    report = found(write(tmp_path / "d", courses(30, change)), "RK305")
    assert [each.field for each in report.findings] == ["observation[2]", "reward"]
    assert "exactly -1" in report.findings[0].message


def test_rewards_of_few_values_are_not_clipped(tmp_path: Path) -> None:
    """-1, 0 and 1 are what many games pay."""

    def change(course: Course) -> None:
        course.rewards = [float(np.sign(round(each))) for each in course.rewards]

    assert found(write(tmp_path / "d", courses(30, change)), "RK305").findings == ()


def test_action_out_of_bounds(tmp_path: Path) -> None:
    """What the agent did is recorded, and reported."""
    with GymnasiumLogger(gymnasium.make("Pendulum-v1"), tmp_path / "d") as env:
        env.reset(seed=0)
        for row in range(10):
            if row == 4:
                with pytest.warns(UserWarning, match="outside"):
                    env.step(np.array([2.5], np.float32))
            else:
                env.step(np.array([0.5], np.float32))
    report = found(tmp_path / "d", "RK306", "RK307", "RK308")
    assert [(each.rule, str(each.places[0])) for each in report.findings] == [("RK307", "0:4")]
    assert "2.5 is not within -2 to 2" in report.findings[0].message


@pytest.mark.parametrize(
    ("field", "rule"), [("observation", "RK306"), ("reward", "RK308"), ("discount", "RK308"), ("none", "")]
)
def test_out_of_bounds(tmp_path: Path, field: str, rule: str) -> None:
    """The declared bounds are compared with the values: here the bounds became narrower afterwards."""
    bounds = {"observation": 100.0, "reward": 10.0, field: 1e-3}

    def change(course: Course) -> None:
        if field == "discount":
            course.discounts[3] = 1.5

    path = write(tmp_path / "d", courses(2, change))
    declared = specs.Dict(
        {
            "observation": specs.Array((WIDTH,), np.float32, minimum=-100, maximum=bounds["observation"]),
            "reward": specs.Array((), np.float64, minimum=-10, maximum=bounds["reward"]),
        }
    )
    report = _with_spec(path, declared)
    assert set(report) == ({rule} if rule else set())


def _with_spec(path: Path, declared: specs.Dict) -> list[str]:
    """The rules that find something when the dataset declares this."""
    subject = OwnSubject(rlds_kit.open(path))
    subject.spec = declared
    hits = []
    for rule in chosen(["RK306", "RK308"]):
        check = rule.start()
        list(check.begin(subject))
        for episode in subject:
            stretch = Stretch(episode, episode.leaves(check.wants, 0, episode.length))
            hits += [rule.id for _ in check.check_rows(stretch)]
    return hits


def test_bounds_may_be_the_largest_floats(tmp_path: Path) -> None:
    """What rounding may add to them is infinite, and no warning."""
    largest = np.finfo(np.float32).max
    spec = specs.Dict({"observation": specs.Array((WIDTH,), np.float32, minimum=-largest, maximum=largest)})
    assert found(write(tmp_path / "d", courses(), spec=spec), "RK306").findings == ()
