"""What was recorded for these tests, once, and the ways in which pipelines read it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import pytest

import rlds_kit
from tests.pipelines import recorded

Reader: TypeAlias = Callable[[recorded.Recorded], Any]
"""Gives a dataset in RLDS form: a `tf.data.Dataset` of episodes, which have a dataset of `steps`."""
Groups: TypeAlias = dict[str, dict[str, recorded.Recorded]]
"""Datasets to compare, by environment and agent."""


@pytest.fixture(scope="session")
def arm(tmp_path_factory: pytest.TempPathFactory) -> recorded.Recorded:
    """Ten episodes of people who carry a can: tagged early, late, on the last step, or never."""
    path = tmp_path_factory.mktemp("arm") / "human"
    return recorded.Recorded(path, recorded.play_arm(path, [7, 12, None, 39, 20, 1, 33, 38, 25, 16]))


@pytest.fixture(scope="session")
def cartpole(tmp_path_factory: pytest.TempPathFactory) -> recorded.Recorded:
    """Four terminated episodes of a random agent, two of a better one that the limit of time cut."""
    path = tmp_path_factory.mktemp("cartpole") / "mixed"
    env = gymnasium.make("CartPole-v1", max_episode_steps=40)
    return recorded.Recorded(path, recorded.play(path, env, [None] * 4 + [recorded.balance] * 2))


@pytest.fixture(scope="session")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> recorded.Recorded:
    """Four episodes with rewards of many values, all cut by the limit of time."""
    path = tmp_path_factory.mktemp("pendulum") / "mixed"
    env = gymnasium.make("Pendulum-v1", max_episode_steps=30)
    return recorded.Recorded(path, recorded.play(path, env, [None] * 2 + [recorded.swing] * 2))


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Groups:
    """Three environments, in each a random agent and one that knows what to do; three episodes of each."""
    root = tmp_path_factory.mktemp("groups")
    agents = {"CartPole-v1": recorded.balance, "Pendulum-v1": recorded.swing, "MountainCarContinuous-v0": recorded.pump}

    def play(env_id: str, agent: recorded.Agent | None, name: str) -> recorded.Recorded:
        path = root / env_id / name
        env = gymnasium.make(env_id, max_episode_steps=150)
        return recorded.Recorded(path, recorded.play(path, env, [agent] * 3))

    return {
        env_id: {"random": play(env_id, None, "random"), "scripted": play(env_id, agent, "scripted")}
        for env_id, agent in agents.items()
    }


@pytest.fixture(scope="session")
def breakout(tmp_path_factory: pytest.TempPathFactory) -> recorded.Recorded:
    """Four short episodes of two checkpoints, of which some end with the loss of a life, the others at the limit."""
    ale_py = pytest.importorskip("ale_py", reason="needs the extra `atari`")
    pytest.importorskip("cv2", reason="Gymnasium's preprocessing of Atari games needs it")
    gymnasium.register_envs(ale_py)
    path = tmp_path_factory.mktemp("breakout") / "checkpoints"
    return recorded.Recorded(path, [one for checkpoint in range(2) for one in recorded.play_breakout(path, checkpoint)])


@pytest.fixture(scope="session", params=["files", "tfds"])
def episodes_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Reads what was recorded as a dataset in RLDS form, from our files or from a copy in those of TFDS."""
    if request.param == "files":
        return lambda found: rlds_kit.open(found.path).as_tf_dataset()
    pytest.importorskip("tensorflow_datasets", reason="needs the extra `tfds`")
    from tests.pipelines.as_tfds import copy_to_tfds, read_tfds

    copies: dict[Path, Path] = {}

    def read(found: recorded.Recorded) -> Any:
        if found.path not in copies:
            copies[found.path] = tmp_path_factory.mktemp("tfds")
            copy_to_tfds(found.path, copies[found.path])
        return read_tfds(copies[found.path])

    return read
