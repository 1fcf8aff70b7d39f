"""Known faults of peers, in files that their own packages wrote or that their own code read wrongly."""

import shutil
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import numpy as np
import pytest
from gymnasium import spaces

import rlds_kit
from rlds_kit.convert.envlogger.reader import METADATA_FILE
from rlds_kit.lint import lint
from rlds_kit.riegeli import RecordReader, RecordWriter
from tests.convert.minari_samples import minari_at
from tests.lint.datasets import Course, cartpoles, write

GOLDEN = Path(__file__).parent.parent / "data" / "envlogger"


def _collected(minari: Any, name: str, game: str = "CartPole-v1", *, episodes: int = 4, reset_after: int = 0) -> None:
    """Plays a game as Minari's `DataCollector` does, which needs JAX, and lets Minari write it."""
    env = gymnasium.make(game)
    env.action_space.seed(0)
    buffers = []
    for number in range(episodes):
        observation, _ = env.reset(seed=number)
        observations, actions, rewards, flags = [observation], list[Any](), list[float](), [(False, False)]
        while flags[-1] == (False, False):
            actions.append(env.action_space.sample())
            observation, reward, terminated, truncated, _ = env.step(actions[-1])
            observations.append(observation)
            rewards.append(float(reward))
            is_cut = reset_after > 0 and len(actions) == reset_after + number  # and DataCollector marks it so
            flags.append((terminated, truncated or is_cut))
        buffer = minari.data_collector.EpisodeBuffer(
            id=number,
            seed=number,
            observations=observations,
            actions=actions,
            rewards=rewards,
            terminations=[each for each, _ in flags[1:]],
            truncations=[each for _, each in flags[1:]],
        )
        buffers.append(buffer)
    minari.create_dataset_from_buffers(name, buffers, env=env, description="made for a test", author="Ada")
    env.close()


@pytest.mark.filterwarnings("ignore")  # what Minari warns of is no concern of ours
def test_minari_as_it_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found in a recording of Minari's own."""
    _collected(minari_at(tmp_path, monkeypatch), "cartpole/test-v0")
    report = lint(tmp_path / "cartpole" / "test-v0")
    assert (report.errors, report.warnings, report.episodes) == ((), (), 4)


@pytest.mark.filterwarnings("ignore")
def test_minari_marks_a_reset_as_a_truncation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment was not over; playing again proves it, and the lengths are below the limit."""
    _collected(minari_at(tmp_path, monkeypatch), "car/test-v0", "MountainCar-v0", reset_after=30)
    report = lint(tmp_path / "car" / "test-v0")
    assert report.rules == ("RK207", "RK208", "RK304")
    assert "marked as truncated, but the environment says that it was not over" in report.errors[0].message


@pytest.mark.filterwarnings("ignore")
def test_minari_images_in_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minari's default until 0.5.4, and an option since."""
    minari = minari_at(tmp_path, monkeypatch)
    space = spaces.Box(0, 255, (64, 64, 3), np.uint8)
    buffer = minari.data_collector.EpisodeBuffer(
        id=0,
        observations=[space.sample() for _ in range(11)],
        actions=list(range(10)),
        rewards=[float(each) for each in range(10)],
        terminations=[False] * 9 + [True],
        truncations=[False] * 10,
    )
    for name, is_jpeg in (("test/lossy-v0", True), ("test/exact-v0", False)):
        minari.create_dataset_from_buffers(
            name,
            [buffer],
            observation_space=space,
            action_space=spaces.Discrete(10),
            jpeg_encoding=is_jpeg,
            description="made for a test",
            author="Ada",
        )
    assert lint(tmp_path / "test" / "lossy-v0").rules == ("RK401",)
    assert lint(tmp_path / "test" / "exact-v0").rules == ()


def test_d3rlpy_shift(tmp_path: Path) -> None:
    """All n + 1 observations of each episode joined, and cut by n: episode k begins k rows early."""
    recording = rlds_kit.open(cartpoles(tmp_path / "c", 6))
    observations = np.concatenate([episode["observation"] for episode in recording.episodes])
    made, begin = [], 0
    for number, episode in enumerate(recording.episodes):
        course, actions = Course(number), len(episode) - 1
        course.observations = list(observations[begin : begin + actions])
        course.actions = [step["action"] for step in episode.steps[:-1]]
        course.rewards, course.discounts = [1.0] * actions, [1.0] * (actions - 1) + [0.0]
        course.others = [{}] * actions
        made.append(course)
        begin += actions
    report = lint(write(tmp_path / "d", made, environment=recording.environment))
    (shifted,) = (each for each in report.errors if each.rule == "RK103")
    assert "observations stand 1 row late" in shifted.message
    assert 0 not in {place.episode for place in shifted.places}
    assert shifted.episodes >= 2


def _d4rl(path: Path, *, final: str) -> Path:
    """A file in D4RL's layout: 6 episodes of 30 transitions, the last of each a timeout."""
    random = np.random.default_rng(0)
    episodes, length = 6, 30
    states = random.normal(0, 1, (episodes, length + 1, 3)).astype(np.float32)
    following = states[:, 1:].copy()
    match final:
        case "the one before":
            following[:, -1] = states[:, -2]
        case "of the next episode":
            following[:-1, -1] = states[1:, 0]
        case "of the file":
            following[:, -1] = states[-1, -1]
    ends = np.tile(np.arange(length) == length - 1, episodes)
    with h5py.File(path, "w") as file:
        file["observations"] = states[:, :-1].reshape(-1, 3)
        if final != "missing":
            file["next_observations"] = following.reshape(-1, 3)
        file["actions"] = random.normal(0, 1, (episodes * length, 2)).astype(np.float32)
        file["rewards"] = random.normal(0, 1, episodes * length).astype(np.float32)
        file["terminals"], file["timeouts"] = np.zeros_like(ends), ends
    return path


@pytest.mark.parametrize(
    ("final", "rules"),
    [
        ("right", ()),
        ("the one before", ("RK201",)),
        ("of the next episode", ("RK203",)),
        ("of the file", ("RK202",)),
        ("missing", ("RK204",)),
    ],
)
def test_final_observations_of_d4rl(tmp_path: Path, final: str, rules: tuple[str, ...]) -> None:
    """The observation after a timeout is not in D4RL's `observations`, and conversions make one up."""
    assert lint(_d4rl(tmp_path / "d.hdf5", final=final)).rules == rules


def _crashed(source: Path, target: Path, kept: int) -> Path:
    """A directory of EnvLogger after a crash: the index lacks the last episodes, but the steps exist."""
    shutil.copytree(source, target)
    (index,) = target.glob("*/episode_index.riegeli")
    with RecordReader(index) as reader:
        records = list(reader)
    with RecordWriter(index) as writer:
        for record in records[:kept]:
            writer.write_record(record)
    return target


def test_crashed_envlogger_merges_episodes(tmp_path: Path) -> None:
    """Its own reader would give the steps of the last episodes as part of the one before."""
    report = lint(_crashed(GOLDEN / "default", tmp_path / "d", 0), select=["RK6"])
    assert report.rules == ("RK601", "RK605")
    assert "the index knows 0 episodes, the steps make 3" in report.errors[0].message


@pytest.mark.parametrize(
    "path", sorted(each.parent for each in GOLDEN.glob(f"*/{METADATA_FILE}")), ids=lambda p: p.name
)
def test_sound_envlogger_directories(path: Path) -> None:
    """Written by Google's own code."""
    report = lint(path)
    assert (report.errors, report.warnings) == ((), ())
