"""Rules RK101 to RK104: what stands in the wrong row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import NormalizeReward

import rlds_kit
from rlds_kit.lint import dynamics
from rlds_kit.lint.subject import SubjectEpisode
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.tools.replay.rebuilt import rebuilt
from tests.lint.datasets import Course, cartpoles, courses, found, write
from tests.tools.compare.rewriting import rewrite

ALL = ("RK101", "RK102", "RK103", "RK104")


@pytest.fixture(scope="module", name="recording")
def _recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cartpoles(tmp_path_factory.mktemp("data") / "acrobot", 3, "MountainCar-v0")


def _shifted(recording: Path, target: Path, field: str, shift: int) -> Path:
    """A copy in which each row has what the field is `shift` rows before; at the border, the nearest."""
    values = [list(episode[field]) for episode in rlds_kit.open(recording).episodes]

    def change(episode: int, step: int, row: dict[str, Any]) -> None:
        number = len(values[episode]) - (1 if field == "observation" else 2)
        row[field] = values[episode][min(max(step - shift, 0), number)]

    return rewrite(recording, target, change).path


def test_what_stands_where_it_belongs_is_not_reported(recording: Path) -> None:
    assert found(recording, *ALL).findings == ()


@pytest.mark.parametrize(("shift", "words"), [(1, "one row late"), (-1, "one row early")])
def test_shifted_actions(recording: Path, tmp_path: Path, shift: int, words: str) -> None:
    """The environment tells which way."""
    report = found(_shifted(recording, tmp_path / "d", "action", shift), *ALL)
    assert report.rules == ("RK101",)
    assert words in report.findings[0].message


@pytest.mark.parametrize(("shift", "words"), [(1, "1 row late"), (-1, "1 row early")])
def test_shifted_observations(recording: Path, tmp_path: Path, shift: int, words: str) -> None:
    """The environment tells which way."""
    report = found(_shifted(recording, tmp_path / "d", "observation", shift), *ALL)
    assert report.rules == ("RK103",)
    assert words in report.findings[0].message


@pytest.mark.parametrize(("shift", "words"), [(1, "one row late"), (-1, "one row early")])
def test_shifted_rewards(tmp_path: Path, shift: int, words: str) -> None:
    """Rewards that differ from step to step determine the direction."""
    recording = cartpoles(tmp_path / "pendulum", 2, "Pendulum-v1")
    report = found(_shifted(recording, tmp_path / "d", "reward", shift), *ALL)
    assert (report.rules, len(report.errors)) == (("RK102",), 1)
    assert words in report.findings[0].message


def test_other_rewards_are_a_warning(recording: Path, tmp_path: Path) -> None:
    """They may have been changed on purpose."""

    def change(episode: int, step: int, row: dict[str, Any]) -> None:
        row["reward"] = row["reward"] / 2 + step

    report = found(rewrite(recording, tmp_path / "d", change).path, *ALL)
    assert (report.rules, report.errors) == (("RK102",), ())


def test_what_no_shift_explains_is_not_reported(recording: Path, tmp_path: Path) -> None:
    """Another version of an environment makes other observations; `replay` reports that, but no rule does."""

    def change(episode: int, step: int, row: dict[str, Any]) -> None:
        row["observation"] = row["observation"] + np.float32(0.125)

    assert found(rewrite(recording, tmp_path / "d", change).path, *ALL).findings == ()


def test_actions_of_the_step_before_without_an_environment(tmp_path: Path) -> None:
    """First actions of zeros and last ones without an observation."""

    def change(course: Course) -> None:
        course.actions[0] = np.float32(0)
        course.observations.pop()

    report = found(write(tmp_path / "d", courses(6, change)), *ALL)
    assert report.rules == ("RK104",)


def test_zeros_that_are_common_prove_nothing(tmp_path: Path) -> None:
    """Recordings of people who wait before they act."""

    def change(course: Course) -> None:
        course.actions[:15] = [np.float32(0)] * 15
        course.observations.pop()

    assert found(write(tmp_path / "d", courses(12, change)), *ALL).findings == ()


def _probed(**provenance: Any) -> tuple[int, list[tuple[int, int]]]:
    """Times that an environment was made again, and the rows that were decoded for it."""
    decoded: list[tuple[int, int]] = []

    class Watched(SubjectEpisode):
        number, length, seed, options = 0, 50, 1, None

        def leaves(self, wanted: Any, begin: int, end: int) -> dict[str, Any]:
            return {}

        def rows(self, begin: int, end: int) -> list[dict[str, Any]]:
            decoded.append((begin, end))
            return [{"observation": np.zeros(1 << 22, np.uint8), "action": 0} for _ in range(begin, end)]

    episode = Watched()
    episode.provenance = {"interface": "gymnasium", "id": "CartPole-v1", **provenance}
    return int(dynamics.probe(episode) is not None), decoded


@pytest.mark.parametrize(
    "provenance",
    [
        {"id": "Nobody/Knows-v0"},
        {"id": "GymV26Environment-v0", "kwargs": {"env_id": "module:Game-v0"}},
        {"wrapper_classes": ["gymnasium.wrappers.rendering.RecordVideo"]},
        {"spec": {"additional_wrappers": [{"entry_point": "gymnasium.wrappers:RecordVideo", "kwargs": {}}]}},
    ],
)
def test_what_is_not_played_again_is_not_decoded(provenance: dict[str, Any]) -> None:
    """Nor is a video written, a window opened or a module imported."""
    assert _probed(**provenance) == (0, [])


def test_few_rows_of_large_images_are_decoded() -> None:
    """As many as fit in the memory that there is for them."""
    assert _probed() == (0, [(0, 1), (0, 50)])
    assert dynamics.MOST_BYTES // (1 << 22) == 64


def test_no_window_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an environment that was rendered for a person during the recording."""
    path = write(tmp_path / "d", courses(2), environment={"id": "CartPole-v1", "kwargs": {"render_mode": "human"}})
    made: list[Any] = []

    def make(provenance: Mapping[str, Any]) -> Any:
        made.append(rebuilt(provenance))
        return made[-1]

    monkeypatch.setattr(dynamics, "rebuilt", make)
    found(path, *ALL)
    assert {each.render_mode for each in made} == {None}


def test_normalised_rewards_are_no_fault(tmp_path: Path) -> None:
    """What they are divided by depends on the episodes before."""
    with GymnasiumLogger(NormalizeReward(gymnasium.make("Pendulum-v1")), tmp_path / "d") as env:
        env.action_space.seed(0)
        for number in range(3):
            env.reset(seed=number)
            for _ in range(20):
                env.step(env.action_space.sample())
    assert found(tmp_path / "d", *ALL).findings == ()
